package api_test

import (
	"context"
	"io"
	"net/http"
	"testing"

	"github.com/coder/websocket"

	"github.com/berth-cloud/berth/internal/api"
	"github.com/berth-cloud/berth/internal/client"
	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/wire/execwire"
)

// watched tells when a command has ended. "begin" prints a byte, and then lasts.
type watched struct {
	api.Engine
	ended chan error
}

func (w watched) Exec(ctx context.Context, container string, e docker.ExecSpec) (int, error) {
	if e.Command[0] == "begin" {
		if _, err := io.WriteString(e.Stdout, "x"); err != nil {
			return 0, err
		}
		e.Command = []string{"sleep"}
	}
	code, err := w.Engine.Exec(ctx, container, e)
	w.ended <- err
	return code, err
}

func TestACallerThatBreaksTheProtocolIsCutOff(t *testing.T) {
	d := start(t, func(deps *api.Deps) { deps.Engine = watched{deps.Engine, make(chan error, 10)} })
	apply(t, d, web)
	begin := []byte(`S{"command":["sleep"],"stdin":true}`)
	for name, messages := range map[string][][]byte{
		"no start":      {[]byte("iabc")},
		"bad start":     {[]byte("S{")},
		"empty":         {begin, {}},
		"unknown kind":  {begin, []byte("zabc")},
		"not its kind":  {begin, []byte("oabc")},
		"second start":  {begin, begin},
		"short resize":  {begin, []byte("wab")},
		"false credit":  {begin, execwire.CreditFrame(1).Encode()},
		"too much data": {begin, append([]byte("i"), make([]byte, execwire.MaxData+1)...)},
		"flood":         flood(begin),
	} {
		caller := overSocket(d.Socket)
		conn, _, err := websocket.Dial(t.Context(), "http://berth/v1/apps/shop/services/web/exec", &websocket.DialOptions{
			HTTPClient: caller, Subprotocols: []string{execwire.Subprotocol},
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range messages {
			if err := conn.Write(t.Context(), websocket.MessageBinary, m); err != nil {
				break // cut off already
			}
		}
		_, data, err := conn.Read(t.Context())
		for err == nil && len(data) > 0 { // what is under way before the end
			_, data, err = conn.Read(t.Context())
		}
		if got := websocket.CloseStatus(err); got != websocket.StatusPolicyViolation {
			t.Errorf("%s: closed with %d: %v", name, got, err)
		}
		_ = conn.CloseNow()
	}
}

// flood sends more input than is allowed to a command that reads none.
func flood(begin []byte) [][]byte {
	out := [][]byte{begin}
	for range execwire.Window/execwire.MaxData + 1 {
		out = append(out, execwire.Frame{Kind: execwire.Stdin, Data: make([]byte, execwire.MaxData)}.Encode())
	}
	return out
}

func TestExecWithoutAWebSocketIsAProblem(t *testing.T) {
	d := start(t, nil)
	apply(t, d, web)
	resp, err := overSocket(d.Socket).Get("http://berth/v1/apps/shop/services/web/exec")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusUnprocessableEntity || resp.Header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("%s", resp.Status)
	}
}

func TestTheContainersOfAnAppAreListedWithTheirPart(t *testing.T) {
	d := start(t, nil)
	apply(t, d, three)
	apply(t, d, edit(web, "name: shop", "name: blog", "shop.localhost", "blog.localhost"))
	c := client.New(d.Socket)
	defer c.Close()
	for app, want := range map[string]int{"shop": 3, "": 4} {
		list, err := c.Containers(t.Context(), app)
		if err != nil || len(list.Containers) != want {
			t.Fatalf("%q: %+v, %v", app, list, err)
		}
		for i, got := range list.Containers[want-3:] {
			if got.App != "shop" || got.Service != "web" || got.Replica != i || got.Member != "main" || got.State != "running" ||
				!got.Traffic || !got.Serves || got.Release != "v1" || got.Restarts != 1 || got.Address == "" {
				t.Errorf("%d: %+v", i, got)
			}
		}
	}
}

func envSecret(key string, optional bool) spec.EnvVar {
	return spec.EnvVar{Name: "X", Secret: spec.SecretRef{Key: key, Optional: optional}}
}
