package backendadmin

import (
	"encoding/json"
	"net/http"

	"github.com/berth-cloud/berth/internal/wire"
)

func forbidden(detail string) *wire.Problem {
	return &wire.Problem{
		Type: wire.ProblemForbidden, Title: "Not allowed", Status: http.StatusForbidden, Detail: detail,
		Hint: "Call as root, or as the user that runs `berthd backend`.",
	}
}

func notFound(detail, hint string) *wire.Problem {
	return &wire.Problem{Type: wire.ProblemNotFound, Title: "Not found", Status: http.StatusNotFound, Detail: detail, Hint: hint}
}

func invalid(detail, hint string) *wire.Problem {
	return &wire.Problem{Type: wire.ProblemInvalidRequest, Title: "Invalid request", Status: http.StatusBadRequest, Detail: detail, Hint: hint}
}

// internalError has the error's words: they are for who operates the backend.
func internalError(err error) *wire.Problem {
	return &wire.Problem{
		Type: wire.ProblemInternal, Title: "Failed", Status: http.StatusInternalServerError, Detail: err.Error(), Hint: "The backend's log has more.",
	}
}

func writeProblem(w http.ResponseWriter, p *wire.Problem) {
	body, err := json.Marshal(p)
	if err != nil { // strings always encode
		body = nil
	}
	w.Header().Set("Content-Type", p.ContentType(""))
	w.WriteHeader(p.Status)
	_, _ = w.Write(append(body, '\n'))
}
