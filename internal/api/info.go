package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-cloud/berth/internal/reconcile"
	"github.com/berth-cloud/berth/internal/wire"
)

// doctorTimeout bounds all checks of doctor together. It asks the engine, and
// is the one request that may wait for it.
const doctorTimeout = 20 * time.Second

type (
	statusOutput  struct{ Body wire.Status }
	versionOutput struct{ Body wire.Version }
	doctorOutput  struct{ Body wire.Doctor }
	openAPIOutput struct {
		ContentType string `header:"Content-Type"`
		Body        []byte
	}
)

func (s *Server) registerInfo(r *registrar) {
	register(r, RuleAdmin, op(http.MethodGet, "/v1/status", "get-status", "The state of the whole"), s.getStatus)
	register(r, RulePublic, op(http.MethodGet, "/v1/version", "get-version", "What answers"),
		func(context.Context, *struct{}) (*versionOutput, error) {
			return &versionOutput{wire.Version{Version: s.deps.Version, Go: runtime.Version(), Revision: s.deps.Revision}}, nil
		})
	register(r, RuleAdmin, op(http.MethodGet, "/v1/doctor", "get-doctor", "Checks of the daemon and the machine"),
		func(ctx context.Context, _ *struct{}) (*doctorOutput, error) {
			ctx, cancel := context.WithTimeout(ctx, doctorTimeout)
			defer cancel()
			out := &doctorOutput{wire.Doctor{Checks: []wire.Check{}}}
			out.Body.Checks = append(out.Body.Checks, s.deps.Doctor(ctx)...)
			return out, nil
		})
	description := op(http.MethodGet, "/openapi.json", "get-openapi", "This description, as OpenAPI 3.1")
	description.Responses = map[string]*huma.Response{"200": {
		Description: "OpenAPI 3.1", Content: map[string]*huma.MediaType{"application/json": {Schema: &huma.Schema{Type: huma.TypeObject}}},
	}}
	register(r, RulePublic, description, func(context.Context, *struct{}) (*openAPIOutput, error) {
		data, err := json.Marshal(r.api.OpenAPI())
		if err != nil {
			return nil, fmt.Errorf("describe the API: %w", err)
		}
		return &openAPIOutput{"application/json", data}, nil
	})
}

func (s *Server) getStatus(ctx context.Context, _ *struct{}) (*statusOutput, error) {
	out := wire.Status{
		Instance: s.deps.Instance, Version: s.deps.Version, StartedAt: s.started, Listeners: s.deps.Listeners(),
	}
	err := s.countStatus(ctx, &out)
	if err != nil {
		return nil, s.asProblem(ctx, err)
	}
	return &statusOutput{out}, nil
}

func (s *Server) countStatus(ctx context.Context, out *wire.Status) error {
	apps, err := s.deps.Store.ListApps(ctx)
	if err != nil {
		return fmt.Errorf("list apps: %w", err)
	}
	services, err := s.deps.Store.ListDesiredServices(ctx, "")
	if err != nil {
		return fmt.Errorf("list services: %w", err)
	}
	conditions, err := s.deps.Store.ListConditions(ctx)
	if err != nil {
		return fmt.Errorf("list conditions: %w", err)
	}
	tombstones, err := s.deps.Store.ListPendingTeardowns(ctx)
	if err != nil {
		return fmt.Errorf("list tombstones: %w", err)
	}
	out.Apps, out.Services, out.Tombstones = len(apps), len(services), len(tombstones)
	for _, d := range services {
		if c := ready(conditions[s.deps.ControllerName(d.Name)]); c != nil && c.Status == reconcile.True {
			out.Ready++
		}
	}
	routes, err := s.deps.Store.Routes(ctx)
	if err != nil {
		return fmt.Errorf("read the route version: %w", err)
	}
	out.RouteVersion = routes.Version
	return nil
}
