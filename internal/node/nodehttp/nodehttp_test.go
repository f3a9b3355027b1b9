package nodehttp_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/berth-cloud/berth/internal/node"
	"github.com/berth-cloud/berth/internal/node/nodehttp"
	"github.com/berth-cloud/berth/internal/node/nodetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// over serves a host on loopback, and is it from there.
func over(t *testing.T, h node.Host) node.Host {
	s := httptest.NewServer(nodehttp.Handler(h))
	c := nodehttp.New(func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", s.Listener.Addr().String())
	})
	t.Cleanup(func() {
		c.Close()
		s.Close()
	})
	return c
}

func TestAHostThatIsElsewhereConformsAsALocalOneDoes(t *testing.T) {
	nodetest.Run(t, func(t *testing.T, netns int) node.Host { return over(t, &node.Local{NetNS: netns}) })
}

func TestWhatNoClientSendsIsRefused(t *testing.T) {
	h := nodehttp.Handler(&node.Local{NetNS: -1})
	for name, req := range map[string]*http.Request{
		"an unknown key": httptest.NewRequest(http.MethodPut, "/v1/firewall", strings.NewReader(`{"Nam":"x"}`)),
		"too much":       httptest.NewRequest(http.MethodPut, "/v1/firewall", strings.NewReader(`{"Name":"`+strings.Repeat("x", 1<<20)+`"}`)),
		"a path":         httptest.NewRequest(http.MethodDelete, "/v1/firewall/..%2fx", nil),
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, req)
		if w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), `"rules"`) {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
}
