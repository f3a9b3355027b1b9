package engine

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"pgregory.net/rapid"

	"github.com/berth-cloud/berth/internal/docker"
)

const stampFormat = "2006-01-02T15:04:05.000000000Z07:00"

var stampBase = time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.UTC)

// frame is one log entry as an engine sends it.
func frame(stream byte, at time.Time, content string) []byte {
	payload := at.Format(stampFormat) + " " + content
	head := make([]byte, frameHeader)
	head[0] = stream
	binary.BigEndian.PutUint32(head[4:], uint32(len(payload)))
	return append(head, payload...)
}

// written splits a line into entries as an engine's log driver does.
func written(line string) []string {
	var entries []string
	line += "\n"
	for len(line) > entryLimit {
		entries = append(entries, line[:entryLimit])
		line = line[entryLimit:]
	}
	return append(entries, line)
}

func collect(t *testing.T, r io.Reader) []docker.LogLine {
	t.Helper()
	var out []docker.LogLine
	_, err := readLog(r, true, func(l entryLine) error {
		out = append(out, l.LogLine)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestLinesSurviveFramesAndReads(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		type said struct {
			stderr bool
			line   string
		}
		sizes := rapid.OneOf(rapid.IntRange(0, 40), rapid.IntRange(entryLimit-2, entryLimit+2),
			rapid.IntRange(docker.MaxLogLine-2, docker.MaxLogLine+2), rapid.Just(2*docker.MaxLogLine+5))
		var all []said
		var wire []byte
		var want []docker.LogLine
		for i := range rapid.IntRange(0, 6).Draw(rt, "lines") {
			size := sizes.Draw(rt, "size")
			s := said{rapid.Bool().Draw(rt, "stderr"), strings.Repeat(fmt.Sprint(i), size)}
			all = append(all, s)
			at := stampBase.Add(time.Duration(i) * time.Second)
			stream, name := byte(1), docker.Stdout
			if s.stderr {
				stream, name = 2, docker.Stderr
			}
			for _, e := range written(s.line) {
				wire = append(wire, frame(stream, at, e)...)
			}
			for rest := s.line; ; rest = rest[docker.MaxLogLine:] {
				if len(rest) <= docker.MaxLogLine {
					want = append(want, docker.LogLine{Time: at, Stream: name, Text: rest})
					break
				}
				want = append(want, docker.LogLine{Time: at, Stream: name, Text: rest[:docker.MaxLogLine], Partial: true})
			}
		}
		var r io.Reader = bytes.NewReader(wire)
		if rapid.Bool().Draw(rt, "torn") {
			r = iotest.HalfReader(r)
		}
		if got := collect(t, r); !slices.Equal(got, want) {
			rt.Fatalf("%d lines became %d: %v", len(all), len(got), shorten(got))
		}
	})
}

func shorten(lines []docker.LogLine) []string {
	var out []string
	for _, l := range lines {
		out = append(out, fmt.Sprintf("%s %d partial=%v %.10q", l.Stream, len(l.Text), l.Partial, l.Text))
	}
	return out
}

func TestTheLastWordsOfAProcessAreALine(t *testing.T) {
	wire := slices.Concat(frame(1, stampBase, "unfinished"), frame(1, stampBase.Add(time.Second), "next run\n"), frame(2, stampBase, "end"))
	got := collect(t, bytes.NewReader(wire))
	want := []docker.LogLine{
		{Time: stampBase, Stream: docker.Stdout, Text: "unfinished"},
		{Time: stampBase.Add(time.Second), Stream: docker.Stdout, Text: "next run"},
		{Time: stampBase, Stream: docker.Stderr, Text: "end"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}

func TestATerminalsLogHasNoFrames(t *testing.T) {
	stamp := func(seconds int) string {
		return stampBase.Add(time.Duration(seconds)*time.Second).Format(stampFormat) + " "
	}
	long := strings.Repeat("x", entryLimit)
	wire := stamp(0) + "first\r\n" + stamp(1) + "\r\n" + stamp(2) + long + stamp(3) + "rest 2026-01-01T00:00:00Z \r\n" + stamp(4) + "open"
	want := []docker.LogLine{
		{Time: stampBase, Stream: docker.Stdout, Text: "first"},
		{Time: stampBase.Add(time.Second), Stream: docker.Stdout, Text: ""},
		{Time: stampBase.Add(2 * time.Second), Stream: docker.Stdout, Text: long + "rest 2026-01-01T00:00:00Z "},
		{Time: stampBase.Add(4 * time.Second), Stream: docker.Stdout, Text: "open"},
	}
	for name, r := range map[string]io.Reader{
		"at once": strings.NewReader(wire), "byte by byte": iotest.OneByteReader(strings.NewReader(wire)),
	} {
		if got := collect(t, r); !slices.Equal(got, want) {
			t.Errorf("%s: got %v", name, shorten(got))
		}
	}
}

func TestContentWithoutATimestampIsKept(t *testing.T) {
	for _, content := range []string{"no stamp here\n", "\n", strings.Repeat("y", 100) + "\n", "tail"} {
		head := make([]byte, frameHeader)
		head[0] = 1
		binary.BigEndian.PutUint32(head[4:], uint32(len(content)))
		got := collect(t, bytes.NewReader(append(head, content...)))
		if len(got) != 1 || got[0].Text != strings.TrimSuffix(content, "\n") {
			t.Errorf("%q became %v", content, got)
		}
	}
}

func TestALineIsCutBetweenCharacters(t *testing.T) {
	line := strings.Repeat("x", docker.MaxLogLine-1) + "é" + "z"
	var wire []byte
	for _, e := range written(line) {
		wire = append(wire, frame(1, stampBase, e)...)
	}
	got := collect(t, bytes.NewReader(wire))
	if len(got) != 2 || !got[0].Partial || len(got[0].Text) != docker.MaxLogLine-1 || got[1].Text != "éz" || got[1].Partial {
		t.Errorf("got %v", shorten(got))
	}
}

func TestABrokenLogIsAnError(t *testing.T) {
	whole := frame(1, stampBase, "line\n")
	systemError := frame(3, stampBase, "disk gone")
	for name, wire := range map[string][]byte{
		"inside a header":   append(slices.Clone(whole), whole[:3]...),
		"inside a frame":    append(slices.Clone(whole), whole[:20]...),
		"a system error":    append(slices.Clone(whole), systemError...),
		"an unknown stream": append(slices.Clone(whole), 9, 0, 0, 0, 0, 0, 0, 0),
	} {
		n := 0
		_, err := readLog(bytes.NewReader(wire), true, func(entryLine) error { n++; return nil })
		if err == nil || n != 1 {
			t.Errorf("%s: %d lines, error %v", name, n, err)
		}
	}
}

func TestTheReceiverEndsALog(t *testing.T) {
	enough := errors.New("enough")
	wire := slices.Concat(frame(1, stampBase, "a\n"), frame(1, stampBase, "b\n"))
	_, err := readLog(bytes.NewReader(wire), true, func(entryLine) error { return enough })
	if !errors.Is(err, enough) {
		t.Errorf("got %v", err)
	}
}

func FuzzReadLog(f *testing.F) {
	f.Add(frame(1, stampBase, "line\n"))
	f.Add([]byte(stampBase.Format(stampFormat) + " raw\r\n"))
	f.Add([]byte{1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 'x'})
	f.Fuzz(func(t *testing.T, wire []byte) {
		_, _ = readLog(bytes.NewReader(wire), true, func(l entryLine) error {
			if len(l.Text) > docker.MaxLogLine {
				t.Errorf("a line of %d bytes", len(l.Text))
			}
			return nil
		})
	})
}
