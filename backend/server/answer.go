package server

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"unicode"

	"github.com/berth-cloud/berth/backend"
)

// maxErrorText bounds the words of an error, in bytes.
const maxErrorText = 512

// status is the body of answers that have nothing else to say.
type status struct {
	Status   string   `json:"status"`
	Draining bool     `json:"draining,omitempty"`
	Notes    []string `json:"notes,omitempty"`
}

// answer is what a handler has to say. A nil body is none.
type answer struct {
	code int
	body any
}

func ok(body any) answer       { return answer{http.StatusOK, body} }
func accepted(body any) answer { return answer{http.StatusAccepted, body} }

// write sends an answer whole: it is encoded before its first byte goes out, so
// that what cannot be encoded is an error and not half a list.
func (a answer) write(w http.ResponseWriter) error {
	if a.body == nil {
		w.WriteHeader(a.code)
		return nil
	}
	text, err := json.Marshal(a.body)
	if err != nil {
		writeError(w, http.StatusInternalServerError, textInternal)
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(text)+1))
	w.WriteHeader(a.code)
	// Whoever asked has gone when this fails; there is nobody to tell.
	_, _ = w.Write(append(text, '\n'))
	return nil
}

func writeError(w http.ResponseWriter, code int, text string) {
	_ = answer{code, backend.ErrorResponse{Error: text}}.write(w) // strings always encode
}

// clean makes one line of words that may come from anywhere, and bounds it.
func clean(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case unicode.IsControl(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "�"))
	if len(text) > maxErrorText {
		text = strings.ToValidUTF8(text[:maxErrorText], "")
	}
	return text
}
