// Command workload runs one workload on the local Docker engine through package
// provider, changes it under load, and leaves nothing behind:
//
//	go run ./examples/workload
//
// It prints what it does. The workload is three services: an init that runs
// before all else, a web server, and a sidecar that reaches the server by name.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/provider/docker"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "workload:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	if err := buildImages(ctx); err != nil { // images that you have need no such step
		return err
	}
	p, err := docker.New(docker.Options{Owner: "berth-example"})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()

	w := workload{Provider: p, id: id.New(id.KindWorkload)}
	defer func() { // with a context of its own: it has to happen after an interrupt too
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		fmt.Println("deprovision")
		err = errors.Join(err, w.Deprovision(ctx, w.id))
	}()
	return w.tour(ctx)
}

// workload is one instance on a provider.
type workload struct {
	provider.Provider
	id id.ID
}

func (w workload) tour(ctx context.Context) error {
	first := id.New(id.KindRelease)
	fmt.Println("provision", w.id)
	if _, err := w.Provision(ctx, request(w.id, first)); err != nil {
		return err
	}
	if err := w.ready(ctx); err != nil {
		return err
	}
	if err := w.deployUnderLoad(ctx); err != nil {
		return err
	}
	seen, err := w.Exec(ctx, w.id, provider.ExecRequest{
		ServiceName: "watch", Command: []string{"/program", "get:http://web:8080/version"},
	})
	if err != nil {
		return err
	}
	fmt.Printf("exec in the sidecar, which asks web by its name: exit code %d, %q\n", seen.ExitCode, seen.Stdout)
	if err := w.logs(ctx, "migrate"); err != nil {
		return err
	}
	fmt.Println("roll back to v1")
	if err := w.Rollback(ctx, w.id, first); err != nil {
		return err
	}
	return w.ready(ctx)
}

// ready waits for the release that was last asked for and says who answers.
func (w workload) ready(ctx context.Context) error {
	status, err := provider.Await(ctx, w.Provider, w.id, provider.ReadinessPolicy{Timeout: time.Minute})
	if err != nil {
		return err
	}
	web, _ := status.Endpoint("web")
	version, err := get(ctx, web.URL+"/version")
	fmt.Printf("  ready: %s answers %q\n", web.URL, version)
	return err
}

// deployUnderLoad changes the image while requests are sent to the endpoints that
// the status has at the time.
func (w workload) deployUnderLoad(ctx context.Context) error {
	fmt.Println("deploy v2 under load")
	load, stop := context.WithCancel(ctx)
	defer stop()
	var sent, failed int
	done := make(chan struct{})
	go func() { sent, failed = w.ask(load); close(done) }()
	_, err := w.Deploy(ctx, provider.DeployRequest{InstanceID: w.id, ReleaseID: id.New(id.KindRelease),
		Services: []provider.ServiceDeploySpec{{Name: "web", Image: "berth-example:v2"}}})
	if err == nil {
		err = w.ready(ctx)
	}
	stop()
	<-done
	fmt.Printf("  %d requests, %d failed\n", sent, failed)
	return err
}
