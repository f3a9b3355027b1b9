package config

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
)

// inDir is where a file that is named in the file is.
func (d *decoder) inDir(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(d.dir, name)
}

// readFile reads a regular file of at most so many bytes. exposed says how others
// could read or change it, and is "" when nobody but root and this user can. It
// looks at the open file, so that nobody can put another one there in between.
func readFile(path string, most int64) (content []byte, exposed string, err error) {
	// Without O_NONBLOCK a named pipe would hold us.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, "", err
	}
	if !info.Mode().IsRegular() {
		return nil, "", fmt.Errorf("%s is no regular file (%s)", path, info.Mode().Type())
	}
	content, err = io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(content)) > most {
		err = fmt.Errorf("%s is longer than %d bytes", path, most)
	}
	if err != nil {
		clear(content)
		return nil, "", err
	}
	return content, exposedBy(path, info), nil
}

func exposedBy(path string, info fs.FileInfo) string {
	if perm := info.Mode().Perm(); perm&0o077 != 0 {
		return fmt.Sprintf("it has mode %04o and has to have 0600; run: chmod 600 %s", perm, word(path))
	}
	if owner := ownerOf(info); owner != "" {
		return owner + ": chown " + strconv.Itoa(os.Geteuid()) + " " + word(path)
	}
	return ""
}

// plainWord is what a shell takes as it stands.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./@%+=:,-]+$`)

// word is a path as somebody can write it behind a command.
func word(path string) string {
	if plainWord.MatchString(path) && path[0] != '-' {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
