package archtest

import (
	"bytes"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/berth-cloud/berth/provider/providertest"
)

const lessonsPage = "docs/lessons.md"

// promises reports whether the rows of a page's tables say what holds them.
func promises(file string) bool {
	return strings.HasPrefix(file, "docs/behaviour/") || file == lessonsPage
}

// row is one row of a table, its head aside.
type row struct {
	line  int
	head  []string
	cells []string
}

// rows are those of all tables of a page.
func rows(text string) []row {
	var out []row
	var head []string
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if !strings.HasPrefix(line, "|") {
			head = nil
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for j := range cells {
			cells[j] = strings.TrimSpace(cells[j])
		}
		switch {
		case head == nil:
			head = cells
		case !strings.HasPrefix(line, "|--"):
			out = append(out, row{line: i + 1, head: head, cells: cells})
		}
	}
	return out
}

// testName is how a page names a test: by its function, or with the name of one
// of its cases behind a slash, blanks written as underscores.
var testName = regexp.MustCompile(`\b(?:Test|Example|Fuzz)[A-Z]\w*(?:/[\w-]+)*`)

// unheld is what stands in place of a test: nothing yet, what it waits for, or
// why it is not for us.
var unheld = regexp.MustCompile(`^(?:not yet|(?:waits|does not apply): \S.*)$`)

// TestEveryPromisedBehaviourSaysWhatHoldsIt looks at the last column of the
// tables. That the tests they name exist is another test's concern.
func TestEveryPromisedBehaviourSaysWhatHoldsIt(t *testing.T) {
	quoted := regexp.MustCompile("`" + testName.String() + "`")
	decision := regexp.MustCompile(`\]\(((?:\.\./)?decisions/[\w.-]+)\)`)
	files := tree(t)
	for file, content := range files {
		if !promises(file) {
			continue
		}
		found := rows(string(content))
		if len(found) == 0 {
			t.Errorf("%s promises nothing", file)
		}
		for _, r := range found {
			if len(r.cells) != len(r.head) {
				t.Errorf("%s:%d has %d cells, its head has %d", file, r.line, len(r.cells), len(r.head))
				continue
			}
			by := r.cells[len(r.cells)-1]
			link := decision.FindStringSubmatch(by)
			switch {
			case link != nil:
				if target := path.Join(path.Dir(file), link[1]); files[target] == nil {
					t.Errorf("%s:%d names the decision %s, which does not exist", file, r.line, target)
				}
			case !quoted.MatchString(by) && !unheld.MatchString(by):
				t.Errorf("%s:%d: %q is neither a test, nor a decision, nor \"not yet\", \"waits: …\" or \"does not apply: …\"", file, r.line, by)
			}
		}
	}
}

func TestTestsThatPagesNameExist(t *testing.T) {
	files := tree(t)
	defined := regexp.MustCompile(`(?m)^func ((?:Test|Example|Fuzz)\w+)\(`)
	folders := map[string][]string{} // of the tests by name
	for file, content := range files {
		if strings.HasSuffix(file, ".go") {
			for _, m := range defined.FindAllStringSubmatch(string(content), -1) {
				folders[m[1]] = append(folders[m[1]], path.Dir(file))
			}
		}
	}
	for file, content := range files {
		if !promises(file) {
			continue
		}
		for _, name := range testName.FindAllString(string(content), -1) {
			test, part, _ := strings.Cut(name, "/")
			switch in := folders[test]; {
			case in == nil:
				t.Errorf("%s names the test %s, which does not exist", file, test)
			case part != "" && !slices.ContainsFunc(in, func(folder string) bool { return names(files, folder, part) }):
				t.Errorf("%s names %s, and %s has no such case", file, name, test)
			}
		}
	}
}

// names reports whether a case of that name is written down in a folder: as a
// text of its tests, of a package that they import, as a suite is, or as a script
// below testdata.
func names(files map[string][]byte, folder, part string) bool {
	in := inFolders()
	all := []string{folder}
	for _, file := range in[folder] {
		if strings.HasSuffix(file, "_test.go") {
			for _, m := range imported.FindAllStringSubmatch(string(files[file]), -1) {
				all = append(all, m[1])
			}
		}
	}
	plain, spaced := []byte(strconv.Quote(part)), []byte(strconv.Quote(strings.ReplaceAll(part, "_", " ")))
	for _, one := range all {
		for _, file := range in[one] {
			if strings.HasSuffix(file, ".go") && (bytes.Contains(files[file], plain) || bytes.Contains(files[file], spaced)) {
				return true
			}
		}
	}
	for one, paths := range in {
		if strings.HasPrefix(one+"/", folder+"/testdata/") && slices.Contains(paths, one+"/"+part+".txtar") {
			return true
		}
	}
	return false
}

var imported = regexp.MustCompile(`"` + module + `([\w/]+)"`)

// inFolders are the files of the tree by their folder.
var inFolders = sync.OnceValue(func() map[string][]string {
	all := map[string][]string{}
	files, _ := readTree() // whoever asks has seen the error
	for file := range files {
		all[path.Dir(file)] = append(all[path.Dir(file)], file)
	}
	return all
})

func TestCasesThatTheProviderContractNamesExist(t *testing.T) {
	var cases []string
	for _, c := range providertest.Cases() {
		cases = append(cases, c.Name)
	}
	_, rules, found := strings.Cut(string(tree(t)["provider/doc.go"]), "# The rules")
	named := regexp.MustCompile(`\b[A-Z]\w+/[A-Z]\w+\b`).FindAllString(rules, -1)
	if !found || len(named) == 0 {
		t.Fatal("the contract names no case: the rule looked in the wrong place")
	}
	for _, name := range named {
		if !slices.Contains(cases, name) {
			t.Errorf("provider/doc.go names the case %s, which the suite does not have", name)
		}
	}
}

// TestEveryLessonStandsInItsPlace holds the numbers of the lessons: who looks one
// up finds it, be it held, left for later or not for us.
func TestEveryLessonStandsInItsPlace(t *testing.T) {
	var got []string
	for _, r := range rows(string(tree(t)[lessonsPage])) {
		got = append(got, r.cells[0])
	}
	var want []string
	for i := range 20 {
		want = append(want, "P"+strconv.Itoa(i+1))
	}
	for i := 34; i <= 40; i++ {
		want = append(want, "D"+strconv.Itoa(i))
	}
	for i := range 29 {
		want = append(want, "B"+strconv.Itoa(i+1))
	}
	for part := range strings.SplitSeq("abcdefgh", "") {
		want = append(want, "B30"+part)
	}
	for gap := range strings.SplitSeq("abcdefghijk", "") {
		want = append(want, "G"+gap)
	}
	for i := range 9 {
		want = append(want, "Q"+strconv.Itoa(i+1))
	}
	want = append(want, machineLessons()...)
	if !slices.Equal(got, want) {
		t.Errorf("the lessons are %v, want %v", got, want)
	}
}

func machineLessons() []string {
	var all []string
	count := func(prefix string, n int) {
		for i := range n {
			all = append(all, prefix+strconv.Itoa(i+1))
		}
	}
	letters := func(prefix, of string) {
		for part := range strings.SplitSeq(of, "") {
			all = append(all, prefix+part)
		}
	}
	count("M", 15)
	letters("M16", "abcdefgh")
	count("N", 12)
	letters("J", "abcdefghijklm")
	count("R", 11)
	count("F", 21)
	return all
}
