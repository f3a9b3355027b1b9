package api

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/wire"
	"github.com/berth-cloud/berth/secrets"
)

// Tenant owns the secrets of all apps of this Berth.
const Tenant = "default"

type (
	putSecretInput struct {
		App     string `path:"app" maxLength:"128" doc:"Name of the app; it need not exist yet."`
		Name    string `path:"name" maxLength:"128" doc:"Name of the secret."`
		RawBody []byte `contentType:"application/octet-stream" doc:"The value, byte for byte."`
	}
	deleteSecretInput struct {
		App   string `path:"app" maxLength:"128" doc:"Name of the app."`
		Name  string `path:"name" maxLength:"128" doc:"Name of the secret."`
		Force bool   `query:"force" doc:"Delete it though a service or a workload needs it."`
	}
	secretOutput     struct{ Body wire.Secret }
	secretListOutput struct{ Body wire.SecretList }
)

func (s *Server) registerSecrets(r *registrar) {
	register(r, RuleAdmin, op(http.MethodGet, "/v1/apps/{app}/secrets", "list-secrets", "The secrets of an app, without their values"), s.listSecrets)
	put := op(http.MethodPut, "/v1/apps/{app}/secrets/{name}", "set-secret", "Give a secret of an app a value")
	put.Description = "What runs keeps the value it has; a restart of a service or the next apply gives it the new one, and a workload takes it with the next apply of its file."
	put.MaxBodyBytes = wire.MaxSecretBytes + 1
	register(r, RuleAdmin, put, s.setSecret)
	register(r, RuleAdmin, op(http.MethodDelete, "/v1/apps/{app}/secrets/{name}", "delete-secret", "Forget a secret of an app"), s.deleteSecret)
}

func (s *Server) listSecrets(ctx context.Context, in *appInput) (*secretListOutput, error) {
	list, exists, err := s.appSecrets(ctx, in.App)
	if err == nil && !exists && len(list) == 0 {
		err = noSuchApp(in.App)
	}
	if err != nil {
		return nil, s.asProblem(ctx, err)
	}
	return &secretListOutput{wire.SecretList{Secrets: list}}, nil
}

func (s *Server) setSecret(ctx context.Context, in *putSecretInput) (*secretOutput, error) {
	out, err := s.putSecret(ctx, in)
	if err != nil {
		return nil, s.asProblem(ctx, err)
	}
	return &secretOutput{out}, nil
}

func (s *Server) putSecret(ctx context.Context, in *putSecretInput) (wire.Secret, error) {
	ref, err := s.secretRef(in.App, in.Name)
	if err != nil {
		return wire.Secret{}, err
	}
	switch {
	case len(in.RawBody) == 0:
		return wire.Secret{}, invalidRequest("the value is empty", "To take a secret away, delete it.")
	case len(in.RawBody) > wire.MaxSecretBytes:
		return wire.Secret{}, secretTooLarge()
	}
	version, err := s.deps.Secrets.Put(ctx, ref, secrets.NewSecret(in.RawBody))
	if errors.Is(err, secrets.ErrTooLarge) {
		return wire.Secret{}, secretTooLarge()
	}
	if err != nil {
		return wire.Secret{}, fmt.Errorf("set secret %s of app %s: %w", in.Name, in.App, err)
	}
	peer, _ := PeerFrom(ctx)
	s.log.InfoContext(ctx, "secret set", "app", in.App, "name", in.Name, "version", int64(version), "uid", peer.UID)
	return s.secret(ctx, in.App, in.Name)
}

func (s *Server) deleteSecret(ctx context.Context, in *deleteSecretInput) (*secretOutput, error) {
	out, err := s.forgetSecret(ctx, in)
	if err != nil {
		return nil, s.asProblem(ctx, err)
	}
	return &secretOutput{out}, nil
}

func (s *Server) forgetSecret(ctx context.Context, in *deleteSecretInput) (wire.Secret, error) {
	ref, err := s.secretRef(in.App, in.Name)
	if err != nil {
		return wire.Secret{}, err
	}
	now, err := s.secret(ctx, in.App, in.Name)
	if err != nil {
		return wire.Secret{}, err
	}
	if !now.Set {
		return wire.Secret{}, notFound(fmt.Sprintf("app %q has no secret %s", in.App, in.Name), fmt.Sprintf("`berth secret list %s` lists those it has.", in.App))
	}
	if now.Required && !in.Force {
		return wire.Secret{}, &wire.Problem{
			Type: wire.ProblemNeedsConfirmation, Title: "Confirmation needed", Status: http.StatusConflict,
			Detail: fmt.Sprintf("secret %s is needed by %s, of which no new container could start without it", in.Name, strings.Join(now.NeededBy, ", ")),
			Hint:   "Take it out of the file that names it and apply that first, or repeat the request with force.",
		}
	}
	if err := s.deps.Secrets.Delete(ctx, ref); err != nil {
		return wire.Secret{}, fmt.Errorf("delete secret %s of app %s: %w", in.Name, in.App, err)
	}
	peer, _ := PeerFrom(ctx)
	s.log.InfoContext(ctx, "secret deleted", "app", in.App, "name", in.Name, "uid", peer.UID)
	return s.secret(ctx, in.App, in.Name)
}

// secretRef is where a secret is kept, for names that can be one.
func (s *Server) secretRef(app, name string) (secrets.Ref, error) {
	if s.deps.Secrets == nil {
		return secrets.Ref{}, noVault()
	}
	if err := spec.CheckName(app); err != nil {
		return secrets.Ref{}, invalidRequest(fmt.Sprintf("%q cannot be the name of an app", app), "Name the app whose secret it is.")
	}
	if err := spec.CheckSecretName(name); err != nil {
		return secrets.Ref{}, invalidRequest(fmt.Sprintf("%q cannot be the name of a secret", name), "Write letters, digits and underscores, no digit first, DATABASE_PASSWORD for example.")
	}
	return secrets.NewRef(Tenant, spec.SecretKey(app, name))
}

// secret is what is known about one secret, whether it is set or not.
func (s *Server) secret(ctx context.Context, app, name string) (wire.Secret, error) {
	all, _, err := s.appSecrets(ctx, app)
	if err != nil {
		return wire.Secret{}, err
	}
	for _, one := range all {
		if one.Name == name {
			return one, nil
		}
	}
	return wire.Secret{Name: name}, nil
}

// appSecrets are the secrets that an app has, and those of its own that its services
// or any workloads name, and whether there is such an app.
func (s *Server) appSecrets(ctx context.Context, app string) ([]wire.Secret, bool, error) {
	if s.deps.Secrets == nil {
		return nil, false, noVault()
	}
	st, err := s.readApp(ctx, app)
	if err != nil {
		return nil, false, err
	}
	kept, err := s.deps.Secrets.List(ctx, Tenant)
	if err != nil {
		return nil, false, fmt.Errorf("list the secrets of app %s: %w", app, err)
	}
	byName := map[string]wire.Secret{}
	for _, m := range kept {
		if name, ours := ownSecret(app, m.Key); ours {
			byName[name] = wire.Secret{Name: name, Set: true, Version: int64(m.Version), CreatedAt: m.CreatedAt, UpdatedAt: m.UpdatedAt}
		}
	}
	for _, short := range st.names() {
		svc := st.services[short].desired.Spec
		for _, ref := range svc.SecretRefs() {
			name := secretName(app, ref.Key)
			one := byName[name]
			one.Name = name
			if !slices.Contains(one.UsedBy, short) {
				one.UsedBy = append(one.UsedBy, short)
			}
			if !ref.Optional && !slices.Contains(one.NeededBy, short) {
				one.NeededBy, one.Required = append(one.NeededBy, short), true
			}
			byName[name] = one
		}
	}
	if err := s.usedByWorkloads(ctx, app, byName); err != nil {
		return nil, false, err
	}
	out := []wire.Secret{}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		out = append(out, byName[name])
	}
	return out, st.app != nil, nil
}

// usedByWorkloads adds to the secrets of an app, by name, what workloads name. The
// name of a workload says nothing about whose secrets it uses.
func (s *Server) usedByWorkloads(ctx context.Context, app string, byName map[string]wire.Secret) error {
	if s.deps.Workloads == nil {
		return nil
	}
	uses, err := s.deps.Workloads.SecretUses(ctx)
	if err != nil {
		return fmt.Errorf("look for workloads that use secrets of app %s: %w", app, err)
	}
	for _, use := range uses {
		name, ours := ownSecret(app, use.Key)
		if !ours {
			continue
		}
		one, user := byName[name], use.Workload+"/"+use.Service
		one.Name = name
		one.UsedByWorkloads = append(one.UsedByWorkloads, user)
		if !use.Optional {
			one.NeededBy, one.Required = append(one.NeededBy, wire.WorkloadUser(user)), true
		}
		byName[name] = one
	}
	return nil
}

// secretVersions are the newest versions of the secrets that the releases which
// serve name.
func (s *Server) secretVersions(ctx context.Context, st *appState) (map[string]int64, error) {
	asks := func(svc serviceState) bool { return svc.release != nil && len(svc.release.Spec.SecretRefs()) > 0 }
	if s.deps.Secrets == nil || !slices.ContainsFunc(slices.Collect(maps.Values(st.services)), asks) {
		return nil, nil
	}
	return s.newestSecrets(ctx, st.name)
}

// newestSecrets are the newest versions of all secrets, by key. The app is named in
// the error.
func (s *Server) newestSecrets(ctx context.Context, app string) (map[string]int64, error) {
	kept, err := s.deps.Secrets.List(ctx, Tenant)
	if err != nil {
		return nil, fmt.Errorf("list the secrets of app %s: %w", app, err)
	}
	out := make(map[string]int64, len(kept))
	for _, m := range kept {
		out[m.Key] = int64(m.Version)
	}
	return out, nil
}

// ownSecret is the name of a key of the vault as a secret of an app, if it is one.
// The vault keeps more than secrets, below longer keys.
func ownSecret(app, key string) (name string, ours bool) {
	name, ours = strings.CutPrefix(key, spec.SecretKey(app, ""))
	return name, ours && name != "" && !strings.Contains(name, "/")
}

// secretName is the name of a secret in its app.
func secretName(app, key string) string { return strings.TrimPrefix(key, spec.SecretKey(app, "")) }

// secretVersion is a version for people.
func secretVersion(n int64) string {
	if n == 0 {
		return "none"
	}
	return fmt.Sprintf("version %d", n)
}

func noVault() *wire.Problem {
	return busy("this daemon keeps no secrets", "`berth doctor` says more.")
}

func secretTooLarge() *wire.Problem {
	return &wire.Problem{
		Type: wire.ProblemTooLarge, Title: "Secret too large", Status: http.StatusRequestEntityTooLarge,
		Detail: fmt.Sprintf("the value has more than %d bytes", wire.MaxSecretBytes), Hint: "Put what is so large into a volume.",
	}
}
