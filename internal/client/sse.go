package client

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
)

// maxEventLine bounds one line of an event stream: a log line of 64 KiB whose
// every byte is escaped in JSON, and room to spare.
const maxEventLine = 1 << 20

// event is one server-sent event.
type event struct {
	name, id string
	data     []byte
}

// readEvents calls fn for each event until the stream ends (nil), fn returns
// an error, or a line is longer than maxEventLine. beat is called for every
// line, so that a caller can tell a quiet stream from a dead one.
func readEvents(r io.Reader, beat func(), fn func(event) error) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 16<<10), maxEventLine)
	var e event
	for lines.Scan() {
		beat()
		line := lines.Bytes()
		if len(line) == 0 {
			if e.name != "" || len(e.data) > 0 {
				if err := fn(e); err != nil {
					return err
				}
			}
			e = event{}
			continue
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "event":
			e.name = string(value)
		case "id":
			e.id = string(value)
		case "data":
			if len(e.data) > 0 {
				e.data = append(e.data, '\n')
			}
			e.data = append(e.data, value...)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read the event stream: %w", err)
	}
	return nil
}
