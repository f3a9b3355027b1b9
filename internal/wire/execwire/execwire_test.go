package execwire_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"pgregory.net/rapid"

	"github.com/berth-cloud/berth/internal/wire/execwire"
)

func TestFramesComeBackAsTheyWere(t *testing.T) {
	for _, f := range []execwire.Frame{
		{Kind: execwire.Stdin, Data: []byte("abc")}, {Kind: execwire.StdinEnd}, {Kind: execwire.Stdout, Data: make([]byte, execwire.MaxData)},
		execwire.ResizeFrame(300, 65535), execwire.CreditFrame(execwire.Window),
	} {
		got, err := execwire.Parse(f.Encode())
		if err != nil || got.Kind != f.Kind || !bytes.Equal(got.Data, f.Data) {
			t.Errorf("%q: %v, %v", f.Kind, got.Kind, err)
		}
	}
	if w, h := execwire.ResizeFrame(300, 65535).Size(); w != 300 || h != 65535 {
		t.Errorf("size %dx%d", w, h)
	}
	f, err := execwire.JSONFrame(execwire.Exit, execwire.ExitReport{Code: 7})
	var report execwire.ExitReport
	if err != nil || f.Decode(&report) != nil || report.Code != 7 {
		t.Errorf("report %+v, %v", report, err)
	}
}

func TestWhatIsNoFrameIsRefused(t *testing.T) {
	for name, message := range map[string][]byte{
		"empty":    {},
		"unknown":  []byte("?"),
		"credit":   []byte("c123"),
		"resize":   []byte("w12345"),
		"data":     append([]byte("o"), make([]byte, execwire.MaxData+1)...),
		"too long": append([]byte("S"), make([]byte, execwire.MaxMessage)...),
	} {
		if _, err := execwire.Parse(message); !errors.Is(err, execwire.ErrProtocol) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := (execwire.Frame{Kind: execwire.Exit, Data: []byte("{")}).Decode(&execwire.ExitReport{}); !errors.Is(err, execwire.ErrProtocol) {
		t.Errorf("bad JSON: %v", err)
	}
}

// What one side may send is what the other has room for, in any order of
// sending, taking and granting; and what comes out is what went in.
func TestTheAllowanceOfOneSideIsTheRoomOfTheOther(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		allowed, inbox := execwire.NewAllowance(), execwire.NewInbox()
		var sent, got []byte
		owed := 0 // taken, and not granted yet
		t.Repeat(map[string]func(*rapid.T){
			"send": func(t *rapid.T) {
				want := rapid.IntRange(1, execwire.MaxData).Draw(t, "bytes")
				if len(sent)-len(got)+owed == execwire.Window {
					t.Skip("no room")
				}
				n, err := allowed.Take(ctx, want)
				if err != nil || n < 1 || n > want {
					t.Fatalf("%d of %d: %v", n, want, err)
				}
				kind := rapid.SampledFrom([]execwire.Kind{execwire.Stdout, execwire.Stderr}).Draw(t, "kind")
				data := bytes.Repeat([]byte{byte(len(sent))}, n)
				if err := inbox.Put(execwire.Frame{Kind: kind, Data: data}); err != nil {
					t.Fatalf("what was allowed has no room: %v", err)
				}
				sent = append(sent, data...)
			},
			"take": func(t *rapid.T) {
				if len(got) == len(sent) {
					t.Skip("nothing is there")
				}
				f, err := inbox.Next(ctx)
				if err != nil || len(f.Data) > execwire.MaxData {
					t.Fatalf("%d bytes: %v", len(f.Data), err)
				}
				got = append(got, f.Data...)
				owed += len(f.Data)
			},
			"grant": func(t *rapid.T) {
				n := rapid.IntRange(0, owed).Draw(t, "bytes")
				if err := allowed.Grant(n); err != nil {
					t.Fatal(err)
				}
				owed -= n
			},
			"": func(t *rapid.T) {
				if !bytes.HasPrefix(sent, got) {
					t.Fatal("what came out is not what went in")
				}
				if err := allowed.Grant(len(sent) - len(got) + owed + 1); !errors.Is(err, execwire.ErrProtocol) {
					t.Fatalf("more credit than data: %v", err)
				}
			},
		})
	})
}

func TestAFullInboxRefusesWhatWasNotAllowed(t *testing.T) {
	inbox := execwire.NewInbox()
	for range execwire.Window / execwire.MaxData {
		if err := inbox.Put(execwire.Frame{Kind: execwire.Stdin, Data: make([]byte, execwire.MaxData)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := inbox.Put(execwire.Frame{Kind: execwire.Stdin, Data: []byte("x")}); !errors.Is(err, execwire.ErrProtocol) {
		t.Errorf("got %v", err)
	}
	inbox.End()
	if err := inbox.Put(execwire.Frame{Kind: execwire.Stdin}); !errors.Is(err, execwire.ErrProtocol) {
		t.Errorf("after the end: %v", err)
	}
}

func TestAReaderSeesAllDataThenTheEnd(t *testing.T) {
	inbox := execwire.NewInbox()
	taken := 0
	for _, part := range []string{"one ", "two ", "three"} {
		if err := inbox.Put(execwire.Frame{Kind: execwire.Stdin, Data: []byte(part)}); err != nil {
			t.Fatal(err)
		}
	}
	inbox.End()
	got, err := io.ReadAll(inbox.Reader(t.Context(), func(n int) { taken += n }))
	if err != nil || string(got) != "one two three" || taken != len(got) {
		t.Errorf("%q, %d taken, %v", got, taken, err)
	}
}

func TestWaitsEndWithTheirContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	allowed, inbox := execwire.NewAllowance(), execwire.NewInbox()
	if n, err := allowed.Take(ctx, execwire.Window); n != execwire.Window || err != nil {
		t.Fatal(n, err)
	}
	cancel()
	if _, err := allowed.Take(ctx, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("take: %v", err)
	}
	if _, err := inbox.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("next: %v", err)
	}
	if _, err := inbox.Reader(ctx, nil).Read(make([]byte, 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("read: %v", err)
	}
}
