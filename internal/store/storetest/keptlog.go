package storetest

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/berth-cloud/berth/internal/store"
)

func keptLogTests() []test {
	return []test{
		{"IsListedNewestFirst", keptLogList},
		{"SavedAgainIsReplaced", keptLogAgain},
		{"NextRunUnderTheSameNameIsAnother", keptLogSameName},
		{"LongTextKeepsItsLastWholeLines", keptLogLong},
		{"NumberPerServiceIsBounded", keptLogMany},
	}
}

func keptLog(container string, removed int) store.KeptLog {
	return store.KeptLog{Container: container, Service: "shop-web", ReleaseID: "shop-web-v1",
		Started: at(removed - 10), RemovedAt: at(removed), Lines: []byte("{}\n")}
}

func (e *env) keptLogs(service string, limit int) []store.KeptLog {
	e.Helper()
	return must[[]store.KeptLog](e)(e.s.ListKeptLogs(e.ctx, service, limit))
}

func keptLogList(e *env) {
	for _, i := range []int{20, 40, 10, 30} {
		e.ok(e.s.SaveKeptLog(e.ctx, keptLog(fmt.Sprint("c", i), i)))
	}
	other := keptLog("other", 99)
	other.Service = "shop-api"
	e.ok(e.s.SaveKeptLog(e.ctx, other))
	for limit, want := range map[int]string{0: "c40 c30 c20 c10", 2: "c40 c30", 9: "c40 c30 c20 c10"} {
		var got []string
		for _, l := range e.keptLogs("shop-web", limit) {
			got = append(got, l.Container)
		}
		same(e, fmt.Sprint("at most ", limit), strings.Join(got, " "), want)
	}
}

func keptLogAgain(e *env) {
	l := keptLog("c", 20)
	e.ok(e.s.SaveKeptLog(e.ctx, l))
	l.Lines, l.RemovedAt = []byte("{\"n\":2}\n"), at(21)
	e.ok(e.s.SaveKeptLog(e.ctx, l))
	e.ok(e.s.SaveKeptLog(e.ctx, store.KeptLog{Container: "n", Service: "shop-web"}))
	e.ok(e.s.SaveKeptLog(e.ctx, store.KeptLog{Container: "n", Service: "shop-web"}))
	got := e.keptLogs("shop-web", 0)
	same(e, "logs", len(got), 2)
	same(e, "start of one that never started", got[0].Started.IsZero(), true)
	same(e, "removal without a time", got[0].RemovedAt.IsZero(), false)
	same(e, "lines", string(got[1].Lines), "{\"n\":2}\n")
}

func keptLogSameName(e *env) {
	e.ok(e.s.SaveKeptLog(e.ctx, keptLog("c", 20)))
	e.ok(e.s.SaveKeptLog(e.ctx, keptLog("c", 30)))
	same(e, "logs", len(e.keptLogs("shop-web", 0)), 2)
}

func keptLogLong(e *env) {
	line := append(bytes.Repeat([]byte("x"), 999), '\n')
	for name, text := range map[string][]byte{
		"cut within a line":   bytes.Repeat(line, store.MaxKeptLogBytes/len(line)+20),
		"cut between lines":   append(bytes.Repeat([]byte("y\n"), 50), bytes.Repeat([]byte("z\n"), store.MaxKeptLogBytes/2)...),
		"just within":         bytes.Repeat([]byte("z\n"), store.MaxKeptLogBytes/2),
		"one line, too long":  append(bytes.Repeat([]byte("x"), store.MaxKeptLogBytes+5), '\n'),
		"no end of line, too": bytes.Repeat([]byte("x"), store.MaxKeptLogBytes+5),
	} {
		l := keptLog(name, 20)
		l.Service, l.Lines = name, text
		e.ok(e.s.SaveKeptLog(e.ctx, l))
		got := e.keptLogs(name, 0)[0].Lines
		if len(got) > store.MaxKeptLogBytes || !bytes.HasSuffix(text, got) {
			e.Errorf("%s: %d bytes are kept, or not the last", name, len(got))
		}
		before := text[:len(text)-len(got)]
		if len(before) > 0 && len(got) > 0 && before[len(before)-1] != '\n' {
			e.Errorf("%s: what is kept begins within a line", name)
		}
		if fits := strings.HasPrefix(name, "cut") || name == "just within"; fits && len(got) < store.MaxKeptLogBytes-len(line) {
			e.Errorf("%s: only %d bytes are kept", name, len(got))
		}
	}
}

func keptLogMany(e *env) {
	other := keptLog("other", 1)
	other.Service = "shop-api"
	e.ok(e.s.SaveKeptLog(e.ctx, other))
	for i := range store.MaxKeptLogs + 5 {
		e.ok(e.s.SaveKeptLog(e.ctx, keptLog(fmt.Sprint("c", i), i)))
	}
	got := e.keptLogs("shop-web", 0)
	same(e, "logs", len(got), store.MaxKeptLogs)
	same(e, "newest", got[0].Container, fmt.Sprint("c", store.MaxKeptLogs+4))
	same(e, "oldest", got[len(got)-1].Container, "c5")
	same(e, "logs of the other service", len(e.keptLogs("shop-api", 0)), 1)
}
