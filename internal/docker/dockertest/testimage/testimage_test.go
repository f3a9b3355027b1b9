package testimage_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/berth-cloud/berth/internal/docker/dockertest/testimage"
)

func TestAnImageIsTheSameForTheSameProgramAndOptions(t *testing.T) {
	plain := testimage.Image(t, "probe")
	if again := testimage.Image(t, "probe"); again.ID() != plain.ID() {
		t.Errorf("ids %s and %s", plain.ID(), again.ID())
	}
	if other := testimage.Image(t, "probe", testimage.Env("VERSION", "2")); other.ID() == plain.ID() {
		t.Error("an option made no difference")
	}
}

func TestBuildLoadsOnce(t *testing.T) {
	socket := testimage.Socket(t)
	first := testimage.Build(t, socket, "probe", testimage.Label("test", "load"))
	if again := testimage.Build(t, socket, "probe", testimage.Label("test", "load")); again != first {
		t.Errorf("references %s and %s", first, again)
	}
	if other := testimage.Build(t, socket, "probe"); other == first {
		t.Error("two images have one reference")
	}
}

func TestARegistryServesWhatWasPushed(t *testing.T) {
	reg := testimage.Registry(t)
	_, digest := reg.Push(t, "team/probe:1", testimage.Image(t, "probe"))
	for path, want := range map[string]int{
		"/v2/team/probe/manifests/1": 200, "/v2/team/probe/manifests/" + digest: 200, "/v2/team/probe/manifests/2": 404,
	} {
		if got := status(t, "http://"+reg.Host+path, "", ""); got != want {
			t.Errorf("%s: %d, want %d", path, got, want)
		}
	}
	if !slices.Contains(reg.Requests(), "GET /v2/team/probe/manifests/1") {
		t.Errorf("requests %q", reg.Requests())
	}
}

func TestARegistryWithAuthRefusesOthers(t *testing.T) {
	reg := testimage.RegistryWithAuth(t, "ferry", "word")
	reg.Push(t, "probe:1", testimage.Image(t, "probe"))
	url := "http://" + reg.Host + "/v2/probe/manifests/1"
	for _, tc := range []struct {
		user, password string
		want           int
	}{{"", "", 401}, {"ferry", "wrong", 401}, {"ferry", "word", 200}} {
		if got := status(t, url, tc.user, tc.password); got != tc.want {
			t.Errorf("%s %s: %d, want %d", tc.user, tc.password, got, tc.want)
		}
	}
}

func status(t *testing.T, url, user, password string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if user != "" {
		req.SetBasicAuth(user, password)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode
}
