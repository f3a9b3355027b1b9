package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/test/images/image"
)

// request is the workload: it says what there is, not how it is brought up.
func request(instance, release id.ID) provider.ProvisionRequest {
	return provider.ProvisionRequest{
		InstanceID: instance, ReleaseID: release, TenantID: "example", Name: "example",
		Services: []provider.ServiceSpec{
			{Name: "migrate", Role: provider.RoleInit, Image: "berth-example-tool:v1", Args: []string{"out:the schema is ready"}},
			{
				Name: "web", Image: "berth-example:v1",
				Ports:       []provider.PortSpec{{Container: 8080, Protocol: provider.ProtocolHTTP}},
				HealthCheck: &provider.HealthCheckSpec{Path: "/healthz", Port: 8080},
				Resources:   provider.ResourceSpec{Replicas: 2, MemoryMB: 64},
			},
			{Name: "watch", Role: provider.RoleSidecar, Image: "berth-example-tool:v1", Args: []string{"wait"}},
		},
	}
}

// logs prints what a service of the first replica has printed.
func (w workload) logs(ctx context.Context, service string) error {
	replica := 0
	stream, err := w.Logs(ctx, w.id, provider.LogOptions{ServiceName: service, Replica: &replica})
	if err != nil {
		return err
	}
	defer func() { _ = stream.Close() }()
	for line, err := range provider.DecodeLogs(stream) {
		if err != nil {
			return err
		}
		fmt.Printf("log of %s: %s\n", line.Service, line.Line)
	}
	return nil
}

// ask sends a request about every 5 ms, to whichever endpoints there are at the
// time, and returns how many it sent and how many failed.
func (w workload) ask(ctx context.Context) (sent, failed int) {
	for ctx.Err() == nil {
		status, err := w.Status(ctx, w.id)
		if err != nil {
			continue
		}
		for _, e := range status.Endpoints {
			if _, err := get(ctx, e.URL+"/"); err != nil && ctx.Err() == nil {
				failed++
			}
			sent++
		}
	}
	return sent, failed
}

// get returns the answer of a URL.
func get(ctx context.Context, url string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<16))
	if err != nil || resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("GET %s: status %d, %w", url, resp.StatusCode, err)
	}
	return strings.TrimSpace(string(body)), nil
}

// buildImages makes the example's images on the engine: static programs from
// scratch, so that no registry is needed.
func buildImages(ctx context.Context) error {
	engine, err := image.Connect("unix:///var/run/docker.sock")
	if err != nil {
		return err
	}
	defer func() { _ = engine.Close() }()
	for program, names := range map[string][]string{"web": {"berth-example:v1", "berth-example:v2"}, "probe": {"berth-example-tool:v1"}} {
		binary, err := image.Compile(ctx, "github.com/berth-cloud/berth/test/images/"+program)
		if err != nil {
			return err
		}
		for _, name := range names {
			_, version, _ := strings.Cut(name, ":")
			img, err := image.Assemble(binary, image.Config{Env: map[string]string{"VERSION": version}})
			if err != nil {
				return err
			}
			if _, err := image.Load(ctx, engine, name, img); err != nil {
				return err
			}
		}
	}
	return nil
}
