package image

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/client"
)

func TestSameContentHasTheSameID(t *testing.T) {
	make := func(binary, version string) string {
		img, err := Assemble([]byte(binary), Config{Env: map[string]string{"VERSION": version, "A": "b"}})
		if err != nil {
			t.Fatal(err)
		}
		return img.ID()
	}
	first := make("program", "v1")
	if again := make("program", "v1"); again != first {
		t.Errorf("assembled twice, the image is %s and %s", first, again)
	}
	if other := make("program", "v2"); other == first {
		t.Error("another environment has the same id")
	}
	if other := make("another", "v1"); other == first {
		t.Error("another program has the same id")
	}
}

func TestRefusalInsideTheProgressIsAnError(t *testing.T) {
	err := refusal(strings.NewReader(`{"stream":"Loading"}` + "\n" + `{"error":"no space left"}`))
	if err == nil || err.Error() != "no space left" {
		t.Errorf("error %v", err)
	}
	if err := refusal(strings.NewReader(`{"stream":"Loaded image"}`)); err != nil {
		t.Errorf("error %v", err)
	}
}

func TestEngineKnowsALoadedImageByItsID(t *testing.T) {
	if os.Getenv("BERTH_TEST_DOCKER") == "" {
		t.Skip("needs a Docker engine: set BERTH_TEST_DOCKER=1")
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	engine, err := Connect("unix:///var/run/docker.sock")
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	img, err := Assemble([]byte("not run"), Config{Env: map[string]string{"VERSION": t.Name()}})
	if err != nil {
		t.Fatal(err)
	}
	const ref = "berth-imagetest:loaded"
	t.Cleanup(func() {
		clean, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		engine.ImageRemove(clean, ref, client.ImageRemoveOptions{Force: true})
	})
	for range 2 {
		id, err := Load(ctx, engine, ref, img)
		if err != nil {
			t.Fatal(err)
		}
		if id != img.ID() {
			t.Errorf("the engine says %s; want %s", id, img.ID())
		}
	}
}
