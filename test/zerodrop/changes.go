package main

import (
	"fmt"
	"strings"
)

// The images that changes go to and fro between.
var imageVersions = [2]string{"v1", "v2"}

// The kinds of change, in the order in which they come round. A rollback may
// find the release before still draining and take it back into service, so it is
// made on top of the others.
const (
	kindImage     = "image"
	kindEnv       = "env"
	kindRollback  = "rollback"
	kindResources = "resources"
)

var kinds = []string{kindImage, kindEnv, kindRollback, kindResources}

const service = "web"

// shape is what app.yaml says of the service, as far as changes touch it.
type shape struct {
	image   int    // of imageVersions
	version string // what VERSION is set to; empty: what the image says
	abrupt  bool   // SIGTERM ends the program at once, whatever is in flight
	memory  string
}

// serves is the version that its answers carry.
func (s shape) serves() string {
	if s.version != "" {
		return s.version
	}
	return imageVersions[s.image]
}

// change is one step from a shape to the next.
type change struct {
	number int // from 1
	kind   string
	to     shape
}

// rolls says that the change is made with new containers.
func (c change) rolls() bool { return c.kind != kindRollback }

func (c change) String() string {
	return fmt.Sprintf("change %d (%s, to version %s)", c.number, c.kind, c.to.serves())
}

// history makes changes. No two shapes in a row serve the same version. Half of
// them stand a stop badly: one that comes too early is seen by what it cuts, and
// with the others by what a program that stops says to its clients.
type history struct {
	now, before shape
	made        int
}

func newHistory() *history { return &history{now: shape{memory: "96Mi", abrupt: true}} }

func (h *history) next() change {
	kind := kinds[h.made%len(kinds)]
	h.made++
	to := h.now
	to.abrupt = !to.abrupt
	switch kind {
	case kindImage:
		to.image, to.version = 1-to.image, ""
	case kindEnv:
		to.version = fmt.Sprintf("c%d", h.made)
	case kindResources:
		to.version = fmt.Sprintf("c%d", h.made)
		to.memory = fmt.Sprintf("%dMi", 96+h.made)
	case kindRollback:
		to = h.before
	}
	h.before, h.now = h.now, to
	return change{number: h.made, kind: kind, to: to}
}

// steps are so many changes that roll, and the rollbacks between them.
func (h *history) steps(rolling int) []change {
	var out []change
	for rolling > 0 {
		c := h.next()
		out = append(out, c)
		if c.rolls() {
			rolling--
		}
	}
	return out
}

// appFile is the app.yaml of a shape. The program takes a moment before it
// listens, so that there is a time of probing.
func (s *stand) appFile(to shape) string {
	var b strings.Builder
	fmt.Fprintf(&b, `name: %s
services:
  %s:
    image: %s:%s
    port: 8080
    domains: [%s]
    replicas: %d
    env:
      START_DELAY: 300ms
`, s.app, service, s.repository, imageVersions[to.image], s.host(), s.o.replicas)
	if to.abrupt {
		b.WriteString("      MODE: abrupt\n")
	}
	if to.version != "" {
		fmt.Fprintf(&b, "      VERSION: %s\n", to.version)
	}
	fmt.Fprintf(&b, `    health:
      readiness:
        path: /healthz
        interval: 1s
    resources:
      memory: %s
    drain_timeout: %s
`, to.memory, s.o.drainTimeout())
	return b.String()
}
