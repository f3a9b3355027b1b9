package backend_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/berth-cloud/berth/backend"
)

// successes are the statuses of success that are not 200.
var successes = map[string]int{"provision": 202, "restart": 202, "update": 202, "restore": 202, "domain": 204}

func TestAHostileAnswerIsAnErrorAndNoBusinessOfTheLease(t *testing.T) {
	nested := strings.Repeat(`{"a":`, 10_400) + "1" + strings.Repeat("}", 10_400)
	nines := strings.Repeat("9", 5000)
	bodies := map[string]string{
		"objects in objects":      nested,
		"lists in lists":          strings.Repeat("[", 60_000),
		"a list in lists of it":   `{"provisions":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}`,
		"integers beyond all":     `{"status":` + nines + `,"provision_id":` + nines + `,"provisions":[{"lease_uuid":"a","fail_count":` + nines + `}],"retentions":` + nines + `,"total_cpu_cores":1e999,"lease_uuid":1,"host":1}`,
		"two documents":           `{"status":"ok","provisions":[],"retentions":[]}{"provisions":[]}`,
		"something behind it":     `{"status":"ok","provisions":[],"retentions":[]}` + "\x00",
		"a list that breaks off":  `{"provisions":[{"lease_uuid":"a"}`,
		"half of a token":         `{"provisions":[],"continue":"a`,
		"no key":                  `{:1}`,
		"another kind of list":    `{"provisions":"a","retentions":{"a":1},"host":[],"status":[],"provision_id":{},"total_cpu_cores":"1"}`,
		"what is not JSON":        "\x1f\x8b\x08\x00garbage",
		"what looks like a page":  "<html>" + strings.Repeat("x", 3000),
		"NUL bytes":               strings.Repeat("\x00", 2000),
		"a comment":               `{/**/"provisions":[]}`,
		"numbers that are none":   `{"provisions":[{"lease_uuid":"a","quantity":NaN}],"total_cpu_cores":Infinity,"host":NaN,"status":NaN,"retentions":[NaN],"provision_id":-}`,
		"an unfinished character": `{"status":"\ud8`,
	}
	for op, do := range clientOps {
		for name, body := range bodies {
			for _, status := range []int{max(successes[op], 200), 400} {
				if status == 204 || status == 200 && op == "domain" {
					continue // has no body
				}
				err := do(t.Context(), clientTo(t, saysJSON(status, body)))
				if err == nil || status != 400 && !onlyIs(err, nil) || status == 400 && errors.Is(err, backend.ErrValidation) {
					t.Errorf("%s answered %d with %s is %v", op, status, name, err)
				} else if len(err.Error()) > 1024 {
					t.Errorf("%s answered with %s has an error of %d bytes", op, name, len(err.Error()))
				}
			}
		}
	}
}

func TestAListThatIsThereTwiceIsNone(t *testing.T) {
	one := `{"lease_uuid":"` + lease1 + `"}`
	for _, body := range []string{
		`{"provisions":[` + one + `],"provisions":[],"retentions":[` + one + `],"retentions":[]}`,
		`{"provisions":[],"provisions":[` + one + `],"retentions":[],"retentions":[` + one + `]}`,
		`{"provisions":[` + one + `],"Provisions":[],"provisions":null,"retentions":[` + one + `],"retentions":null}`,
		`{"provisions":[` + one + `],"retentions":[` + one + `],"continue":"` + lease1 + `","continue":""}`,
		`{"PROVISIONS":[],"Retentions":[]}`, // another name than that of the protocol
	} {
		for _, op := range []string{"list", "lookup", "retentions"} {
			if err := clientOps[op](t.Context(), clientTo(t, saysJSON(200, body))); !onlyIs(err, nil) {
				t.Errorf("%s answered %s is %v, want an error", op, body, err)
			}
		}
	}
	// What this version does not know may be anything, and as often as it likes.
	known := clientTo(t, saysJSON(200, `{"later":[{}],"later":1,"provisions":[`+one+`],"Continue":"x","z":{"provisions":[]}}`))
	if got, err := known.ListProvisions(t.Context()); err != nil || len(got) != 1 || got[0].LeaseUUID != lease1 {
		t.Errorf("the list is %v, %v", got, err)
	}
}

// A body of the bound may have millions of values of three bytes each.
func TestAnAnswerTakesMemoryInProportionToItsSize(t *testing.T) {
	pad := func(open, unit, shut string, size int) string {
		return open + strings.Repeat(unit+",", (size-len(open)-len(shut)-len(unit))/(len(unit)+1)) + unit + shut
	}
	const full = 1 << 20 // an eighth of the bounds that there are
	for name, c := range map[string]struct {
		op, body string
		refused  bool
	}{
		"leases without a name":    {"list", pad(`{"provisions":[`, "{}", "]}", full), true},
		"null leases":              {"list", pad(`{"provisions":[`, "null", "]}", full), true},
		"leases of a lookup":       {"lookup", pad(`{"provisions":[`, "{}", "]}", full), true},
		"leases with a short name": {"list", pad(`{"provisions":[`, `{"lease_uuid":"`+lease1+`"}`, "]}", full), false},
		"releases":                 {"releases", pad("[", "{}", "]", full), true},
		"what is not known":        {"list", pad(`{"later":[`, "{}", `],"provisions":[]}`, full), false},
		"logs":                     {"logs", pad("{", `"a":""`, "}", full), false},
	} {
		srv := clientTo(t, saysJSON(200, c.body))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := clientOps[c.op](t.Context(), srv)
		runtime.ReadMemStats(&after)
		if c.refused != (err != nil) || err != nil && !onlyIs(err, nil) {
			t.Errorf("%s: %v", name, err)
		}
		// All that was ever asked for, the body with its growth and the copy of the sender included.
		if got := after.TotalAlloc - before.TotalAlloc; got > 64<<20 {
			t.Errorf("%s: %d MiB were asked for of %d MiB", name, got>>20, len(c.body)>>20)
		}
	}
}

func TestAnAnswerOfAGibibyteIsTakenToItsBound(t *testing.T) {
	piece := []byte(strings.Repeat(" ", 64<<10))
	for _, status := range []int{200, 202, 204, 400, 404, 500} {
		for _, op := range []string{"info", "list", "logs", "provision", "health"} {
			var sent atomic.Int64
			c := clientTo(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(status)
				for sent.Load() < 1<<30 && r.Context().Err() == nil {
					n, err := w.Write(piece)
					sent.Add(int64(n))
					if err != nil {
						return
					}
				}
			})
			if err := clientOps[op](t.Context(), c); err == nil {
				t.Errorf("%s answered with %d and a gibibyte is taken", op, status)
			}
			if got := sent.Load(); got > 64<<20 { // of which buffers on the way have a part
				t.Errorf("%s, %d: %d bytes were taken", op, status, got)
			}
		}
	}
}

// drip writes text a byte at a time, until the other end is gone.
func drip(conn net.Conn, text string) {
	for i := 0; ; i++ {
		if _, err := conn.Write([]byte{text[i%len(text)]}); err != nil {
			return
		}
		<-time.After(time.Millisecond)
	}
}

func TestAnAnswerThatDripsEndsWithTheTimeout(t *testing.T) {
	const timeout = 100 * time.Millisecond
	for name, answer := range map[string]func(net.Conn){
		"no answer":      func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) },
		"in the status":  func(conn net.Conn) { drip(conn, "HTTP/1.1 200 O"+strings.Repeat("K", 1<<20)) },
		"in the headers": func(conn net.Conn) { _, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\n"); drip(conn, "X-A: b\r\n") },
		"in the body":    func(conn net.Conn) { _, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n"); drip(conn, " ") },
		"in chunks": func(conn net.Conn) {
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
			drip(conn, "1\r\n \r\n")
		},
		"in the trailer": func(conn net.Conn) {
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: A\r\n\r\n1\r\n \r\n0\r\n")
			drip(conn, "A: b\r\n")
		},
		"in a refusal":        func(conn net.Conn) { _, _ = io.WriteString(conn, "HTTP/1.1 400 Bad Request\r\n\r\n"); drip(conn, " ") },
		"in what comes first": func(conn net.Conn) { drip(conn, "HTTP/1.1 103 Early Hints\r\n\r\n") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				for {
					conn, err := ln.Accept()
					if err != nil {
						return
					}
					_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
					_, _ = conn.Read(make([]byte, 4<<10)) // the request
					answer(conn)
					conn.Close()
				}
			}()
			c := backend.NewHTTPClient(backend.HTTPClientConfig{Name: "b1", BaseURL: "http://" + ln.Addr().String(), Secret: clientSecret, Timeout: timeout})
			t.Cleanup(func() { c.Close(); ln.Close(); <-ended })
			began := time.Now()
			err = clientOps["info"](t.Context(), c)
			if !onlyIs(err, nil) {
				t.Errorf("the call is %v, want an error", err)
			}
			if name != "in what comes first" && name != "in the trailer" && !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the call is %v, want that its time was up", err)
			}
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("the call took %v", took)
			}
		})
	}
}

func TestABackendThatTakesNoRequestEndsWithTheTimeout(t *testing.T) {
	var ended atomic.Bool
	c := raw(t, func(conn net.Conn) { // it has read 4 KiB, and reads no more
		var one [1]byte
		for !ended.Load() {
			<-time.After(time.Millisecond)
		}
		_, _ = conn.Read(one[:])
	})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	err := c.Provision(ctx, backend.ProvisionRequest{LeaseUUID: lease1, Payload: make([]byte, 12<<20)})
	ended.Store(true)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the call is %v, want that its time was up", err)
	}
}

func TestAStatusThatIsNoneIsAnError(t *testing.T) {
	for _, head := range []string{
		"HTTP/1.1 99999 Huge\r\n\r\n{}", "HTTP/1.1 -200 OK\r\n\r\n{}", "HTTP/1.1 2 OK\r\n\r\n{}", "200 OK\r\n\r\n{}",
		"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n{}", "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n{}",
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}x", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n{}",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n{}", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n{}",
		"HTTP/1.1 200 OK\r\n: a\r\n\r\n{}", "HTTP/1.1 101 Switching Protocols\r\n\r\n{}",
		"HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{}", "HTTP/1.1 206 Partial Content\r\nContent-Length: 2\r\n\r\n{}", "HTTP/1.1 304 Not Modified\r\n\r\n",
		"HTTP/1.1 204 No Content\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n\x1f\x8b",
	} {
		c := raw(t, func(conn net.Conn) { _, _ = io.WriteString(conn, head) })
		for _, op := range []string{"stats", "info", "list"} {
			if err := clientOps[op](t.Context(), c); !onlyIs(err, nil) {
				t.Errorf("%s answered %q is %v, want an error", op, head, err)
			}
		}
	}
}

func TestTheWordsOfAHostileRefusalAreOneShortLine(t *testing.T) {
	evil := "\\r\\nlevel=ERROR\\u0000\\u001b[2J\\u202e\xff\xfe" + strings.Repeat("é", 1500)
	log, logger := logTo()
	c := clientTo(t, saysJSON(400, `{"error":"`+evil+`","validation_code":"`+evil[:15]+`"}`), func(cfg *backend.HTTPClientConfig) { cfg.Logger = logger })
	err := clientOps["provision"](t.Context(), c)
	if !onlyIs(err, backend.ErrValidation) || len(err.Error()) > 1024 || strings.ContainsAny(err.Error(), "\r\n\x00\x1b") {
		t.Errorf("the refusal is %q", err)
	}
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, "level=ERROR") }) || len(log.String()) > 4096 {
		t.Errorf("the log is %q", log.String())
	}
}

// Malformed answers open the breaker, refusals never do, whatever order they come in.
func TestAFloodOfHostileAnswersIsLeftAlone(t *testing.T) {
	var asked atomic.Int64
	c := clientTo(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		saysJSON(200, `{"provisions":[{}]}`)(w, r)
	})
	for range 100 {
		if err := clientOps["list"](t.Context(), c); err == nil {
			t.Fatal("it is taken")
		}
	}
	if asked.Load() != 5 {
		t.Errorf("it was asked %d times, want 5", asked.Load())
	}
}
