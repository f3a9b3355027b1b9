package engine

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
)

// fakeEngine answers pings and hands everything else to h.
func fakeEngine(t *testing.T, api string, h http.HandlerFunc) *Client {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/_ping" {
			w.Header().Set("Api-Version", api)
			return
		}
		h(w, r)
	}))
	t.Cleanup(srv.Close)
	c, err := New(Options{Host: "tcp://" + srv.Listener.Addr().String(), CallTimeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func refuse(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"message": message})
}

const leftID = "3c6072d6a82f04808360374e54f518f495589ee10edd89dc18899ac53ace02cb"

func TestTheEnginesWordsBecomeSentinels(t *testing.T) {
	for _, tc := range []struct {
		status  int
		message string
		want    error
	}{
		{500, "driver failed programming external connectivity on endpoint a (b): Bind for 127.0.0.1:80 failed: port is already allocated", docker.ErrPortInUse},
		{500, "driver failed programming external connectivity on endpoint a (b): Error starting userland proxy: listen tcp4 127.0.0.1:80: bind: address already in use", docker.ErrPortInUse},
		{500, "failed to set up container networking: driver failed programming external connectivity on endpoint a: failed to bind host port 127.0.0.1:80/tcp: address already in use", docker.ErrPortInUse},
		{403, "Address already in use", docker.ErrAddressInUse},
		{500, "failed to set up container networking: Address already in use", docker.ErrAddressInUse},
		{404, "No such image: nope:latest", docker.ErrImageNotFound},
		{404, "No such container: nope", docker.ErrNotFound},
		{404, "network nope not found", docker.ErrNotFound},
		{409, "can not get logs from container which is dead or marked for removal", docker.ErrNotFound},
		{404, "No such container: unauthorized", docker.ErrNotFound},
		{403, "Pool overlaps with other one on this address space", docker.ErrSubnetOverlap},
		{400, "invalid pool request: Pool overlaps with other one on this address space", docker.ErrSubnetOverlap},
		{409, "network with name x already exists", docker.ErrConflict},
		{403, "error while removing network: network x id y has active endpoints", docker.ErrConflict},
		{409, "Conflict. The container name \"/x\" is already in use by container \"y\"", docker.ErrConflict},
		{409, "remove x: volume is in use - [y]", docker.ErrConflict},
		{409, "task " + leftID + ": already exists", docker.ErrWedged},
		{409, "container \"" + leftID + "\": already exists", docker.ErrWedged},
		{500, "id already in use", docker.ErrWedged},
		{500, "OCI runtime create failed: container with id exists: container with given id already exists: unknown", docker.ErrWedged},
		{400, "invalid reference format", docker.ErrInvalid},
		{503, "starting up", docker.ErrUnavailable},
	} {
		c := fakeEngine(t, "1.41", func(w http.ResponseWriter, _ *http.Request) { refuse(w, tc.status, tc.message) })
		err := c.Start(t.Context(), "web")
		if !errors.Is(err, tc.want) {
			t.Errorf("%d %q: got %v, want %v", tc.status, tc.message, err, tc.want)
		}
		if err == nil || !strings.HasPrefix(err.Error(), "start container web: ") || !strings.Contains(err.Error(), tc.message) {
			t.Errorf("%q: the error does not say what was tried and why it failed: %v", tc.message, err)
		}
	}
}

func TestTheRegistrysWordsBecomeSentinels(t *testing.T) {
	for _, tc := range []struct {
		status  int
		message string
		want    error
	}{
		{404, "pull access denied for nope, repository does not exist or may require 'docker login': denied: requested access to the resource is denied", docker.ErrImageNotFound},
		{500, "Head \"http://127.0.0.1/v2/x/manifests/1\": no basic auth credentials", docker.ErrUnauthorized},
		{500, "Get \"http://127.0.0.1/v2/\": unauthorized: authentication required", docker.ErrUnauthorized},
		{404, "manifest for 127.0.0.1/x:2 not found: manifest unknown: manifest unknown", docker.ErrImageNotFound},
		{404, "some words for a missing image", docker.ErrImageNotFound},
		{500, "error pulling image: denied: access forbidden", docker.ErrUnauthorized},
	} {
		c := fakeEngine(t, "1.41", func(w http.ResponseWriter, _ *http.Request) { refuse(w, tc.status, tc.message) })
		if err := c.Pull(t.Context(), "127.0.0.1/x:2", nil, nil); !errors.Is(err, tc.want) {
			t.Errorf("%d %q: got %v, want %v", tc.status, tc.message, err, tc.want)
		}
	}
}

func TestARegistryThatIsDownIsNotAnEngineThatIsDown(t *testing.T) {
	c := fakeEngine(t, "1.41", func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, 500, "Get \"http://127.0.0.1:1/v2/\": dial tcp 127.0.0.1:1: connect: connection refused")
	})
	if err := c.Pull(t.Context(), "127.0.0.1:1/x", nil, nil); err == nil || errors.Is(err, docker.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
	busy := fakeEngine(t, "1.41", func(w http.ResponseWriter, _ *http.Request) { refuse(w, 503, "unavailable: service not available") })
	if err := busy.Pull(t.Context(), "127.0.0.1:1/x", nil, nil); err == nil || errors.Is(err, docker.ErrUnavailable) {
		t.Errorf("a registry that is overloaded: %v", err)
	}
	if err := c.Pull(t.Context(), "Not A Reference", nil, nil); !errors.Is(err, docker.ErrInvalid) {
		t.Errorf("no reference: %v", err)
	}
}

func TestAnEngineThatIsDownIsUnavailable(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	for name, host := range map[string]string{
		"no socket":       filepath.Join(t.TempDir(), "none.sock"),
		"nobody listens":  "tcp://" + closed.Addr().String(),
		"no such machine": "tcp://engine.invalid:1",
	} {
		c, err := New(Options{Host: host})
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Info(t.Context())
		if !docker.IsUnavailable(err) || !strings.Contains(err.Error(), strings.TrimPrefix(host, "tcp://")) {
			t.Errorf("%s: got %v", name, err)
		}
		if n := strings.Count(err.Error(), strings.TrimPrefix(host, "tcp://")); n > 2 {
			t.Errorf("%s: names the address %d times: %v", host, n, err)
		}
		c.Close()
	}
}

func TestAnEngineThatHangsIsUnavailable(t *testing.T) {
	c := fakeEngine(t, "1.41", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	c.callTimeout = 50 * time.Millisecond
	_, err := c.List(t.Context(), nil)
	if !docker.IsUnavailable(err) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestAStreamThatDoesNotBeginIsUnavailable(t *testing.T) {
	c := fakeEngine(t, "1.41", func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/info") {
			_, _ = w.Write([]byte(`{"SystemTime":"2026-03-01T12:00:00Z"}`))
			return
		}
		<-r.Context().Done()
	})
	c.callTimeout = 50 * time.Millisecond
	if err := c.Logs(t.Context(), "web", docker.LogOptions{Follow: true}, nil); !docker.IsUnavailable(err) {
		t.Errorf("logs: %v", err)
	}
	if err := c.Events(t.Context(), nil, func() { t.Error("ready") }, nil); !docker.IsUnavailable(err) {
		t.Errorf("events: %v", err)
	}
}

func TestAnOpenStreamMayStaySilent(t *testing.T) {
	c := fakeEngine(t, "1.41", func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/info") {
			_, _ = w.Write([]byte(`{"SystemTime":"2026-03-01T12:00:00Z"}`))
			return
		}
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	c.callTimeout = 50 * time.Millisecond
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	ready := false
	err := c.Events(ctx, nil, func() { ready = true }, nil)
	if !ready || !errors.Is(err, context.DeadlineExceeded) || docker.IsUnavailable(err) {
		t.Errorf("ready %v, %v", ready, err)
	}
}

func TestEventsSayWhyTheyEnd(t *testing.T) {
	for name, h := range map[string]http.HandlerFunc{
		"the stream ends": func(w http.ResponseWriter, _ *http.Request) { w.(http.Flusher).Flush() },
		"the engine dies": func(w http.ResponseWriter, _ *http.Request) {
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		},
		"it is refused": func(w http.ResponseWriter, _ *http.Request) { refuse(w, 503, "shutting down") },
	} {
		c := fakeEngine(t, "1.41", func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/info") {
				_, _ = w.Write([]byte(`{"SystemTime":"2026-03-01T12:00:00Z"}`))
				return
			}
			h(w, r)
		})
		ready := false
		err := c.Events(t.Context(), nil, func() { ready = true }, nil)
		if !docker.IsUnavailable(err) || ready == (name == "it is refused") {
			t.Errorf("%s: ready %v, %v", name, ready, err)
		}
	}
}

func TestListingsCostAFixedNumberOfCalls(t *testing.T) {
	calls := 0
	c := fakeEngine(t, "1.41", func(w http.ResponseWriter, r *http.Request) {
		calls++
		one := `{"Id":"a","Names":["/a"],"NetworkSettings":{"Networks":{"n":{"NetworkID":"n","IPAddress":"10.0.0.2"}}}}`
		if strings.HasSuffix(r.URL.Path, "/networks") {
			one = `{"Id":"n","Name":"n"}`
		}
		_, _ = w.Write([]byte("[" + strings.Repeat(one+",", 99) + one + "]"))
	})
	if states, err := c.List(t.Context(), nil); err != nil || len(states) != 100 || calls != 1 {
		t.Errorf("%d containers in %d calls, %v", len(states), calls, err)
	}
	calls = 0
	if nets, err := c.ListNetworks(t.Context(), nil); err != nil || len(nets) != 100 || len(nets[0].Attached) != 100 || calls != 2 {
		t.Errorf("%d networks in %d calls, %v", len(nets), calls, err)
	}
}

func TestACancelledCallIsNotAnUnavailableEngine(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := fakeEngine(t, "1.41", func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	})
	_, err := c.List(ctx, nil)
	if docker.IsUnavailable(err) || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestAnAnswerThatBreaksOffIsUnavailable(t *testing.T) {
	c := fakeEngine(t, "1.41", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`[{"Id":`))
		panic(http.ErrAbortHandler)
	})
	if _, err := c.List(t.Context(), nil); !docker.IsUnavailable(err) {
		t.Errorf("got %v", err)
	}
}

func TestAnEngineOlderThanTheOldestAPIIsRefusedByName(t *testing.T) {
	c := fakeEngine(t, "1.39", func(http.ResponseWriter, *http.Request) { t.Error("a call went out") })
	if _, err := c.Info(t.Context()); err == nil || !strings.Contains(err.Error(), "1.39") || !strings.Contains(err.Error(), "1.40") {
		t.Errorf("got %v", err)
	}
}

func TestCallsUseTheNegotiatedVersion(t *testing.T) {
	var path string
	c := fakeEngine(t, "1.40", func(w http.ResponseWriter, r *http.Request) {
		path = r.URL.Path
		_, _ = w.Write([]byte(`[]`))
	})
	if _, err := c.List(t.Context(), nil); err != nil || path != "/v1.40/containers/json" {
		t.Errorf("asked %s: %v", path, err)
	}
}

func TestADialerCarriesEveryCall(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Api-Version", "1.41")
		_, _ = w.Write([]byte(`[]`))
	}))
	defer srv.Close()
	dialled := 0
	c, err := New(Options{Host: "node-7", Dial: func(ctx context.Context) (net.Conn, error) {
		dialled++
		return (&net.Dialer{}).DialContext(ctx, "tcp", srv.Listener.Addr().String())
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.List(t.Context(), nil); err != nil || dialled == 0 {
		t.Errorf("dialled %d times: %v", dialled, err)
	}
}

func TestCreateNetworkForbidsASecondOfTheName(t *testing.T) {
	var body map[string]any
	c := fakeEngine(t, "1.41", func(w http.ResponseWriter, r *http.Request) {
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write([]byte(`{"Id":"abc"}`))
	})
	id, err := c.CreateNetwork(t.Context(), docker.NetworkSpec{Name: "n", Subnet: netip.MustParsePrefix("10.9.8.0/24")})
	if err != nil || id != "abc" || body["CheckDuplicate"] != true || body["Name"] != "n" {
		t.Errorf("%q %v, sent %v", id, err, body)
	}
}

func TestAnErrorInsideThePullStreamIsAnError(t *testing.T) {
	for message, want := range map[string]error{
		"manifest unknown":                      docker.ErrImageNotFound,
		"unauthorized: authentication required": docker.ErrUnauthorized,
		"no space left on device":               nil,
	} {
		c := fakeEngine(t, "1.41", func(w http.ResponseWriter, _ *http.Request) {
			enc := json.NewEncoder(w)
			_ = enc.Encode(map[string]any{"status": "Downloading", "id": "layer", "progressDetail": map[string]int{"current": 3, "total": 9}})
			_ = enc.Encode(map[string]any{"error": message, "errorDetail": map[string]string{"message": message}})
		})
		var steps []docker.PullProgress
		err := c.Pull(t.Context(), "example.test/x:1", nil, func(p docker.PullProgress) { steps = append(steps, p) })
		if err == nil || !strings.Contains(err.Error(), message) || (want != nil && !errors.Is(err, want)) {
			t.Errorf("%q: got %v", message, err)
		}
		if len(steps) != 1 || steps[0] != (docker.PullProgress{Layer: "layer", Status: "Downloading", Current: 3, Total: 9}) {
			t.Errorf("progress %+v", steps)
		}
	}
}

// A restarted engine forgets labels in the answer to a creation, not by itself.
func TestAVolumesLabelsAreThoseTheEngineKeeps(t *testing.T) {
	for kept, want := range map[string]error{"me": nil, "you": docker.ErrConflict} {
		c := fakeEngine(t, "1.41", func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				_, _ = w.Write([]byte(`{"Name":"data","Driver":"local","Labels":null,"Scope":""}`))
				return
			}
			_ = json.NewEncoder(w).Encode(map[string]any{"Name": "data", "Labels": map[string]string{"owner": kept}})
		})
		err := c.EnsureVolume(t.Context(), docker.VolumeSpec{Name: "data", Labels: map[string]string{"owner": "me"}})
		if !errors.Is(err, want) {
			t.Errorf("kept %q: %v, want %v", kept, err, want)
		}
	}
}
