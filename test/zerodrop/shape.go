package main

import (
	"fmt"
	"strings"
)

// The images that changes go to and fro between.
var imageVersions = [2]string{"v1", "v2"}

const (
	service  = "web"
	helper   = "helper" // the sidecar of a group
	firstMem = "96Mi"
)

// content is what a release of the service is made of, as far as changes touch it.
type content struct {
	image   int    // of imageVersions
	version string // what VERSION is set to; empty: what the image says
	abrupt  bool   // SIGTERM ends the program at once, whatever is in flight
	memory  string
	group   bool // with an init, and a sidecar that every answer needs
	early   bool // the sidecar starts before the program, not after it
	// strategy comes back with a release as all the rest does.
	strategy strategy
}

// serves is the version that its answers carry.
func (c content) serves() string {
	if c.version != "" {
		return c.version
	}
	return imageVersions[c.image]
}

// shape is what app.yaml says of the service.
type shape struct {
	content
	replicas int
}

// containers is how many stand once nothing else does.
func (s shape) containers() int {
	if s.group {
		return 3 * s.replicas
	}
	return s.replicas
}

// strategy is how new containers take over. The zero value is blue-green.
type strategy struct{ surge, unavailable string }

func (s strategy) rolling() bool { return s != strategy{} }

func (s strategy) String() string {
	if s.rolling() {
		return fmt.Sprintf("rolling +%s -%s", s.surge, s.unavailable)
	}
	return "blue-green"
}

// appFile is the app.yaml of a shape. The program takes a moment before it
// listens, so that there is a time of probing.
func (s *stand) appFile(to shape) string {
	image := s.repository + ":" + imageVersions[to.image]
	var b strings.Builder
	fmt.Fprintf(&b, `name: %s
services:
  %s:
    image: %s
    port: 8080
    domains: [%s]
    replicas: %d
    env:
      START_DELAY: 300ms
`, s.app, service, image, s.host(), to.replicas)
	if to.abrupt {
		b.WriteString("      MODE: abrupt\n")
	}
	if to.version != "" {
		fmt.Fprintf(&b, "      VERSION: %s\n", to.version)
	}
	if to.group {
		fmt.Fprintf(&b, "      BESIDE: http://%s:9090/version\n", helper)
	}
	fmt.Fprintf(&b, `    health:
      readiness:
        path: /healthz
        interval: 1s
    resources:
      memory: %s
    drain_timeout: %s
`, to.memory, s.o.drainTimeout())
	if to.strategy.rolling() {
		fmt.Fprintf(&b, "    strategy: rolling\n    max_surge: %s\n    max_unavailable: %s\n", to.strategy.surge, to.strategy.unavailable)
	}
	if to.group {
		b.WriteString(members(image, to.early))
	}
	return b.String()
}

// members are the init and the sidecar of a group. The sidecar cuts what it has
// begun when it is stopped, so that one that goes before its program is seen.
func members(image string, early bool) string {
	text := fmt.Sprintf(`    inits:
      prepare:
        image: %[1]s
        env: {MODE: exit, EXIT_CODE: "0", AFTER: 100ms}
    sidecars:
      %[2]s:
        image: %[1]s
        port: 9090
        env: {PORT: "9090", MODE: abrupt, START_DELAY: 200ms}
        health:
          readiness: {path: /healthz, interval: 1s}
`, image, helper)
	if early {
		text += "    after: [" + helper + "]\n"
	}
	return text
}
