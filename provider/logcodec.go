package provider

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
)

// maxLogRecord bounds one line of the stream: MaxLogLine bytes of which each may
// take six in JSON, and the rest of the object.
const maxLogRecord = 6*MaxLogLine + 4096

// DecodeLogs reads the stream that Logs returns. It ends after an error, with io.EOF
// being none; what is no LogLine is an error. The caller closes the stream.
func DecodeLogs(r io.Reader) iter.Seq2[LogLine, error] {
	return func(yield func(LogLine, error) bool) {
		lines := bufio.NewScanner(r)
		lines.Buffer(make([]byte, 0, 4096), maxLogRecord)
		for lines.Scan() {
			var line LogLine
			if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
				yield(LogLine{}, fmt.Errorf("read logs: %w", err))
				return
			}
			if !yield(line, nil) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			if errors.Is(err, bufio.ErrTooLong) {
				err = fmt.Errorf("a line is longer than %d bytes: %w", maxLogRecord, err)
			}
			yield(LogLine{}, fmt.Errorf("read logs: %w", err))
		}
	}
}

// AppendLogLine appends a line as Logs streams it. For a driver: Line holds at
// most MaxLogLine bytes and no line end.
func AppendLogLine(b []byte, line LogLine) ([]byte, error) {
	if len(line.Line) > MaxLogLine {
		return b, fmt.Errorf("%w: the log line has %d bytes, the most is %d", ErrInvalid, len(line.Line), MaxLogLine)
	}
	line.Time = line.Time.UTC()
	text, err := json.Marshal(line)
	if err != nil {
		return b, fmt.Errorf("write logs: %w", err)
	}
	return append(append(b, text...), '\n'), nil
}
