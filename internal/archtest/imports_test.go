package archtest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// goPackage is the part of `go list -json` that the rules look at.
type goPackage struct {
	ImportPath string
	Doc        string
	GoFiles    []string
	Imports    []string
}

// inModule is the package's path in the module.
func (p goPackage) inModule() string { return strings.TrimPrefix(p.ImportPath, module) }

// goList runs `go list` at the top of the checkout. What does not build is the
// compiler's to report.
func goList(t *testing.T, args ...string) []goPackage {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", append([]string{"list", "-e", "-json=ImportPath,Doc,GoFiles,Imports"}, args...)...)
	cmd.Dir = "../.."
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, said.String())
	}
	var pkgs []goPackage
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs
		} else if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
}

func TestEveryPackageHasARoom(t *testing.T) {
	for _, p := range goList(t, "./...") {
		if _, ok := roomOf(p.inModule()); !ok {
			t.Errorf("%s is in no room: enter it in rooms_test.go", p.inModule())
		}
	}
}

func TestImportsGoDown(t *testing.T) {
	for _, p := range goList(t, "./...") {
		from, _ := roomOf(p.inModule())
		contract, name := implementationOf(p.inModule())
		for _, path := range p.Imports {
			imported, ours := strings.CutPrefix(path, module)
			if !ours {
				continue
			}
			if to, ok := roomOf(imported); ok && !mayImport(from, to) {
				t.Errorf("%s (%s) imports %s (%s): imports go down only", p.inModule(), from.name, imported, to.name)
			}
			if c, other := implementationOf(imported); c >= 0 && c == contract && other != name {
				t.Errorf("%s imports %s: implementations of one contract do not know each other", p.inModule(), imported)
			}
		}
	}
}

func TestEveryPackageSaysWhatItIsFor(t *testing.T) {
	for _, p := range goList(t, "./...") {
		if len(p.GoFiles) > 0 && p.Doc == "" {
			t.Errorf("%s has no package comment: add a doc.go that says what it is for, who calls it and what must never happen in it", p.inModule())
		}
	}
}

func TestBinariesLinkOnlyWhatTheyMay(t *testing.T) {
	for binary, forbidden := range binaries {
		t.Run(binary, func(t *testing.T) {
			deps := goList(t, "-deps", "./"+binary)
			if last := deps[len(deps)-1]; last.inModule() != binary || len(last.GoFiles) == 0 {
				t.Fatalf("there is no program %s", binary)
			}
			for _, p := range deps {
				for _, f := range forbidden {
					if strings.HasPrefix(p.ImportPath+"/", f) || p.ImportPath == strings.TrimSuffix(f, "/") {
						t.Errorf("links %s; find out why with: go mod why %[1]s", p.ImportPath)
					}
				}
				if r, ok := roomOf(p.inModule()); p.ImportPath == "testing" || ok && r.name == "workshop" {
					t.Errorf("links %s, which is for tests", p.ImportPath)
				}
			}
		})
	}
}

func TestPlanNamesItsRooms(t *testing.T) {
	var names []string
	for _, r := range house {
		for _, u := range r.uses {
			if !slices.Contains(names, u) {
				t.Errorf("%s uses %q, which is not a room below it", r.name, u)
			}
		}
		names = append(names, r.name)
	}
}

func TestPlanTellsClimbingFromGoingDown(t *testing.T) {
	for _, c := range []struct {
		from, to string
		may      bool
	}{
		{"internal/reconcile/application", "internal/docker", true},
		{"internal/docker/engine", "internal/reconcile/application", false},
		{"internal/store/sqlite", "internal/reconcile", true},
		{"internal/cli", "internal/api", false},
		{"internal/ingress/proxy", "internal/ingress/table", true},
		{"internal/ingress/proxy", "internal/store", true},
		{"internal/reconcile/ingress", "internal/ingress/proxy", false},
		{"cmd/berth", "internal/docker", false},
		{"internal/daemon", "test/load", false},
	} {
		from, ok1 := roomOf(c.from)
		to, ok2 := roomOf(c.to)
		if !ok1 || !ok2 {
			t.Fatalf("%s or %s is in no room", c.from, c.to)
		}
		if got := mayImport(from, to); got != c.may {
			t.Errorf("%s may import %s: %t; want %t", c.from, c.to, got, c.may)
		}
	}
}
