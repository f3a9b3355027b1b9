package manifest

import (
	"strings"
	"time"
)

// healthCheck is nil for the test NONE too.
func (r *reader) healthCheck(at *place, n *node) *HealthCheck {
	h := &HealthCheck{Timeout: DefaultHealthTimeout}
	duration := func(d *time.Duration) func(*place, *node) {
		return func(at *place, n *node) { *d = r.duration(at, n, 0, MaxHealthDuration) }
	}
	r.fields(at, n, map[string]func(*place, *node){
		"test":         func(at *place, n *node) { h.Kind, h.Args = r.test(at, n) },
		"interval":     duration(&h.Interval),
		"timeout":      duration(&h.Timeout),
		"start_period": duration(&h.StartPeriod),
		"retries": func(at *place, n *node) {
			retries, ok := r.integer(at, n)
			if ok && (retries < 0 || retries > MaxRetries) {
				r.add(at, "is not from 0 to %d", MaxRetries)
			}
			h.Retries = int(retries)
		},
	})
	if n.kind == object && n.member("test") == nil {
		r.add(at.field("test"), `is missing; write ["CMD", …], ["CMD-SHELL", …] or ["NONE"]`)
	}
	if h.Kind == testNone {
		return nil
	}
	if h.Timeout == 0 {
		h.Timeout = DefaultHealthTimeout
	}
	return h
}

// test reads ["CMD", "curl", "-f", "localhost"].
func (r *reader) test(at *place, n *node) (TestKind, []string) {
	if n.kind == list && len(n.items) == 0 {
		r.add(at, `is empty; write ["CMD", …], ["CMD-SHELL", …] or ["NONE"]`)
		return "", nil
	}
	var words []string
	r.list(at, n, 1+MaxArguments, func(at *place, n *node) {
		word, ok := r.text(at, n)
		if ok && strings.ContainsRune(word, 0) {
			r.add(at, "has a NUL in it, which no argument can have; remove it")
		}
		words = append(words, word)
	})
	if len(words) == 0 {
		return "", nil
	}
	kind, args := TestKind(words[0]), words[1:]
	switch {
	case n.items[0].kind != text: // said above
	case kind != TestCommand && kind != TestShell && kind != testNone:
		r.add(at.element(0), "is none of CMD, CMD-SHELL, NONE")
	case kind == testNone && len(args) > 0:
		r.add(at, "has something behind NONE; remove one or the other")
	case kind != testNone && len(args) == 0:
		r.add(at, "names no command behind %s", kind)
	case kind != testNone && args[0] == "" && n.items[1].kind == text:
		r.add(at.element(1), "is empty; name the command to run")
	}
	return kind, args
}
