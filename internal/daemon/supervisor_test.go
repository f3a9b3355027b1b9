package daemon

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-cloud/berth/internal/ingress/table"
)

func serving(h table.Hello, _ string) bool { return h.PID != 0 }

func TestADataPlaneIsStartedAndOutlivesItsSupervisor(t *testing.T) {
	n := newNode(t, "serves", "one")
	end := n.supervise()
	h := n.await("a data plane", serving)
	end()
	if !alive(h.PID) {
		t.Error("the data plane ended with its supervisor")
	}
	dir := n.cfg.ingressDir()
	want := fmt.Sprintf("ingress --dir %s --control %s --http :80,127.0.0.1:8080", dir, filepath.Join(dir, "control.sock"))
	if got := n.startedWith(); !strings.HasSuffix(got, want) {
		t.Errorf("started with %s, want %s", got, want)
	}
}

func TestADataPlaneThatRunsIsTakenOverAsItIs(t *testing.T) {
	n := newNode(t, "serves", "one")
	if err := n.start(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	before, err := n.answer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	end := n.supervise()
	h := n.await("the one that runs", serving)
	end()
	if h.PID != before.PID {
		t.Errorf("process %d serves, %d did before", h.PID, before.PID)
	}
}

func TestADataPlaneThatIsLostIsStartedAgain(t *testing.T) {
	n := newNode(t, "serves", "one")
	end := n.supervise()
	defer end()
	first := n.await("a data plane", serving)
	n.end(first.PID)
	n.lost <- struct{}{}
	n.await("another one", func(h table.Hello, _ string) bool { return h.PID != 0 && h.PID != first.PID })
}

func TestADataPlaneOfAnotherBuildIsReplacedByTheInstalledOne(t *testing.T) {
	n := newNode(t, "serves", "one")
	if err := n.start(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	old, err := n.answer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.end(old.PID) })
	t.Setenv(fakeBuild, "two") // of the program on disk, from now on
	end := n.supervise()
	defer end()
	n.await("the installed build", func(h table.Hello, _ string) bool { return h.Build == "two" })
	if got := n.startedWith(); !strings.HasSuffix(got, " --take-over") {
		t.Errorf("the successor was started with %s", got)
	}
	if !alive(old.PID) {
		t.Error("the one before was ended by us; it drains and ends by itself")
	}
}

func TestADataPlaneThatEndsAtOnceIsReportedWithItsLastWords(t *testing.T) {
	n := newNode(t, "fails", "one")
	end := n.supervise()
	defer end()
	n.await("a report", func(_ table.Hello, trouble string) bool {
		return strings.Contains(trouble, "ended at once (exit status 1): listen on :80: address already in use") &&
			strings.Contains(trouble, "give --ingress-http another")
	})
}

func TestAnExternalDataPlaneIsNeverStarted(t *testing.T) {
	n := newNode(t, "serves", "one")
	n.cfg.ExternalIngress = true
	end := n.supervise()
	n.await("a report", func(_ table.Hello, trouble string) bool { return strings.Contains(trouble, "it is not ours to start") })
	end()
	n.expectNoneStarted()
}

func TestADataPlaneOfAnotherProtocolIsLeftAlone(t *testing.T) {
	n := newNode(t, "serves", "one")
	n.refer = fmt.Errorf("%w: it speaks 9", table.ErrProtocol)
	end := n.supervise()
	n.await("a report", func(_ table.Hello, trouble string) bool { return strings.Contains(trouble, "it speaks 9") })
	end()
	n.expectNoneStarted()
}

// expectNoneStarted looks for the log that every start opens.
func (n *node) expectNoneStarted() {
	n.t.Helper()
	if _, err := os.Stat(filepath.Join(n.cfg.ingressDir(), "ingress.log")); !errors.Is(err, fs.ErrNotExist) {
		n.t.Errorf("a data plane was started: %v", err)
	}
}

func TestOnlyTheEndOfALongLogIsQuoted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, []byte("earlier\n"+strings.Repeat("x", 2*troubleBytes)+" the end\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	switch got := since(path, int64(len("earlier\n"))); {
	case len(got) > troubleBytes, !strings.HasSuffix(got, "the end"), strings.Contains(got, "earlier"):
		t.Errorf("quoted %d bytes: %s", len(got), got)
	}
	if got := since(filepath.Join(t.TempDir(), "none"), 0); !strings.Contains(got, "no such file") {
		t.Errorf("of no log: %q", got)
	}
}
