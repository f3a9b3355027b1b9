// Command build makes the example's images and loads them into a Docker
// engine: one program, test/images/web, in a version for each argument.
//
//	go run ./test/images/build                      berth-hello:v1 and berth-hello:v2
//	go run ./test/images/build -name x -env MODE=crash bad     x:bad, which crashes
//
// `make up`, `make images` and the benchmarks call it.
package main

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/berth-cloud/berth/test/images/image"
)

const web = "github.com/berth-cloud/berth/test/images/web"

// deadline bounds compiling and loading together; a first compilation on a
// small machine takes about a minute.
const deadline = 10 * time.Minute

func main() {
	docker := flag.String("docker", "unix:///var/run/docker.sock", "the engine that gets the images")
	name := flag.String("name", "berth-hello", "the images' name")
	env := map[string]string{}
	flag.Func("env", "NAME=VALUE to set in every image; may be repeated", func(s string) error {
		k, v, ok := strings.Cut(s, "=")
		if !ok {
			return fmt.Errorf("%q is not NAME=VALUE", s)
		}
		env[k] = v
		return nil
	})
	var volumes []string
	flag.Func("volume", "DIRECTORY that every image declares as a volume; may be repeated", func(s string) error {
		volumes = append(volumes, s)
		return nil
	})
	flag.Parse()
	versions := flag.Args()
	if len(versions) == 0 {
		versions = []string{"v1", "v2"}
	}

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	if err := build(ctx, *docker, *name, env, volumes, versions); err != nil {
		fmt.Fprintln(os.Stderr, "build:", err)
		os.Exit(1)
	}
}

func build(ctx context.Context, docker, name string, env map[string]string, volumes, versions []string) error {
	engine, err := image.Connect(docker)
	if err != nil {
		return err
	}
	defer engine.Close()
	binary, err := image.Compile(ctx, web)
	if err != nil {
		return err
	}
	for _, version := range versions {
		c := image.Config{Env: maps.Clone(env), Labels: map[string]string{"org.opencontainers.image.version": version}, Volumes: volumes}
		c.Env["VERSION"] = version
		img, err := image.Assemble(binary, c)
		if err != nil {
			return err
		}
		ref := name + ":" + version
		id, err := image.Load(ctx, engine, ref, img)
		if err != nil {
			return err
		}
		fmt.Printf("%s %s\n", ref, id)
	}
	return nil
}
