package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/hmacauth"
)

const (
	serverRounds = 11
	pageLeases   = 1000
	walkTo       = 10 * time.Second // no request takes longer
)

// measureServer asks our server and a bare handler that answers with the same bytes,
// in turns and with one processor for the server and for who asks.
func measureServer(ctx context.Context, _ options) ([]line, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var lines []line
	for _, r := range []struct {
		what, detail string
		batch        int
		requests     func(from, n int) [][]byte
	}{
		{"info", "", 2000, func(_, n int) [][]byte {
			return slices.Repeat([][]byte{signedRequest("GET", "/info/"+leaseID(1), nil)}, n)
		}},
		{"a page of 1000 leases", "; encoding them is nearly all of it", 20, func(_, n int) [][]byte {
			return slices.Repeat([][]byte{signedRequest("GET", "/provisions?limit="+strconv.Itoa(pageLeases), nil)}, n)
		}},
		{"provision on the mock", "", 2000, func(from, n int) [][]byte {
			all := make([][]byte, n)
			for i := range all {
				all[i] = signedRequest("POST", "/provision", provisionBody(from+i))
			}
			return all
		}},
	} {
		l, err := serverLine(ctx, r.what, r.detail, r.batch, r.requests)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.what, err)
		}
		lines = append(lines, l)
	}
	return lines, nil
}

func serverLine(ctx context.Context, what, detail string, size int, requests func(from, n int) [][]byte) (_ line, err error) {
	mock := backend.NewMockBackend(backend.MockBackendConfig{Name: "bench", ProvisionDelay: time.Hour})
	handler, err := signedServer(paged{fixed{mock}, mock, pageOf(pageLeases)})
	if err != nil {
		return line{}, err
	}
	first, err := oneAnswer(ctx, handler, requests(0, 1)[0])
	if err != nil {
		return line{}, err
	}
	var sides [2]*asker
	for i, h := range []http.Handler{handler, bare(first)} {
		s, err := serve(ctx, h)
		if err != nil {
			return line{}, err
		}
		defer s.stop()
		if sides[i], err = newAsker(ctx, s.address); err != nil {
			return line{}, err
		}
		defer func() { _ = sides[i].conn.Close() }()
	}
	var rates [2][]float64
	var ratios []float64
	for n := range serverRounds + 1 {
		var round [2]float64
		for turn := range sides {
			side := (turn + n) % 2
			all := requests(1+n*size, size)
			began := time.Now()
			for _, text := range all {
				if _, _, err := sides[side].ask(text); err != nil {
					return line{}, err
				}
			}
			round[side] = float64(size) / time.Since(began).Seconds()
		}
		if n == 0 {
			continue // memory is asked for
		}
		ratios = append(ratios, round[1]/round[0])
		for side, rate := range round {
			rates[side] = append(rates[side], rate)
		}
	}
	return line{
		What: "backend, requests per second of the server: " + what, Value: median(rates[0]), Format: "%.0f /s",
		Detail: fmt.Sprintf("a bare handler that answers with the same %d bytes: %.0f /s, %.2f × as many; %d rounds of %d requests in turns, one processor for both ends%s",
			len(first.body), median(rates[1]), median(ratios), serverRounds, size, detail),
	}, nil
}

// paged has a page of leases, and provisions on the mock.
type paged struct {
	fixed
	mock *backend.MockBackend
	page []backend.ProvisionInfo
}

func (p paged) Provision(ctx context.Context, req backend.ProvisionRequest) error {
	return p.mock.Provision(ctx, req)
}

// PageProvisions implements backend.ProvisionPager.
func (p paged) PageProvisions(context.Context, string, int) ([]backend.ProvisionInfo, string, error) {
	return p.page, p.page[len(p.page)-1].LeaseUUID, nil
}

func pageOf(n int) []backend.ProvisionInfo {
	all := make([]backend.ProvisionInfo, n)
	for i := range all {
		req := provisionOf(i)
		all[i] = backend.ProvisionInfo{
			LeaseUUID: req.LeaseUUID, ProviderUUID: req.ProviderUUID, Status: backend.ProvisionStatusReady, CreatedAt: time.Unix(1_767_225_600, 0).UTC(), Tenant: req.Tenant,
			Image: "docker.io/library/program:1", SKU: benchSKU, Quantity: 1, Items: req.Items, ServiceImages: map[string]string{"app": "docker.io/library/program:1"},
		}
	}
	return all
}

// signedRequest is one as it goes over the wire.
func signedRequest(method, target string, body []byte) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: bench\r\n%s: %s\r\n", method, target, hmacauth.Header, hmacauth.Sign(backendSecret, method, target, body, time.Now()))
	if body != nil {
		fmt.Fprintf(&b, "Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	}
	b.WriteString("\r\n")
	b.Write(body)
	return b.Bytes()
}

// answered is what a request came to.
type answered struct {
	status int
	body   []byte
}

func oneAnswer(ctx context.Context, h http.Handler, request []byte) (answered, error) {
	s, err := serve(ctx, h)
	if err != nil {
		return answered{}, err
	}
	defer s.stop()
	a, err := newAsker(ctx, s.address)
	if err != nil {
		return answered{}, err
	}
	defer func() { _ = a.conn.Close() }()
	status, body, err := a.ask(request)
	return answered{status, bytes.Clone(body)}, err
}

// bare reads what it is asked and answers with the same bytes to all.
func bare(a answered) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(a.body)))
		w.WriteHeader(a.status)
		_, _ = w.Write(a.body)
	})
}

// asker is a client that costs little: one connection, on which requests that were
// written before go out, and of the answer the length alone is looked at.
type asker struct {
	conn net.Conn
	in   *bufio.Reader
	body []byte
}

func newAsker(ctx context.Context, address string) (*asker, error) {
	conn, err := (&net.Dialer{Timeout: walkTo}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return &asker{conn: conn, in: bufio.NewReaderSize(conn, 64<<10)}, nil
}

var errOddAnswer = errors.New("the answer is not one of the server that is measured")

// ask returns a body that is good until the next request.
func (a *asker) ask(request []byte) (status int, body []byte, err error) {
	if err := a.conn.SetDeadline(time.Now().Add(walkTo)); err != nil {
		return 0, nil, err
	}
	if _, err := a.conn.Write(request); err != nil {
		return 0, nil, err
	}
	length := -1
	for {
		text, err := a.in.ReadSlice('\n')
		if err != nil {
			return 0, nil, err
		}
		text = bytes.TrimSpace(text)
		switch {
		case len(text) == 0 && (status < 200 || status > 299 || length < 0):
			return 0, nil, fmt.Errorf("%w: status %d, %d bytes", errOddAnswer, status, length)
		case len(text) == 0:
			a.body = slices.Grow(a.body[:0], length)[:length]
			_, err := io.ReadFull(a.in, a.body)
			return status, a.body, err
		case status == 0:
			_, err = fmt.Sscanf(string(text), "HTTP/1.1 %d", &status)
		case bytes.HasPrefix(text, []byte("Content-Length: ")):
			length, err = strconv.Atoi(string(text[len("Content-Length: "):]))
		}
		if err != nil {
			return 0, nil, fmt.Errorf("%w: %q", errOddAnswer, text)
		}
	}
}
