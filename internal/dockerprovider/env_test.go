package dockerprovider

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/secrets"
)

// variables are what the engine was given for a container.
func (r *rig) variables(c docker.ContainerState) map[string]string {
	r.Helper()
	made, ok := r.engine.Spec(c.Name)
	if !ok {
		r.Fatalf("the engine has no container %s", c.Name)
	}
	out := map[string]string{}
	for _, e := range made.Env {
		out[e.Name] = e.Value
	}
	return out
}

func TestAnyTextIsTheValueOfAVariableOfAWorkload(t *testing.T) {
	text := rapid.StringOf(rapid.OneOf(rapid.RuneFrom([]rune("$#'\"\\\n\r\t =;{}%`")), rapid.Rune().Filter(func(r rune) bool { return r != 0 })))
	rapid.Check(t, func(rt *rapid.T) {
		r := newRig(t)
		req := request()
		req.Services[0].Env = map[string]string{}
		for i, value := range rapid.SliceOfN(text, 1, 20).Draw(rt, "values") {
			req.Services[0].Env[fmt.Sprint("V", i)] = value
		}
		if _, err := r.d.Provision(t.Context(), req); err != nil {
			rt.Fatal(err)
		}
		r.settle(req.InstanceID)
		made := r.containers(req.InstanceID)
		if len(made) != 1 {
			rt.Fatalf("%d containers", len(made))
		}
		for _, c := range made {
			if got := r.variables(c); !maps.Equal(got, req.Services[0].Env) {
				rt.Errorf("the variables are %q, want %q", got, req.Services[0].Env)
			}
		}
	})
}

func TestASecretIsInItsOwnServiceAlone(t *testing.T) {
	r := newRig(t)
	const value = "hunter2hunter2"
	_, err := r.vault.Put(t.Context(), secrets.Ref{Tenant: tenant, Key: "token"}, secrets.NewSecretString(value))
	r.ok(err)
	req := request(web("web:1"), side())
	req.Services[0].Secrets = []provider.SecretRef{{Key: "token"}}
	r.running(req)
	for _, c := range r.containers(req.InstanceID) {
		has := strings.Contains(fmt.Sprint(r.variables(c)), value)
		if own := c.Labels[docker.LabelRole] == ""; has != own {
			t.Errorf("%s has the secret of web: %t", c.Name, has)
		}
		if text := fmt.Sprint(c.Labels); strings.Contains(text, value) {
			t.Errorf("a label of %s has the secret: %s", c.Name, text)
		}
	}
}
