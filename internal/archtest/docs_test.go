package archtest

import (
	"bytes"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/berth-cloud/berth/internal/cli"
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/workfile"
)

// block is one fenced block of a page.
type block struct {
	file string
	line int // of its first line
	lang string
	text string
}

// pages are the texts for people by their path.
func pages(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for file, content := range tree(t) {
		if strings.HasSuffix(file, ".md") {
			out[file] = string(content)
		}
	}
	if out["README.md"] == "" {
		t.Fatal("there is no README.md")
	}
	return out
}

func blocks(file, text string) []block {
	var out []block
	var open *block
	for i, line := range strings.Split(text, "\n") {
		lang, fence := strings.CutPrefix(line, "```")
		switch {
		case fence && open == nil:
			open = &block{file: file, line: i + 2, lang: lang}
		case fence:
			out = append(out, *open)
			open = nil
		case open != nil:
			open.text += line + "\n"
		}
	}
	return out
}

func TestAppFilesInTheDocumentationAreValid(t *testing.T) {
	found := 0
	for file, text := range pages(t) {
		for _, b := range blocks(file, text) {
			if b.lang != "yaml" {
				continue
			}
			found++
			if _, err := spec.Parse([]byte(b.text), spec.Options{}); err != nil {
				t.Errorf("%s:%d: %v", b.file, b.line, err)
			}
		}
	}
	if found == 0 {
		t.Error("no app file was found in any page")
	}
}

func TestWorkloadFilesInTheDocumentationAreValid(t *testing.T) {
	found := 0
	for file, text := range pages(t) {
		for _, b := range blocks(file, text) {
			if b.lang != "yml" {
				continue
			}
			found++
			// What a file of its own says is not here, and does not matter.
			files := map[string][]byte{"settings.json": []byte("{}")}
			if _, err := workfile.Parse([]byte(b.text), workfile.Options{Files: files}); err != nil {
				t.Errorf("%s:%d: %v", b.file, b.line, err)
			}
		}
	}
	if found == 0 {
		t.Error("no workload file was found in any page")
	}
}

// typed are the command lines of a page that begin with a program: lines of
// shell blocks, lines after a $, and what stands alone in backquotes.
func typed(file, text, program string) []string {
	var out []string
	add := func(line string) {
		line, _, _ = strings.Cut(line, "  #")
		if words := strings.Fields(line); len(words) > 1 && words[0] == program {
			out = append(out, strings.Join(words, " "))
		}
	}
	for _, b := range blocks(file, text) {
		for line := range strings.Lines(b.text) {
			prompt, yes := strings.CutPrefix(line, "$ ")
			if b.lang == "sh" || yes {
				add(prompt)
			}
		}
	}
	for _, m := range regexp.MustCompile("`([^`\n]+)`").FindAllStringSubmatch(text, -1) {
		add(m[1])
	}
	return out
}

var flagWord = regexp.MustCompile(`^--?[a-z][a-z-]*`)

func TestCommandsInTheDocumentationExist(t *testing.T) {
	helps, found := map[string]string{}, 0
	for file, text := range pages(t) {
		for _, line := range typed(file, text, "berth") {
			words := strings.Fields(line)
			name := words[1]
			if regexp.MustCompile(`^[A-Z]+$|^help$|^-`).MatchString(name) {
				continue
			}
			found++
			help := helpOn(t, helps, name)
			if strings.Contains(help, "berth "+name+" [command]") && len(words) > 2 && !strings.HasPrefix(words[2], "-") {
				name += " " + words[2]
				help = helpOn(t, helps, name)
			}
			// Help on a command that is not known is help on those that are.
			if !strings.Contains(help, "berth "+name) {
				t.Errorf("%s: `%s`: there is no command %s", file, line, name)
			}
			for _, w := range words[2:] {
				if f := flagWord.FindString(w); f != "" && !regexp.MustCompile(`(^|[\s,])`+regexp.QuoteMeta(f)+`[\s,=]`).MatchString(help) {
					t.Errorf("%s: `%s`: the command has no option %s", file, line, f)
				}
			}
		}
	}
	if found == 0 {
		t.Error("no command was found in any page")
	}
}

// helpOn is what a command says about itself, kept for the next time.
func helpOn(t *testing.T, kept map[string]string, name string) string {
	t.Helper()
	help, known := kept[name]
	if !known {
		var out bytes.Buffer
		env := cli.Env{Stdin: strings.NewReader(""), Stdout: &out, Stderr: io.Discard}
		if cli.Run(t.Context(), append(strings.Fields(name), "--help"), env) == 0 {
			help = out.String()
		}
		kept[name] = help
	}
	return help
}

// TestDaemonFlagsInTheDocumentationExist reads the flags that the daemons'
// sources declare, for pages and unit files.
func TestDaemonFlagsInTheDocumentationExist(t *testing.T) {
	files := tree(t)
	for program, sources := range map[string][]string{
		"berthd": {"cmd/berthd/main.go"}, "berth-node": {"cmd/berth-node/main.go", "cmd/berth-node/ingress.go", "cmd/berth-node/agent.go"},
	} {
		var declared []string
		for _, source := range sources {
			for _, m := range regexp.MustCompile(`f\.\w+\((?:[^"\n]+, )?"([a-z-]+)"`).FindAllStringSubmatch(string(files[source]), -1) {
				declared = append(declared, m[1])
			}
		}
		if len(declared) == 0 {
			t.Fatalf("%s declares no flags: the rule looked in the wrong place", program)
		}
		var lines []string
		for file, text := range pages(t) {
			lines = append(lines, typed(file, text, program)...)
		}
		for file, content := range files {
			if strings.HasPrefix(file, "packaging/") {
				lines = append(lines, regexp.MustCompile(`\b`+program+` .*`).FindAllString(string(content), -1)...)
			}
		}
		for _, line := range lines {
			for _, w := range strings.Fields(line) {
				if f := strings.TrimLeft(flagWord.FindString(w), "-"); f != "" && !slices.Contains(declared, f) {
					t.Errorf("`%s`: %s has no flag --%s", line, program, f)
				}
			}
		}
	}
}

// TestGoInTheDocumentationIsCodeOfTheTree holds blocks of Go to what is compiled:
// each piece, up to a line of its own with an ellipsis, is in some file.
func TestGoInTheDocumentationIsCodeOfTheTree(t *testing.T) {
	files := tree(t)
	for file, text := range pages(t) {
		for _, b := range blocks(file, text) {
			if b.lang != "go" || strings.HasPrefix(b.text, "package ") { // whole programs are the reader's to write
				continue
			}
			for piece := range strings.SplitSeq(b.text, "…\n") {
				found := false
				for name, content := range files {
					found = found || strings.HasSuffix(name, ".go") && strings.Contains(string(content), piece)
				}
				if !found {
					t.Errorf("%s:%d shows Go that is in no file:\n%s", b.file, b.line, piece)
				}
			}
		}
	}
}

func TestMakeTargetsInTheDocumentationExist(t *testing.T) {
	makefile := string(tree(t)["Makefile"])
	for file, text := range pages(t) {
		for _, line := range typed(file, text, "make") {
			target := strings.Fields(line)[1]
			if !strings.Contains(makefile, "\n"+target+":") {
				t.Errorf("%s: `%s`: there is no such target", file, line)
			}
		}
	}
}

func TestLinksInTheDocumentationLeadSomewhere(t *testing.T) {
	files := tree(t)
	links := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	for file, text := range pages(t) {
		for _, m := range links.FindAllStringSubmatch(text, -1) {
			target, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			to := file
			if target != "" {
				to = path.Join(path.Dir(file), target)
			}
			switch content, isFile := files[to]; {
			case !isFile && !isFolder(files, to):
				t.Errorf("%s links to %s, which does not exist", file, m[1])
			case anchor != "" && !slices.Contains(anchors(string(content)), anchor):
				t.Errorf("%s links to %s, where there is no such heading", file, m[1])
			}
		}
	}
}

func isFolder(files map[string][]byte, dir string) bool {
	for file := range files {
		if strings.HasPrefix(file, dir+"/") {
			return true
		}
	}
	return false
}

// anchors are the names under which a page's headings can be linked to.
func anchors(page string) []string {
	var out []string
	for _, m := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(page, -1) {
		name := strings.ToLower(strings.ReplaceAll(m[1], " ", "-"))
		out = append(out, regexp.MustCompile(`[^\w-]`).ReplaceAllString(name, ""))
	}
	return out
}
