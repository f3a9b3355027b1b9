package daemon

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestWhoIsGoneIsSaidOnceAndWhoIsBackToo(t *testing.T) {
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	p := NewPresence(func(_ context.Context, err error) { logger.Warn("he is gone", "error", err) }, func(context.Context) { logger.Info("he is back") })
	said := func(gone, back int) {
		t.Helper()
		if g, b := strings.Count(log.String(), "level=WARN msg=\"he is gone\""), strings.Count(log.String(), "level=INFO msg=\"he is back\""); g != gone || b != back {
			t.Errorf("said %d and %d times:\n%s", g, b, log.String())
		}
	}
	why := errors.New("the line is dead")
	for range 3 {
		p.Gone(t.Context(), why)
	}
	if said(1, 0); !errors.Is(p.Absent(), why) || !strings.Contains(log.String(), why.Error()) {
		t.Errorf("%v; %s", p.Absent(), log.String())
	}
	for range 3 {
		p.There(t.Context())
	}
	if said(1, 1); p.Absent() != nil {
		t.Errorf("%v", p.Absent())
	}
	p.Gone(t.Context(), why)
	said(2, 1)
	p.There(t.Context())
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	p.Gone(ended, why)
	if said(2, 2); p.Absent() != nil {
		t.Errorf("of a caller who ended: %v", p.Absent())
	}
}

func TestWhoNeverAnswersIsGoneAfterAWhile(t *testing.T) {
	for name, answers := range map[string]bool{"mute": false, "there": true} {
		synctest.Test(t, func(t *testing.T) {
			p := NewPresence(func(context.Context, error) {}, func(context.Context) {})
			if answers {
				p.There(t.Context())
			}
			p.Expect(t.Context(), time.Second, errors.New("no answer"))
			if (p.Absent() == nil) != answers {
				t.Errorf("%s: %v", name, p.Absent())
			}
		})
	}
}
