package instances

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/berth-cloud/berth/instances/config"
)

const (
	// maxRatio is how much larger than itself a gzip may be unpacked, above
	// ratioFloor bytes.
	maxRatio   = 100
	ratioFloor = 64 << 10
)

// source is the template of the user data, decoded.
func (m *Manager) source(ctx context.Context, u *config.Userdata, limits config.UserdataURLs) (string, error) {
	if u == nil {
		return "", fmt.Errorf("%w: neither the template nor the defaults have any", ErrUserdata)
	}
	raw := []byte(u.Content)
	switch u.Source {
	case "", "inline":
	case "url":
		var err error
		if raw, err = m.fetch.get(ctx, u.URL, limits); err != nil {
			return "", fmt.Errorf("%w: %w", ErrUserdata, err)
		}
	default:
		return "", fmt.Errorf("%w: the source %q is not inline or url", ErrUserdata, clip(u.Source))
	}
	text, err := decode(raw, u.Encoding, limits.MaxBytes)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrUserdata, err)
	}
	if !utf8.Valid(text) {
		return "", fmt.Errorf("%w: it is no text in UTF-8 when it is decoded", ErrUserdata)
	}
	return string(text), nil
}

func decode(raw []byte, encoding string, most int) ([]byte, error) {
	switch encoding {
	case "", "plain":
		return raw, nil
	case "base64":
		return fromBase64(raw)
	case "gzip":
		return unpack(raw, most)
	case "base64+gzip":
		packed, err := fromBase64(raw)
		if err != nil {
			return nil, err
		}
		return unpack(packed, most)
	}
	return nil, fmt.Errorf("the encoding %q is not plain, base64, gzip or base64+gzip", clip(encoding))
}

func fromBase64(raw []byte) ([]byte, error) {
	text := strings.Map(func(r rune) rune {
		if strings.ContainsRune(" \t\r\n", r) {
			return -1
		}
		return r
	}, string(raw))
	out, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil {
		return nil, errors.New("it is not base64")
	}
	return out, nil
}

func unpack(raw []byte, most int) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		return nil, errors.New("it is no gzip")
	}
	most = min(most, max(ratioFloor, maxRatio*len(raw)))
	out, err := io.ReadAll(io.LimitReader(r, int64(most)+1))
	if err != nil {
		return nil, errors.New("the gzip is damaged")
	}
	if len(out) > most {
		return nil, fmt.Errorf("unpacked it has more than %d bytes", most)
	}
	return out, nil
}
