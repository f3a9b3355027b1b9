package storage

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/minio/minio-go/v7"
)

// Put implements Storage.
func (s *S3) Put(ctx context.Context, key string, data []byte) (string, error) {
	if err := beginPut(ctx, "put", key, data); err != nil {
		return "", err
	}
	return s.put(ctx, key, bytes.NewReader(data), int64(len(data)), minio.PutObjectOptions{})
}

// PutIfMatch implements Storage.
func (s *S3) PutIfMatch(ctx context.Context, key string, data []byte, tag string) (string, error) {
	if err := beginPut(ctx, "put", key, data); err != nil {
		return "", err
	}
	var o minio.PutObjectOptions
	switch {
	case tag == "":
		o.SetMatchETagExcept("*")
	case isETag(tag):
		o.SetMatchETag(tag)
	default:
		return "", failed("put", key, ErrPrecondition)
	}
	newTag, err := s.put(ctx, key, bytes.NewReader(data), int64(len(data)), o)
	if errors.Is(err, ErrNotFound) {
		err = failed("put", key, ErrPrecondition) // it was to be replaced, and is gone
	}
	return newTag, err
}

// PutStream implements Storage. It is one request: parts would be left over when
// the process ends between them.
func (s *S3) PutStream(ctx context.Context, key string, r io.Reader, size int64) (string, error) {
	if err := beginStream(ctx, "put", key, size); err != nil {
		return "", err
	}
	exact := newExactReader(ctx, r, size)
	if size == 0 {
		// Of an empty object nothing is read.
		if err := exact.atEnd(); err != nil {
			return "", failed("put", key, err)
		}
	}
	tag, err := s.put(ctx, key, exact, size, minio.PutObjectOptions{})
	if exact.err != nil {
		return "", failed("put", key, exact.err)
	}
	return tag, err
}

func (s *S3) put(ctx context.Context, key string, r io.Reader, size int64, o minio.PutObjectOptions) (string, error) {
	w := newWatch(ctx, s.timeout)
	defer w.stop()
	o.DisableMultipart = true
	o.ContentType = "application/octet-stream"
	// The signature of a body in pieces does not know one without any.
	o.DisableContentSha256 = size == 0
	source := &watchedReader{w: w, r: r}
	defer source.finish()
	info, err := s.writes.Client.PutObject(w, s.bucket, key, source, size, o)
	if err != nil {
		return "", fault(ctx, "put", key, err)
	}
	if info.ETag == "" {
		return "", unavailable("put", key, errors.New("the store told no ETag"))
	}
	return info.ETag, nil
}

// Delete implements Storage.
func (s *S3) Delete(ctx context.Context, key string) error {
	if err := begin(ctx, "delete", key); err != nil {
		return err
	}
	w := newWatch(ctx, s.timeout)
	defer w.stop()
	err := s.writes.RemoveObject(w, s.bucket, key, minio.RemoveObjectOptions{})
	if err == nil {
		return nil
	}
	if err = fault(ctx, "delete", key, err); errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// DeleteIfMatch implements Storage.
func (s *S3) DeleteIfMatch(ctx context.Context, key, tag string) error {
	if err := beginMatch(ctx, "delete", key, tag); err != nil {
		return err
	}
	w := newWatch(ctx, s.timeout)
	defer w.stop()
	err := error(minio.ErrorResponse{Code: codePrecondition})
	if isETag(tag) {
		err = s.deleteIfMatch(w, key, tag)
	}
	if err == nil {
		return nil
	}
	err = fault(ctx, "delete", key, err)
	if errors.Is(err, ErrPrecondition) {
		// Stores differ in what they answer for an object that is gone.
		if there, lookErr := s.Exists(ctx, key); lookErr == nil && !there {
			return nil
		}
		return err
	}
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// deleteIfMatch sends a DELETE with If-Match, for which minio-go has no call.
func (s *S3) deleteIfMatch(ctx context.Context, key, tag string) error {
	header := http.Header{"If-Match": {`"` + tag + `"`}}
	u, err := s.writes.PresignHeader(ctx, http.MethodDelete, s.bucket, key, time.Minute+s.timeout, nil, header)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodDelete, u.String(), nil)
	if err != nil {
		return errors.New("the store's URL is none")
	}
	req.Header = header
	resp, err := s.raw.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return err
	}
	if resp.StatusCode/100 == 2 {
		return nil
	}
	code := codeOf(body)
	if code == "" {
		code = resp.Status
	}
	return minio.ErrorResponse{StatusCode: resp.StatusCode, Code: code, BucketName: s.bucket, Key: key}
}

// isETag says whether a tag can be an object's. "*" in its place would mean any
// object, and a quote end it.
func isETag(tag string) bool {
	for i := range len(tag) {
		if c := tag[i]; c <= ' ' || c >= 0x7f || c == '"' || c == '*' || c == ',' {
			return false
		}
	}
	return tag != ""
}
