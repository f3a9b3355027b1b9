package api

import (
	"bytes"
	"encoding/json"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

// eventWriteTimeout bounds each write: a reader that takes nothing for that
// long loses its stream.
const eventWriteTimeout = 10 * time.Second

// eventStream writes server-sent events.
type eventStream struct {
	w   http.ResponseWriter
	rc  *http.ResponseController
	buf bytes.Buffer
}

// Streams is how many event streams are open now.
func (s *Server) Streams() int { return len(s.streams) }

// stream answers with an event stream that body writes. It refuses when too
// many are open.
func (s *Server) stream(body func(huma.Context, *eventStream) error) (*huma.StreamResponse, error) {
	select {
	case s.streams <- struct{}{}:
	default:
		return nil, busy("too many event streams are open", "Close some, or try again in a while.")
	}
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		defer func() { <-s.streams }()
		_, w := humago.Unwrap(ctx)
		ctx.SetHeader("Content-Type", "text/event-stream")
		ctx.SetHeader("Cache-Control", "no-store")
		ctx.SetHeader("X-Accel-Buffering", "no")
		ctx.SetStatus(http.StatusOK)
		e := &eventStream{w: w, rc: http.NewResponseController(w)}
		if err := e.beat(); err != nil {
			return
		}
		if err := body(ctx, e); err != nil {
			s.log.DebugContext(ctx.Context(), "event stream ended", "error", err)
		}
	}}, nil
}

// send writes one event; id may be empty.
func (e *eventStream) send(name, id string, data any) error {
	e.buf.Reset()
	if id != "" {
		e.buf.WriteString("id: " + id + "\n")
	}
	e.buf.WriteString("event: " + name + "\ndata: ")
	enc := json.NewEncoder(&e.buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(data); err != nil { // ends with the line end
		return err
	}
	e.buf.WriteByte('\n')
	return e.flush()
}

// beat writes a comment, which says that the stream lives.
func (e *eventStream) beat() error {
	e.buf.Reset()
	e.buf.WriteString(":\n\n")
	return e.flush()
}

func (e *eventStream) flush() error {
	if err := e.rc.SetWriteDeadline(time.Now().Add(eventWriteTimeout)); err != nil {
		return err
	}
	if _, err := e.w.Write(e.buf.Bytes()); err != nil {
		return err
	}
	return e.rc.Flush()
}

// eventsResponse documents a stream in the OpenAPI description.
func eventsResponse(description string) map[string]*huma.Response {
	return map[string]*huma.Response{"200": {
		Description: description,
		Content:     map[string]*huma.MediaType{"text/event-stream": {Schema: &huma.Schema{Type: huma.TypeString}}},
	}}
}
