package manifest

import (
	"path"
	"regexp"
	"slices"
)

// command is as words, and names something to run.
func (r *reader) command(at *place, n *node) []string {
	out := r.words(at, n)
	if len(out) > 0 && out[0] == "" && n.items[0].kind == text {
		r.add(at.element(0), "is empty; name the program to run")
	}
	return out
}

var userForm = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,63})?$`)

func (r *reader) user(at *place, n *node) string {
	s, ok := r.text(at, n)
	if ok && !userForm.MatchString(s) {
		r.add(at, `is no user: a name or number, or two of them for user and group, such as "1000:1000"`)
	}
	return s
}

var (
	// pathForm leaves out the colon, with which engines end a path.
	pathForm = regexp.MustCompile(`^/[ -9;-~]+$`)

	// kernelPaths are the kernel's; a mount there hides what programs rely on.
	kernelPaths = regexp.MustCompile(`^/(proc|sys|dev)(/|$)`)
)

// tmpfs reads a list of directories. /tmp and /run are there without being asked
// for, with a size that a second mount would change.
func (r *reader) tmpfs(at *place, n *node) []string {
	var out []string
	r.list(at, n, MaxTmpfs, func(at *place, n *node) {
		dir, ok := r.text(at, n)
		switch {
		case !ok:
			return
		case len(dir) > maxPath || !pathForm.MatchString(dir) || path.Clean(dir) != dir:
			r.add(at, `is no absolute path below "/" in its shortest form: without "." and "..", doubled slashes, a slash at the end, or a colon`)
		case dir == "/tmp" || dir == "/run":
			r.add(at, "is a directory in memory already; remove it, or name one below it")
		case kernelPaths.MatchString(dir):
			r.add(at, "lies in /proc, /sys or /dev, which are the kernel's; use another path")
		case slices.Contains(out, dir):
			r.add(at, "is there twice; keep one")
		}
		out = append(out, dir)
	})
	slices.Sort(out)
	return out
}
