package h1

import (
	"net/http"
	"strconv"
	"strings"
)

func appendStatus(b []byte, status int) []byte {
	if status == http.StatusOK {
		return append(b, "HTTP/1.1 200 OK\r\n"...)
	}
	b = append(b, "HTTP/1.1 "...)
	b = strconv.AppendInt(b, int64(status), 10)
	b = append(b, ' ')
	b = append(b, http.StatusText(status)...)
	return append(b, "\r\n"...)
}

// appendField writes a header line. A line break in the value, which would begin
// another line, becomes a space.
func appendField(b []byte, name, value string) []byte {
	b = append(b, name...)
	b = append(b, ": "...)
	if strings.IndexByte(value, '\n') < 0 && strings.IndexByte(value, '\r') < 0 {
		b = append(b, value...)
	} else {
		for i := range len(value) {
			c := value[i]
			if c == '\n' || c == '\r' {
				c = ' '
			}
			b = append(b, c)
		}
	}
	return append(b, "\r\n"...)
}

// dateLine is the Date header of one second.
type dateLine struct {
	second int64
	line   string
}

func (s *Server) appendDate(b []byte) []byte {
	now := s.cfg.Now()
	d := s.date.Load()
	if d == nil || d.second != now.Unix() {
		d = &dateLine{now.Unix(), "Date: " + now.UTC().Format(http.TimeFormat) + "\r\n"}
		s.date.Store(d)
	}
	return append(b, d.line...)
}
