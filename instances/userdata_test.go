package instances_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/berth-cloud/berth/instances"
)

// withUserdata is a configuration whose small template has this user data.
func withUserdata(t *testing.T, userdata map[string]string, shard string) string {
	t.Helper()
	raw, err := json.Marshal(userdata)
	must(t, err)
	return `{
  "cluster": {"id": "prod"},
  "shard": {"name": "one", "provider": {"kind": "fake"}, "server": {"registration_addr": "10.0.0.5:8992", "agent_addr": "10.0.0.5:8994"}` + shard + `},
  "templates": {"small": {"kind": "wrk", "arch": "amd64", "userdata": ` + string(raw) + `}},
  "groups": {"acme": {"web": {"template": "small"}}},
}`
}

func packed(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write([]byte(text))
	must(t, err)
	must(t, z.Close())
	return b.String()
}

func TestUserDataIsDecodedBeforeItIsRendered(t *testing.T) {
	text := "id={{ .Instance.ID }} token={{ .Nonce }}"
	for name, userdata := range map[string]map[string]string{
		"plain":       {"content": text},
		"base64":      {"content": base64.StdEncoding.EncodeToString([]byte(text)), "encoding": "base64"},
		"base64+gzip": {"content": base64.StdEncoding.EncodeToString([]byte(packed(t, text))), "encoding": "base64+gzip"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.text = withUserdata(t, userdata, "")
			made := w.create(w.start(), web())
			found := false
			for _, record := range w.objects("shard/one/instance/") {
				found = found || strings.Contains(record, "id="+made.InstanceID+" token=berth-mark.")
			}
			if !found {
				t.Fatal("the intent does not hold what was rendered")
			}
			w.noSecrets(made.RegistrationJWT)
		})
	}
}

func TestUserDataThatIsDamagedOrExplodesIsRefused(t *testing.T) {
	for name, userdata := range map[string]map[string]string{
		"not gzip":    {"content": base64.StdEncoding.EncodeToString([]byte("x")), "encoding": "base64+gzip"},
		"a zip bomb":  {"content": base64.StdEncoding.EncodeToString([]byte(packed(t, strings.Repeat("a", 900<<10)))), "encoding": "base64+gzip"},
		"not UTF-8":   {"content": base64.StdEncoding.EncodeToString([]byte{0xff, 0xfe}), "encoding": "base64"},
		"a long text": {"content": `{{ range $i, $c := "` + strings.Repeat("a", 1000) + `" }}` + strings.Repeat("b", 1000) + `{{ end }}`},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.text = withUserdata(t, userdata, "")
			_, err := w.start().CreateInstance(t.Context(), web())
			if err == nil || len(w.objects("shard/")) != 0 {
				t.Fatalf("error %v, %d objects", err, len(w.objects("shard/")))
			}
		})
	}
}

func TestUserDataIsFetchedOnceAndOnlyFromWhereItMay(t *testing.T) {
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		switch r.URL.Path {
		case "/good":
			_, _ = rw.Write([]byte("token={{ .Nonce }}"))
		case "/large":
			_, _ = rw.Write(bytes.Repeat([]byte("a"), 4096))
		case "/away":
			http.Redirect(rw, r, "/good", http.StatusFound)
		case "/slow":
			<-r.Context().Done()
		default:
			rw.WriteHeader(http.StatusNotFound)
		}
	}))
	defer server.Close()
	shard := `, "userdata_urls": {"allow_http": true, "timeout": "1s", "max_bytes": 1024}`
	anywhere := func(o *instances.ManagerOptions) { o.UserdataAddress = func(netip.Addr) error { return nil } }
	create := func(t *testing.T, path, shard string, change ...func(*instances.ManagerOptions)) (*world, error) {
		t.Helper()
		w := newWorld(t)
		w.text = withUserdata(t, map[string]string{"url": server.URL + path}, shard)
		_, err := w.start(change...).CreateInstance(t.Context(), web())
		return w, err
	}
	w, err := create(t, "/good", shard, anywhere)
	must(t, err)
	if asked.Load() != 1 || len(w.own()) != 1 {
		t.Fatalf("asked %d times", asked.Load())
	}
	for _, path := range []string{"/large", "/away", "/slow", "/none"} {
		begun := time.Now()
		w, err := create(t, path+"?password=hunter2", shard, anywhere)
		mustBe(t, err, instances.ErrUserdata)
		if strings.Contains(err.Error(), "hunter2") || len(w.objects("shard/")) != 0 || time.Since(begun) > 30*time.Second {
			t.Errorf("%s: %v", path, err)
		}
	}
	before := asked.Load()
	_, err = create(t, "/good", shard) // loopback is no public address
	mustBe(t, err, instances.ErrUserdata)
	if asked.Load() != before {
		t.Fatal("an address was asked that may not be")
	}
}
