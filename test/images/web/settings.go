package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The ways to behave.
const (
	modeServe     = "serve"
	modeExit      = "exit"      // logs and ends with EXIT_CODE, after AFTER, without listening
	modeCrash     = "crash"     // serves, and ends with EXIT_CODE after AFTER
	modeElsewhere = "elsewhere" // listens on PORT+1
	modeError     = "error"     // answers everything with 500
	modeSilent    = "silent"    // accepts connections and never answers
	modeMemory    = "memory"    // serves while it takes memory until it is killed
	modeStubborn  = "stubborn"  // serves and takes no notice of SIGTERM
	modeAbrupt    = "abrupt"    // serves, and SIGTERM ends it at once, whatever is in flight
)

var modes = []string{modeServe, modeExit, modeCrash, modeElsewhere, modeError, modeSilent, modeMemory, modeStubborn, modeAbrupt}

// settings is what the environment says; readSettings has the names and defaults.
type settings struct {
	version, greeting string
	mode              string
	port              int
	dataDir           string // what /data/ reads and writes
	startDelay        time.Duration
	idleTimeout       time.Duration // of a keep-alive connection
	after             time.Duration
	exitCode          int
	logLines          int    // that modeExit prints
	memoryStep        int    // bytes that modeMemory takes every 10 ms
	beside            string // URL that has to answer 200 before `/` and the end of `/slow` are given

	env func(string) string // what /env reads
}

func readSettings(env func(string) string) (settings, error) {
	r := reader{env: env}
	s := settings{
		version:     r.text("VERSION", "unversioned"),
		greeting:    r.text("GREETING", "Hello from Berth"),
		mode:        r.text("MODE", modeServe),
		port:        r.number("PORT", 8080),
		dataDir:     r.text("DATA_DIR", "/data"),
		startDelay:  r.duration("START_DELAY", 0),
		idleTimeout: r.duration("IDLE_TIMEOUT", 75*time.Second),
		after:       r.duration("AFTER", 0),
		exitCode:    r.number("EXIT_CODE", 1),
		logLines:    r.number("LOG_LINES", 3),
		memoryStep:  r.number("MEMORY_STEP", 4<<20),
		beside:      r.text("BESIDE", ""),
		env:         env,
	}
	if !slices.Contains(modes, s.mode) {
		r.errs = append(r.errs, fmt.Errorf("MODE is %q; it can be %s", s.mode, strings.Join(modes, ", ")))
	}
	return s, errors.Join(r.errs...)
}

func (s settings) listenPort() int {
	if s.mode == modeElsewhere {
		return s.port + 1
	}
	return s.port
}

// reader reads typed values and collects what is wrong with them.
type reader struct {
	env  func(string) string
	errs []error
}

func (r *reader) text(name, otherwise string) string {
	if v := r.env(name); v != "" {
		return v
	}
	return otherwise
}

func (r *reader) number(name string, otherwise int) int {
	v := r.env(name)
	if v == "" {
		return otherwise
	}
	n, err := strconv.Atoi(v)
	if err != nil {
		r.errs = append(r.errs, fmt.Errorf("%s is %q, not a number", name, v))
	}
	return n
}

func (r *reader) duration(name string, otherwise time.Duration) time.Duration {
	v := r.env(name)
	if v == "" {
		return otherwise
	}
	d, err := time.ParseDuration(v)
	if err != nil {
		r.errs = append(r.errs, fmt.Errorf("%s is %q, not a duration such as 500ms", name, v))
	}
	return d
}
