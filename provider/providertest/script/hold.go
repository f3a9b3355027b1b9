package script

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"time"
)

// Files in a directory that is held.
const (
	// HolderFile is who holds the directory, rewritten as long as he lives.
	HolderFile = "holder"
	// ConflictFile is there when two held the directory at one time.
	ConflictFile = "conflict"
)

// beat is the time between two signs of life of a holder; one that gave none for
// a few beats is dead.
const (
	beat     = 100 * time.Millisecond
	lifeless = 8 * beat
)

// ExitHeld is the exit code of a program that found its directory held by
// another one.
const ExitHeld = 9

// hold makes this program the only writer of a directory. Whoever meets another
// writer who lives leaves ConflictFile, for ever, and ends with ExitHeld.
func (r *runner) hold(w output, dir string) error {
	path, me := dir+"/"+HolderFile, r.Hostname()
	other, err := r.claim(path, me)
	if err != nil {
		return err
	}
	if other != "" {
		r.clash(w, dir, other)
		return nil
	}
	gone := make(chan struct{})
	go r.beat(w, dir, me, gone)
	r.atEnd(func(killed bool) {
		if <-gone; !killed {
			_ = r.Remove(path)
		}
	})
	return nil
}

// claim returns who else holds the file, and lives.
func (r *runner) claim(path, me string) (string, error) {
	err := r.CreateFile(path, []byte(me+" 0"))
	if !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	before, err := r.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if !r.sleep(lifeless) {
		return "", nil
	}
	after, err := r.ReadFile(path)
	if err == nil && string(after) != string(before) {
		return string(after), nil
	}
	return "", r.WriteFile(path, []byte(me+" 0"))
}

func (r *runner) beat(w output, dir, me string, gone chan<- struct{}) {
	defer close(gone)
	path, last := dir+"/"+HolderFile, me+" 0"
	for n := 1; r.sleep(beat); n++ {
		if now, err := r.ReadFile(path); err != nil || string(now) != last {
			r.clash(w, dir, fmt.Sprintf("%s %v", now, err))
			return
		}
		last = me + " " + strconv.Itoa(n)
		if err := r.WriteFile(path, []byte(last)); err != nil {
			r.clash(w, dir, err.Error())
			return
		}
	}
}

func (r *runner) clash(w output, dir, other string) {
	text := r.Hostname() + " met " + other
	_ = say(w.err, "script: "+dir+": "+text)
	_ = r.WriteFile(dir+"/"+ConflictFile, []byte(text))
	r.exit(ExitHeld)
}
