package api

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/berth-cloud/berth/internal/wire"
)

// What a [Nodes] refuses, in words for whoever asked.
var (
	ErrNoSuchNode  = errors.New("there is no such node")
	ErrNodeTaken   = errors.New("another node has that name")
	ErrNodeRefused = errors.New("not possible with this node")
	// ErrNodesUnavailable: what is known of machines cannot be read or written now.
	ErrNodesUnavailable = errors.New("the records of machines cannot be reached")
)

// nodeProblem makes a problem document of an error of Nodes; nil of any other.
func nodeProblem(err error) *wire.Problem {
	switch {
	case errors.Is(err, ErrNoSuchNode):
		return notFound(err.Error(), "`berth node list` lists the nodes there are.")
	case errors.Is(err, ErrNodeTaken):
		return nodeTaken(err.Error())
	case errors.Is(err, ErrNodeRefused):
		return &wire.Problem{
			Type: wire.ProblemNotSupported, Title: "Not possible with this node", Status: http.StatusConflict, Detail: err.Error(),
			Hint: "Nothing was changed. `berth node show` says what the node is.",
		}
	case errors.Is(err, ErrNodesUnavailable):
		return busy(err.Error(), "Apps go on meanwhile. `berth doctor` says more; the request may be repeated.")
	}
	return nil
}

func noSuchNode(text string) *wire.Problem {
	return notFound(fmt.Sprintf("there is no node %q", text), "`berth node list` lists the nodes there are.")
}

func nodeTaken(detail string) *wire.Problem {
	return &wire.Problem{
		Type: wire.ProblemNameTaken, Title: "Name taken", Status: http.StatusConflict, Detail: detail,
		Hint: "Give it another name; `berth node list` lists those that are taken.",
	}
}
