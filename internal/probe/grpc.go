package probe

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
)

// The gRPC health protocol is one call with a message of one field each way, so
// both are written and read by hand here. The protocol is
// https://github.com/grpc/grpc/blob/master/doc/health-checking.md, the framing
// https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md.
const (
	grpcHealthPath = "/grpc.health.v1.Health/Check"
	grpcPrefix     = 5 // a byte that says whether the message is compressed, four for its length
	// maxGRPCMessage bounds the answer: a status is two bytes, what else a
	// server may add is skipped.
	maxGRPCMessage = 4 << 10
)

// Statuses of a gRPC call that have an explanation of their own, and the one
// that says an answer came.
const (
	grpcOK            = 0
	grpcNotFound      = 5
	grpcUnimplemented = 12
)

// grpcCodes are the names of the statuses of a call, by number.
func grpcCodes() []string {
	return []string{"OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS",
		"PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL",
		"UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED"}
}

// grpcHealths are the names of what a server says about its health, by number.
func grpcHealths() []string { return []string{"UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"} }

// errNotGRPC is an answer that is no gRPC message.
var errNotGRPC = errors.New("not a gRPC answer")

func (l Limits) runGRPC(ctx context.Context, d Dialer, s Spec, r *Result) {
	u, err := s.url()
	if err != nil {
		r.Err = err
		return
	}
	u.Path, u.RawQuery = grpcHealthPath, ""
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), bytes.NewReader(grpcRequest(s.Service)))
	if err != nil {
		r.Err = err
		return
	}
	req.Header.Set("User-Agent", "berth-probe")
	req.Header.Set("Content-Type", "application/grpc")
	req.Header.Set("Te", "trailers")
	var connected atomic.Bool // the transport dials in a goroutine of its own
	transport := s.transport(d, func() { connected.Store(true) })
	transport.Protocols = new(http.Protocols)
	transport.Protocols.SetHTTP2(true)
	transport.Protocols.SetUnencryptedHTTP2(true)
	defer transport.CloseIdleConnections()

	res, err := transport.RoundTrip(req)
	r.Connected = connected.Load()
	if err != nil {
		r.Err = err
		return
	}
	defer func() { _ = res.Body.Close() }()
	l.readGRPC(res, r)
}

// grpcRequest frames the question for a service; "" is the server as a whole.
func grpcRequest(service string) []byte {
	var message []byte
	if service != "" {
		message = append(message, 1<<3|2) // field 1, a text
		message = binary.AppendUvarint(message, uint64(len(service)))
		message = append(message, service...)
	}
	framed := make([]byte, grpcPrefix, grpcPrefix+len(message))
	binary.BigEndian.PutUint32(framed[1:], uint32(len(message)))
	return append(framed, message...)
}

// readGRPC reads the answer: a message, and behind it the status of the call. A
// call that fails at once has its status in the header.
func (l Limits) readGRPC(res *http.Response, r *Result) {
	if res.StatusCode != http.StatusOK {
		r.Err = fmt.Errorf("%w: HTTP status %d", errNotGRPC, res.StatusCode)
		return
	}
	if kind := res.Header.Get("Content-Type"); !strings.HasPrefix(kind, "application/grpc") {
		r.Err = fmt.Errorf("%w: the content type is %s", errNotGRPC, short(kind))
		return
	}
	raw, err := io.ReadAll(io.LimitReader(res.Body, grpcPrefix+maxGRPCMessage+1))
	if err != nil {
		r.Err = err
		return
	}
	if len(raw) > grpcPrefix+maxGRPCMessage {
		r.Err = fmt.Errorf("%w: it is longer than %d bytes", errNotGRPC, maxGRPCMessage)
		return
	}
	said := res.Trailer
	if said.Get("Grpc-Status") == "" {
		said = res.Header
	}
	code, err := strconv.Atoi(said.Get("Grpc-Status"))
	if err != nil || code < 0 {
		r.Err = fmt.Errorf("%w: it has no grpc-status", errNotGRPC)
		return
	}
	if r.GRPCCode = code; code != grpcOK {
		r.Body = grpcMessage(said.Get("Grpc-Message"), l.MaxOutput)
		return
	}
	health, err := parseHealth(raw)
	if err != nil {
		r.Err = err
		return
	}
	r.Health = nameOf(grpcHealths(), health)
	r.OK = r.Health == "SERVING"
}

// grpcMessage is what a failed call says, which is escaped with %.
func grpcMessage(text string, limit int) string {
	if plain, err := url.PathUnescape(text); err == nil {
		text = plain
	}
	return snippet(strings.NewReader(text), limit)
}

// parseHealth takes the status out of a framed message; a message without one
// means the first of them. Fields that came to the protocol later are skipped.
func parseHealth(raw []byte) (uint64, error) {
	if len(raw) < grpcPrefix || uint64(binary.BigEndian.Uint32(raw[1:])) != uint64(len(raw)-grpcPrefix) {
		return 0, fmt.Errorf("%w: it is not one message", errNotGRPC)
	}
	if raw[0] != 0 {
		return 0, fmt.Errorf("%w: it is compressed, which was not asked for", errNotGRPC)
	}
	var status uint64
	for message := raw[grpcPrefix:]; len(message) > 0; {
		tag, n := binary.Uvarint(message)
		if n <= 0 {
			return 0, errTorn()
		}
		message = message[n:]
		value, size := fieldSize(tag&7, message)
		if size < 0 || size > len(message) {
			return 0, errTorn()
		}
		if tag == 1<<3 {
			status = value
		}
		message = message[size:]
	}
	return status, nil
}

func errTorn() error { return fmt.Errorf("%w: its message cannot be read", errNotGRPC) }

// fieldSize is how many bytes the value of a field of a message takes, less than
// 0 when that cannot be told; and the value, of a number.
func fieldSize(kind uint64, message []byte) (value uint64, size int) {
	switch kind {
	case 0:
		value, n := binary.Uvarint(message)
		if n <= 0 {
			return 0, -1
		}
		return value, n
	case 1:
		return 0, 8
	case 2:
		length, n := binary.Uvarint(message)
		if n <= 0 || length > uint64(len(message)-n) {
			return 0, -1
		}
		return 0, n + int(length)
	case 5:
		return 0, 4
	}
	return 0, -1
}

// nameOf is the name of a number; one without a name is shown as it is.
func nameOf(names []string, n uint64) string {
	if n < uint64(len(names)) {
		return names[n]
	}
	return strconv.FormatUint(n, 10)
}

// explainGRPC says what came of a gRPC probe that was answered.
func (r Result) explainGRPC(name string) string {
	asked := "health of the server"
	if r.Service != "" {
		asked = "health of " + short(r.Service)
	}
	switch {
	case r.OK:
		return fmt.Sprintf("%s answered SERVING for the %s in %s", name, asked, r.took())
	case r.GRPCCode == grpcUnimplemented:
		return name + " does not implement grpc.health.v1.Health; register the health service, or probe in another way"
	case r.GRPCCode == grpcNotFound:
		return fmt.Sprintf("%s does not know the %s%s", name, asked, r.quote())
	case r.GRPCCode != grpcOK:
		return fmt.Sprintf("%s answered with the gRPC status %s (%d) to the question for the %s%s", name,
			nameOf(grpcCodes(), uint64(r.GRPCCode)), r.GRPCCode, asked, r.quote())
	}
	return fmt.Sprintf("%s answered %s for the %s, expected SERVING", name, r.Health, asked)
}

// notHTTP2 knows the faces of a peer that speaks something else than HTTP/2.
func notHTTP2(err error) bool {
	if header := (tls.RecordHeaderError{}); errors.As(err, &header) {
		return false
	}
	text := err.Error()
	return strings.Contains(text, "looked like an HTTP/1.1 header") || strings.Contains(text, "frame too large") ||
		strings.Contains(text, "malformed HTTP") || strings.Contains(text, "PROTOCOL_ERROR") ||
		// The connection was given up before the request met it.
		strings.Contains(text, "client conn could not be established")
}
