package callback_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/berth-cloud/berth/backend/callback"
	"github.com/berth-cloud/berth/backend/hmacauth"
)

// behindProxy is a receiver to which a proxy hands requests without the first part of
// their path, as ingress controllers do.
func behindProxy(t *testing.T, l *ledger, prefix string) *httptest.Server {
	t.Helper()
	verifier, err := hmacauth.NewVerifier(hmacauth.Config{Secrets: []string{secret}, PathPrefix: prefix})
	if err != nil {
		t.Fatal(err)
	}
	h := callback.NewReceiver(callback.Config{Auth: verifier, Deliver: l.deliver})
	strip := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out := r.Clone(r.Context())
		out.URL.Path, out.RequestURI = path, path
		h.ServeHTTP(w, out)
	})
	srv := httptest.NewServer(strip)
	t.Cleanup(srv.Close)
	return srv
}

// A backend signs the URL that it posts to. Behind a proxy that strips a part of the
// path the receiver sees another one, and knows the part.
func TestAProxyThatStripsThePathLosesNoCallback(t *testing.T) {
	for name, c := range map[string]struct {
		prefix, target string
		code           int
	}{
		"the part is known":        {"/fleet/a", "/fleet/a" + path, 200},
		"the part is not known":    {"", "/fleet/a" + path, 401},
		"another part":             {"/fleet/b", "/fleet/a" + path, 401},
		"signed without the part":  {"/fleet/a", path, 401},
		"signed for more of it":    {"/fleet/a", "/fleet/a/fleet/a" + path, 401},
		"no proxy, and no part":    {"", path, 200},
		"signed with a query more": {"/fleet/a", "/fleet/a" + path + "?x=1", 401},
	} {
		t.Run(name, func(t *testing.T) {
			l := &ledger{}
			srv := behindProxy(t, l, c.prefix)
			key, err := hmacauth.NewKey(secret)
			if err != nil {
				t.Fatal(err)
			}
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL+c.target, bytes.NewReader([]byte(body)))
			if err != nil {
				t.Fatal(err)
			}
			key.SignRequest(req, []byte(body), time.Now())
			res, err := srv.Client().Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			defer srv.Client().CloseIdleConnections()
			if res.StatusCode != c.code || (l.count() == 1) != (c.code == 200) {
				t.Errorf("it is answered with %s, and %d were delivered", res.Status, l.count())
			}
		})
	}
}
