package storage

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
)

// begin is what every operation on a key starts with.
func begin(ctx context.Context, op, key string) error {
	if err := ctx.Err(); err != nil {
		return failed(op, key, err)
	}
	if err := CheckKey(key); err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	return nil
}

// beginPut is begin for an object in memory.
func beginPut(ctx context.Context, op, key string, data []byte) error {
	if err := begin(ctx, op, key); err != nil {
		return err
	}
	if len(data) > MaxObjectBytes {
		return failed(op, key, fmt.Errorf("%w: %d bytes, at most %d are written at once", ErrTooLarge, len(data), MaxObjectBytes))
	}
	return nil
}

// beginStream is begin for an object from a reader.
func beginStream(ctx context.Context, op, key string, size int64) error {
	if err := begin(ctx, op, key); err != nil {
		return err
	}
	switch {
	case size < 0:
		return failed(op, key, fmt.Errorf("%w: %d bytes are announced", ErrSize, size))
	case size > MaxStreamBytes:
		return failed(op, key, fmt.Errorf("%w: %d bytes are announced, at most %d are written", ErrTooLarge, size, MaxStreamBytes))
	}
	return nil
}

// beginMatch is begin for a removal by tag. An empty tag names no object that
// could be removed.
func beginMatch(ctx context.Context, op, key, tag string) error {
	if err := begin(ctx, op, key); err != nil {
		return err
	}
	if tag == "" {
		return failed(op, key, fmt.Errorf("%w: no tag was given", ErrPrecondition))
	}
	return nil
}

func beginList(ctx context.Context, prefix string) error {
	if err := ctx.Err(); err != nil {
		return failed("list", prefix, err)
	}
	if err := CheckPrefix(prefix); err != nil {
		return fmt.Errorf("list: %w", err)
	}
	return nil
}

// failed says what was tried on what.
func failed(op, key string, err error) error {
	return fmt.Errorf("%s %s: %w", op, clip(key), err)
}

// unavailable is a failure of the store.
func unavailable(op, key string, err error) error {
	return failed(op, key, fmt.Errorf("%w: %w", ErrUnavailable, err))
}

// tagOf is the tag of Memory and Directory: the hash of the content.
func tagOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// readBounded reads an object that has to fit into memory.
func readBounded(r io.Reader) ([]byte, error) {
	var b bytes.Buffer
	n, err := b.ReadFrom(io.LimitReader(r, MaxObjectBytes+1))
	if err == nil && n > MaxObjectBytes {
		err = fmt.Errorf("%w: at most %d bytes are read at once, open it as a stream", ErrTooLarge, MaxObjectBytes)
	}
	return b.Bytes(), err
}
