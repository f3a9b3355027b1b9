package providertest

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/secrets"
)

// secretCases are about what must be inside and nowhere else.
var secretCases = []Case{
	{Name: "Secrets/Env", Needs: needProvision, run: secretEnv},
	{Name: "Secrets/File", Needs: needProvision, run: secretFile},
	{Name: "Secrets/ConfigFile", Needs: needProvision, run: configFile},
	{Name: "Secrets/ConfigFileOnly", Needs: needDeploy, run: configFileOnly},
	{Name: "Secrets/OtherTenant", Needs: needProvision, run: otherTenant},
	{Name: "Secrets/Missing", Needs: needProvision, run: secretMissing},
	{Name: "Secrets/Optional", Needs: needProvision, run: secretOptional},
	{Name: "Secrets/Rollback", Needs: needDeploy, run: secretRollback},
	{Name: "Secrets/Canary", Needs: needProvision, run: canaries},
}

// withSecrets is a request for web with secrets.
func (e *env) withSecrets(refs ...provider.SecretRef) provider.ProvisionRequest {
	svc := e.web("web", provider.RoleMain, port)
	svc.Secrets = refs
	req := e.request(svc)
	req.Rollout.ReadyTimeout = 20 * time.Second
	return req
}

func secretEnv(e *env) {
	e.secret(e.Tenant, "db/password", "first $HOME 'q' \"d\"")
	e.secret(e.Tenant, "token", "second")
	req := e.withSecrets(
		provider.SecretRef{Key: "db/password"},
		provider.SecretRef{Key: "token", Type: secrets.SecretEnv, EnvKey: "API_TOKEN"},
	)
	e.running(req)
	if got := e.do(req.InstanceID, "web", 0, "env:DB_PASSWORD", "env:API_TOKEN"); got != "first $HOME 'q' \"d\"\nsecond" {
		e.Errorf("the secrets are %q inside", got)
	}
}

func secretFile(e *env) {
	e.secret(e.Tenant, "key", "line one\nline two\n")
	req := e.withSecrets(
		provider.SecretRef{Key: "key", Type: secrets.SecretFile},
		provider.SecretRef{Key: "key", Type: secrets.SecretFile, Path: "/etc/app/key.pem"},
	)
	e.running(req)
	for _, path := range []string{provider.SecretsDir + "/key", "/etc/app/key.pem"} {
		if got := e.do(req.InstanceID, "web", 0, "read:"+path); got != "line one\nline two" {
			e.Errorf("the file %s is %q inside", path, got)
		}
		if mode := e.do(req.InstanceID, "web", 0, "mode:"+path); len(mode) != 3 || strings.ContainsAny(mode[1:], "2367") {
			e.Errorf("the file %s has the mode %s", path, mode)
		}
	}
}

func configFile(e *env) {
	big := strings.Repeat("x", 100<<10)
	e.secret(e.Tenant, "config", "from the vault")
	svc := e.web("web", provider.RoleMain, port)
	svc.ConfigFiles = []provider.ConfigFile{
		{Name: "conf", Path: "/etc/app/conf.json", Format: "json", Content: `{"colour":"red"}`},
		{Name: "big", Path: "/etc/app/deep/er/big", Content: big},
		{Name: "empty", Path: "/opt/empty", Content: ""},
		{Name: "vault", Path: "/opt/vault", Key: "config"},
	}
	init := e.task("prepare", provider.RoleInit, "read:/etc/first")
	init.ConfigFiles = []provider.ConfigFile{{Name: "first", Path: "/etc/first", Content: "there before the start"}}
	req := e.request(init, svc)
	e.running(req)
	got := e.do(req.InstanceID, "web", 0, "read:/etc/app/conf.json", "read:/opt/empty", "read:/opt/vault", "read:/etc/app/deep/er/big")
	if want := `{"colour":"red"}from the vault` + big; got != want {
		e.Errorf("the files are %.80q (%d bytes) inside, want %.80q (%d bytes)", got, len(got), want, len(want))
	}
}

func configFileOnly(e *env) {
	svc := e.web("web", provider.RoleMain, port)
	svc.ConfigFiles = []provider.ConfigFile{{Name: "conf", Path: "/etc/app/conf", Content: "red"}}
	req := e.request(svc)
	e.running(req)
	e.deployed(req.InstanceID, e.change("web", e.Images.V1, func(d *provider.ServiceDeploySpec) {
		d.ConfigFiles = []provider.ConfigFile{{Name: "conf", Path: "/etc/app/conf", Content: "blue"}}
	}))
	if got := e.do(req.InstanceID, "web", 0, "read:/etc/app/conf"); got != "blue" {
		e.Errorf("after a deploy of a config file alone it is %q", got)
	}
	e.must(e.Provider.Rollback(e.ctx, req.InstanceID, id.Nil), "Rollback")
	e.ready(req.InstanceID)
	if got := e.do(req.InstanceID, "web", 0, "read:/etc/app/conf"); got != "red" {
		e.Errorf("after a rollback the config file is %q", got)
	}
}

// lacks provisions what needs a secret that is not there.
func (e *env) lacks(req provider.ProvisionRequest) {
	e.Helper()
	e.provision(req)
	st := e.failed(req.InstanceID)
	if st.Reason != provider.ReasonSecretMissing || st.Services["web"].Reason != provider.ReasonSecretMissing {
		e.Errorf("an instance whose secret is missing is %s", describe(st))
	}
	for _, r := range st.Services["web"].Replicas {
		if r.StartedAt != nil {
			e.Errorf("a container started without its secret: %+v", r)
		}
	}
}

func otherTenant(e *env) {
	e.secret(e.Tenant+"-other", "token", "of another tenant")
	e.lacks(e.withSecrets(provider.SecretRef{Key: "token"}))
}

func secretMissing(e *env) {
	req := e.withSecrets(provider.SecretRef{Key: "token"})
	e.lacks(req)
	if text := e.status(req.InstanceID).Message; !strings.Contains(text, "token") {
		e.Errorf("the message %q does not name the secret", text)
	}
	e.secret(e.Tenant, "token", "late")
	e.provision(req)
	e.ready(req.InstanceID)
	if got := e.do(req.InstanceID, "web", 0, "env:TOKEN"); got != "late" {
		e.Errorf("the secret that came late is %q inside", got)
	}
}

func secretOptional(e *env) {
	req := e.withSecrets(provider.SecretRef{Key: "token", Optional: true}, provider.SecretRef{Key: "file", Type: secrets.SecretFile, Optional: true})
	e.running(req)
	if got, err := e.try(req.InstanceID, "web", 0, "env:TOKEN"); err == nil {
		e.Errorf("a secret that is not there is %q inside", got)
	}
}

func secretRollback(e *env) {
	e.secret(e.Tenant, "token", "first")
	req := e.withSecrets(provider.SecretRef{Key: "token"})
	e.running(req)
	e.secret(e.Tenant, "token", "second")
	e.deployed(req.InstanceID, e.change("web", e.Images.V2))
	if got := e.do(req.InstanceID, "web", 0, "env:TOKEN"); got != "second" {
		e.Errorf("a release that was deployed after a change has the value %q", got)
	}
	e.must(e.Provider.Rollback(e.ctx, req.InstanceID, id.Nil), "Rollback")
	e.ready(req.InstanceID)
	if got := e.do(req.InstanceID, "web", 0, "env:TOKEN"); got != "first" {
		e.Errorf("a rollback gave the value %q, not the one that the release had", got)
	}
}

// canaries plants values and looks for them in everything that comes out.
func canaries(e *env) {
	planted := []string{"canary-env-3f1c", "canary-file-77aa", "canary-config-90be", "canary-second-41d0"}
	e.secret(e.Tenant, "one", planted[0])
	e.secret(e.Tenant, "two", planted[1])
	req := e.withSecrets(provider.SecretRef{Key: "one"}, provider.SecretRef{Key: "two", Type: secrets.SecretFile})
	req.Services[0].ConfigFiles = []provider.ConfigFile{{Name: "conf", Path: "/etc/app/conf", Content: planted[2]}}
	var seen []string
	note := func(what string, v any, err error) {
		text, _ := json.Marshal(v)
		seen = append(seen, what+": "+string(text))
		if err != nil {
			seen = append(seen, what+": "+err.Error())
		}
	}
	e.know(req.InstanceID)
	res, err := e.Provider.Provision(e.ctx, req)
	note("the result of Provision", res, err)
	note("the status", e.ready(req.InstanceID), nil)
	if got := e.do(req.InstanceID, "web", 0, "env:ONE", "read:/run/secrets/two"); !strings.Contains(got, planted[0]) || !strings.Contains(got, planted[1]) {
		e.Fatalf("the canaries are not inside: %q", got)
	}
	other := req
	other.Services = provider.CloneServices(req.Services)
	other.Services[0].ConfigFiles[0].Content = planted[3]
	res, err = e.Provider.Provision(e.ctx, other)
	note("the result of a Provision that conflicts", res, err)
	other.Services[0].ConfigFiles[0].Path = "relative/" + "path"
	res, err = e.Provider.Provision(e.ctx, other)
	note("the result of a Provision that is invalid", res, err)
	if e.has(provider.CapDeploy) {
		d := e.change("web", e.Images.V2, withArgs("exit:7"), func(d *provider.ServiceDeploySpec) {
			d.ConfigFiles = []provider.ConfigFile{{Name: "conf", Path: "/etc/app/conf", Content: planted[3]}}
		})
		note("the status after a rollout that failed", e.failNext(req, d), nil)
	}
	if e.has(provider.CapLogs) {
		note("the logs", e.logs(req.InstanceID, provider.LogOptions{}), nil)
	}
	for _, canary := range planted {
		for _, text := range seen {
			if strings.Contains(text, canary) {
				e.Errorf("%s is in %s", canary, text)
			}
		}
		if e.Places != nil {
			if found := e.Places(canary); len(found) > 0 {
				e.Errorf("%s is in %s", canary, strings.Join(found, ", "))
			}
		}
	}
}
