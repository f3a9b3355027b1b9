package logstream

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/store"
	"github.com/berth-cloud/berth/provider"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestLinesThatAreNoTextAreReplacedAndCut(t *testing.T) {
	bad := strings.Repeat("\xff", provider.MaxLogLine)
	buf, err := appendLine(nil, line{LogLine: docker.LogLine{Stream: docker.Stdout, Text: bad}, Origin: Origin{Service: "web"}})
	if err != nil {
		t.Fatal(err)
	}
	var whole strings.Builder
	var pieces []provider.LogLine
	for l, err := range provider.DecodeLogs(bytes.NewReader(buf)) {
		if err != nil {
			t.Fatal(err)
		}
		pieces = append(pieces, l)
		whole.WriteString(l.Line)
	}
	if whole.String() != strings.Repeat("�", provider.MaxLogLine) || len(pieces) != 4 {
		t.Errorf("%d pieces of %d bytes", len(pieces), whole.Len())
	}
	for i, p := range pieces {
		if p.Partial == (i == len(pieces)-1) || len(p.Line) > provider.MaxLogLine {
			t.Errorf("piece %d of %d bytes is partial: %t", i, len(p.Line), p.Partial)
		}
	}
}

// fake is an engine with some logs.
type fake struct {
	logs map[string][]docker.LogLine
	err  error
}

func (f fake) List(context.Context, map[string]string) ([]docker.ContainerState, error) {
	var out []docker.ContainerState
	for name := range f.logs {
		out = append(out, docker.ContainerState{ID: name, Name: name, Created: at(0)})
	}
	return out, f.err
}

func (f fake) Logs(_ context.Context, name string, _ docker.LogOptions, fn func(docker.LogLine) error) error {
	for _, l := range f.logs[name] {
		if err := fn(l); err != nil {
			return err
		}
	}
	return nil
}

func (f fake) Events(ctx context.Context, _ map[string]string, ready func(), _ func(docker.Event)) error {
	ready()
	<-ctx.Done()
	return ctx.Err()
}

func at(seconds int) time.Time { return time.Unix(int64(1000+seconds), 0).UTC() }

func query() Query {
	return Query{
		Origin:     func(name string, _ map[string]string) (Origin, bool) { return Origin{Service: name}, true },
		KeptOrigin: func(l store.KeptLog) (Origin, bool) { return Origin{Service: l.Container}, true },
		Logger:     slog.New(slog.DiscardHandler),
	}
}

func TestLinesOfAllContainersComeInTheOrderOfTime(t *testing.T) {
	text := func(second int, s string) docker.LogLine {
		return docker.LogLine{Time: at(second), Stream: docker.Stdout, Text: s}
	}
	rt := fake{logs: map[string][]docker.LogLine{"a": {text(1, "1"), text(4, "4")}, "b": {text(2, "2"), text(3, "3")}}}
	q := query()
	q.Kept = func(context.Context, []docker.ContainerState) ([]store.KeptLog, error) {
		return []store.KeptLog{
			{Container: "gone", Started: at(-9), Lines: []byte(`{"Time":"1970-01-01T00:16:30Z","Stream":"stdout","Text":"0"}` + "\nno line\n")},
			{Container: "a", Started: at(1), Lines: []byte(`{"Time":"1970-01-01T00:16:31Z","Stream":"stdout","Text":"twice"}` + "\n")},
		}, nil
	}
	s := Open(t.Context(), rt, q)
	defer s.Close()
	var got []string
	for l, err := range provider.DecodeLogs(s) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, l.Line)
	}
	if strings.Join(got, "") != "01234" {
		t.Errorf("got %q", got)
	}
}

func TestReaderThatLeavesEndsTheStream(t *testing.T) {
	rt := fake{logs: map[string][]docker.LogLine{"a": make([]docker.LogLine, 5000)}}
	q := query()
	q.Follow = true
	s := Open(t.Context(), rt, q)
	if _, err := s.Read(make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Read(make([]byte, 10)); err == nil {
		t.Error("it can be read after Close")
	}
}

func TestEngineThatFailsIsSaid(t *testing.T) {
	s := Open(t.Context(), fake{err: docker.ErrUnavailable}, query())
	defer s.Close()
	if _, err := io.ReadAll(s); !errors.Is(err, docker.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
}
