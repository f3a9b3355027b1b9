package dockerprovider

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/secrets"
)

func TestProvisionedGroupServesAndDeprovisionLeavesNothing(t *testing.T) {
	r := newRig(t)
	req := request(
		web("web:1"), side(),
		provider.ServiceSpec{Name: "migrate", Role: provider.RoleInit, Image: "init:1"},
	)
	req.Services[0].Resources.Replicas = 2
	req.Labels = map[string]string{"team": "red"}
	req.Services[0].ConfigFiles = []provider.ConfigFile{{Name: "app", Path: "/etc/app/app.conf", Content: "colour: red"}}
	res, err := r.d.Provision(t.Context(), req)
	r.ok(err)
	r.same("handle", res.ProviderRef, "docker:"+req.InstanceID.String())
	st := r.ready(req.InstanceID)
	r.same("state", st.State, provider.StateRunning)
	r.same("release", st.ReleaseID, req.InitialRelease())
	r.same("services", len(st.Services), 3)
	r.same("replicas of web", len(st.Services["web"].Replicas), 2)
	r.same("init", st.Services["migrate"].State, provider.StateStopped)
	if !st.Available || st.StartedAt == nil {
		t.Errorf("available %v, started %v", st.Available, st.StartedAt)
	}
	var ways []string
	for _, e := range st.Endpoints {
		ways = append(ways, fmt.Sprint(e.ServiceName, " ", e.Port, " ", *e.Replica))
	}
	want := []string{"side 9090 0", "side 9090 1", "web 8080 0", "web 8080 1"}
	if !slices.Equal(ways, want) {
		t.Errorf("endpoints %v, want %v", ways, want)
	}
	for _, c := range r.containers(req.InstanceID) {
		if c.Labels["team"] != "red" || c.Labels[docker.LabelTenant] != tenant || c.Labels[docker.LabelInstance] != DefaultOwner {
			t.Errorf("labels of %s: %v", c.Name, c.Labels)
		}
	}
	r.same("config file", r.exec(req.InstanceID, "web", "cat", "/etc/app/app.conf"), "colour: red")
	r.ok(r.d.Deprovision(t.Context(), req.InstanceID))
	if left := r.leftovers(req.InstanceID); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	r.ok(r.d.Deprovision(t.Context(), req.InstanceID))
	next, err := r.d.Step(t.Context(), req.InstanceID)
	r.ok(err)
	r.same("next step", next, time.Duration(0))
	_, err = r.d.Status(t.Context(), req.InstanceID)
	r.is(err, provider.ErrNotFound, "status afterwards")
}

func TestSameRequestConvergesAndAnotherConflicts(t *testing.T) {
	r := newRig(t)
	req := request()
	req.Services[0].ConfigFiles = []provider.ConfigFile{{Name: "app", Path: "/etc/app/app.conf", Content: "colour: red"}}
	r.running(req)
	before := r.containers(req.InstanceID)
	_, err := r.d.Provision(t.Context(), req)
	r.ok(err)
	r.same("content was kept", req.Services[0].ConfigFiles[0].Content, "colour: red")
	for what, alter := range map[string]func(*provider.ProvisionRequest){
		"content": func(q *provider.ProvisionRequest) { q.Services[0].ConfigFiles[0].Content = "colour: blue" },
		"env":     func(q *provider.ProvisionRequest) { q.Services[0].Env = map[string]string{"A": "b"} },
		"tenant":  func(q *provider.ProvisionRequest) { q.TenantID = "other" },
		"network": func(q *provider.ProvisionRequest) { q.Network = "shared" },
	} {
		other := req
		other.Services = provider.CloneServices(req.Services)
		alter(&other)
		_, err := r.d.Provision(t.Context(), other)
		r.is(err, provider.ErrConflict, "another "+what)
	}
	_, err = r.d.Provision(t.Context(), req)
	r.ok(err)
	r.ready(req.InstanceID)
	after := r.containers(req.InstanceID)
	if len(after) != 1 || after[0].ID != before[0].ID {
		t.Errorf("before %v, after %v", before, after)
	}
}

func TestUnknownInstanceIsNotFound(t *testing.T) {
	r := newRig(t)
	never := id.New(id.KindWorkload)
	for what, err := range map[string]error{
		"start": r.d.Start(t.Context(), never), "stop": r.d.Stop(t.Context(), never), "restart": r.d.Restart(t.Context(), never),
		"rollback": r.d.Rollback(t.Context(), never, id.Nil), "scale": r.d.Scale(t.Context(), never, provider.ResourceSpec{Replicas: 2}),
	} {
		r.is(err, provider.ErrNotFound, what)
	}
	_, err := r.d.Status(t.Context(), never)
	r.is(err, provider.ErrNotFound, "status")
	_, err = r.d.Step(t.Context(), never)
	r.is(err, provider.ErrNotFound, "step")
	_, err = r.d.Exec(t.Context(), never, provider.ExecRequest{Command: []string{"env"}})
	r.is(err, provider.ErrNotFound, "exec")
	_, err = r.d.Logs(t.Context(), never, provider.LogOptions{})
	r.is(err, provider.ErrNotFound, "logs")
	_, err = r.d.Resources(t.Context(), never)
	r.is(err, provider.ErrNotFound, "resources")
	_, err = r.d.Deploy(t.Context(), provider.DeployRequest{
		InstanceID: never, ReleaseID: id.New(id.KindRelease), Services: []provider.ServiceDeploySpec{{Name: "web", Image: "web:2"}},
	})
	r.is(err, provider.ErrNotFound, "deploy")
	r.ok(r.d.Deprovision(t.Context(), never))
}

func TestDeployChangesWhatItListsAndRollbackRestoresIt(t *testing.T) {
	r := newRig(t)
	req := request(web("web:1"), side())
	req.Services[0].Env = map[string]string{"COLOUR": "red"}
	req.Services[0].Secrets = []provider.SecretRef{{Key: "db-password"}}
	_, err := r.vault.Put(t.Context(), secrets.Ref{Tenant: tenant, Key: "db-password"}, secrets.NewSecretString("first-value"))
	r.ok(err)
	r.running(req)
	r.same("secret", strings.Contains(r.exec(req.InstanceID, "", "env"), "DB_PASSWORD=first-value"), true)
	_, err = r.vault.Put(t.Context(), secrets.Ref{Tenant: tenant, Key: "db-password"}, secrets.NewSecretString("second-value"))
	r.ok(err)

	release := r.deploy(req.InstanceID, provider.ServiceDeploySpec{
		Name: "web", Image: "web:2", Env: map[string]string{"COLOUR": "blue"}, Secrets: []provider.SecretRef{{Key: "db-password"}},
	})
	st := r.ready(req.InstanceID)
	r.same("release", st.ReleaseID, release)
	env := r.exec(req.InstanceID, "", "env")
	if !strings.Contains(env, "COLOUR=blue") || !strings.Contains(env, "DB_PASSWORD=second-value") {
		t.Errorf("env after the deploy: %s", env)
	}
	r.ok(r.d.Rollback(t.Context(), req.InstanceID, id.Nil))
	st = r.ready(req.InstanceID)
	r.same("release", st.ReleaseID, req.InitialRelease())
	env = r.exec(req.InstanceID, "", "env")
	if !strings.Contains(env, "COLOUR=red") || !strings.Contains(env, "DB_PASSWORD=first-value") {
		t.Errorf("env after the rollback: %s", env)
	}
	// What is deployed now builds on what serves, the older value included.
	r.deploy(req.InstanceID, provider.ServiceDeploySpec{Name: "side", Image: "side:1", Env: map[string]string{"X": "y"}})
	r.ready(req.InstanceID)
	env = r.exec(req.InstanceID, "web", "env")
	if !strings.Contains(env, "COLOUR=red") || !strings.Contains(env, "DB_PASSWORD=first-value") {
		t.Errorf("env of a service that was not listed: %s", env)
	}
	r.is(r.d.Rollback(t.Context(), req.InstanceID, id.New(id.KindRelease)), provider.ErrNotFound, "unknown release")
}

func TestRepeatedDeployConvergesAndOtherServicesConflict(t *testing.T) {
	r := newRig(t)
	req := request()
	r.running(req)
	deploy := provider.DeployRequest{InstanceID: req.InstanceID, ReleaseID: id.New(id.KindRelease), Services: []provider.ServiceDeploySpec{{
		Name: "web", Image: "web:2", ConfigFiles: []provider.ConfigFile{{Name: "app", Path: "/etc/app/app.conf", Content: "a"}},
	}}}
	_, err := r.d.Deploy(t.Context(), deploy)
	r.ok(err)
	_, err = r.d.Deploy(t.Context(), deploy)
	r.ok(err)
	other := deploy
	other.ReleaseID = id.New(id.KindRelease)
	_, err = r.d.Deploy(t.Context(), other)
	r.is(err, provider.ErrBusy, "another release meanwhile")
	r.ready(req.InstanceID)
	before := r.containers(req.InstanceID)
	res, err := r.d.Deploy(t.Context(), deploy)
	r.ok(err)
	r.same("status", res.Status, provider.DeploySucceeded)
	r.ready(req.InstanceID)
	r.same("container", r.containers(req.InstanceID)[0].ID, before[0].ID)
	deploy.Services = []provider.ServiceDeploySpec{{Name: "web", Image: "web:1"}}
	_, err = r.d.Deploy(t.Context(), deploy)
	r.is(err, provider.ErrConflict, "other services under one id")
	deploy.Services[0].Name, deploy.ReleaseID = "nobody", id.New(id.KindRelease)
	_, err = r.d.Deploy(t.Context(), deploy)
	r.is(err, provider.ErrInvalid, "unknown service")
	deploy.Services[0].Name, deploy.Strategy = "web", provider.StrategyCanary
	_, err = r.d.Deploy(t.Context(), deploy)
	r.is(err, provider.ErrNotSupported, "canary")
}

func TestFailedReleaseLeavesThePreviousOneServing(t *testing.T) {
	r := newRig(t)
	req := request()
	req.Services[0].Secrets = []provider.SecretRef{{Key: "password"}}
	_, err := r.vault.Put(t.Context(), secrets.Ref{Tenant: tenant, Key: "password"}, secrets.NewSecretString("hunter2hunter2"))
	r.ok(err)
	r.running(req)
	before := r.containers(req.InstanceID)
	release := r.deploy(req.InstanceID, provider.ServiceDeploySpec{Name: "web", Image: "exits:1"})
	st := r.settle(req.InstanceID)
	r.same("state", st.State, provider.StateFailed)
	r.same("reason", st.Reason, provider.ReasonRolloutFailed)
	r.same("serving", st.ReleaseID, req.InitialRelease())
	r.same("wanted", st.TargetReleaseID, release)
	r.same("available", st.Available, true)
	r.same("endpoints", len(st.Endpoints), 1)
	if !strings.Contains(st.Message, "password is [redacted]") {
		t.Errorf("message %q", st.Message)
	}
	rec, err := r.state.Get(t.Context(), "docker/"+DefaultOwner+"/workloads/"+req.InstanceID.String())
	r.ok(err)
	if strings.Contains(string(rec.Value), "hunter2") {
		t.Error("the record holds the value of a secret")
	}
	after := r.containers(req.InstanceID)
	if len(after) != 1 || after[0].ID != before[0].ID {
		t.Errorf("before %v, after %v", before, after)
	}
	r.deploy(req.InstanceID, provider.ServiceDeploySpec{Name: "web", Image: "web:2"})
	r.ready(req.InstanceID)
}

func TestFirstReleaseThatFailsSaysWhy(t *testing.T) {
	for _, tc := range []struct {
		name   string
		spec   func(*provider.ProvisionRequest)
		reason provider.Reason
	}{
		{"init", func(q *provider.ProvisionRequest) {
			q.Services = append(q.Services, provider.ServiceSpec{Name: "migrate", Role: provider.RoleInit, Image: "badinit:1"})
		}, provider.ReasonInitFailed},
		{"exit", func(q *provider.ProvisionRequest) { q.Services[0].Image = "exits:1" }, provider.ReasonExited},
		{"memory", func(q *provider.ProvisionRequest) { q.Services[0].Image = "oom:1" }, provider.ReasonOutOfMemory},
		{"image", func(q *provider.ProvisionRequest) { q.Services[0].Image = "nowhere:1" }, provider.ReasonImageUnavailable},
		{"never ready", func(q *provider.ProvisionRequest) { q.Services[0].Image = "never:1" }, provider.ReasonReadyTimeout},
		{"secret", func(q *provider.ProvisionRequest) {
			q.Services[0].Secrets = []provider.SecretRef{{Key: "missing"}}
		}, provider.ReasonSecretMissing},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t)
			req := request()
			tc.spec(&req)
			_, err := r.d.Provision(t.Context(), req)
			r.ok(err)
			st := r.settle(req.InstanceID)
			r.same("state", st.State, provider.StateFailed)
			r.same("reason", st.Reason, tc.reason)
			r.same("endpoints", len(st.Endpoints), 0)
			r.ok(r.d.Deprovision(t.Context(), req.InstanceID))
			if left := r.leftovers(req.InstanceID); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}

func TestScaleKeepsWhatIsZero(t *testing.T) {
	r := newRig(t)
	req := request()
	req.Services[0].Resources = provider.ResourceSpec{CPUMillis: 100, MemoryMB: 64}
	r.running(req)
	first := r.containers(req.InstanceID)[0].ID
	r.ok(r.d.Scale(t.Context(), req.InstanceID, provider.ResourceSpec{}))
	r.ok(r.d.Scale(t.Context(), req.InstanceID, provider.ResourceSpec{Replicas: 3}))
	st := r.ready(req.InstanceID)
	r.same("replicas", len(st.Services["web"].Replicas), 3)
	r.same("release", st.ReleaseID, req.InitialRelease())
	if !slices.ContainsFunc(r.containers(req.InstanceID), func(c docker.ContainerState) bool { return c.ID == first }) {
		t.Error("the first replica was replaced")
	}
	r.ok(r.d.Scale(t.Context(), req.InstanceID, provider.ResourceSpec{MemoryMB: 128}))
	st = r.ready(req.InstanceID)
	r.same("replicas", len(st.Services["web"].Replicas), 3)
	all := r.containers(req.InstanceID)
	r.same("containers", len(all), 3)
	for _, c := range all {
		r.same("memory", c.Resources.MemoryBytes, int64(128<<20))
		r.same("cpu", c.Resources.NanoCPUs, int64(100e6))
	}
	// The next deploy keeps the size.
	r.deploy(req.InstanceID, provider.ServiceDeploySpec{Name: "web", Image: "web:2"})
	r.ready(req.InstanceID)
	all = r.containers(req.InstanceID)
	r.same("containers", len(all), 3)
	r.same("memory", all[0].Resources.MemoryBytes, int64(128<<20))
	r.ok(r.d.Scale(t.Context(), req.InstanceID, provider.ResourceSpec{Replicas: 1}))
	r.ready(req.InstanceID)
	r.same("containers", len(r.containers(req.InstanceID)), 1)
	r.is(r.d.Scale(t.Context(), req.InstanceID, provider.ResourceSpec{GPU: "1"}), provider.ErrNotSupported, "gpu")
	r.is(r.d.Scale(t.Context(), req.InstanceID, provider.ResourceSpec{Replicas: -1}), provider.ErrInvalid, "negative")
}

func TestStopKeepsContainersAndStartRunsThemAgain(t *testing.T) {
	r := newRig(t)
	req := request(web("web:1"), side())
	req.Kind = provider.KindStatefulSet
	req.Services[0].Resources.Replicas = 2
	req.Services[0].Volumes = []provider.VolumeSpec{{Name: "data", MountPath: "/data"}}
	r.running(req)
	before := r.containers(req.InstanceID)
	r.ok(r.d.Stop(t.Context(), req.InstanceID))
	r.same("running", len(r.containers(req.InstanceID)), 0)
	st := r.status(req.InstanceID)
	r.same("state", st.State, provider.StateStopped)
	r.same("endpoints", len(st.Endpoints), 0)
	r.ok(r.d.Stop(t.Context(), req.InstanceID))
	r.settle(req.InstanceID)
	r.same("running", len(r.containers(req.InstanceID)), 0)

	r.ok(r.d.Start(t.Context(), req.InstanceID))
	if st := r.status(req.InstanceID); st.State == provider.StateFailed {
		t.Errorf("just started: %+v", st)
	}
	st = r.ready(req.InstanceID)
	r.same("restarts", st.Restarts, 0)
	after := r.containers(req.InstanceID)
	for i := range after {
		r.same("container", after[i].ID, before[i].ID)
	}
	r.ok(r.d.Start(t.Context(), req.InstanceID))
	r.ok(r.d.Restart(t.Context(), req.InstanceID))
	r.ready(req.InstanceID)
	again := r.containers(req.InstanceID)
	r.same("containers", len(again), len(after))
	for i := range again {
		if slices.ContainsFunc(after, func(c docker.ContainerState) bool { return c.ID == again[i].ID }) {
			t.Errorf("%s was not replaced", again[i].Name)
		}
	}
	if o := r.engine.WritersOverlap(); len(o) > 0 {
		t.Errorf("two writers: %v", o)
	}
	r.ok(r.d.Stop(t.Context(), req.InstanceID))
	r.ok(r.d.Restart(t.Context(), req.InstanceID))
	r.ready(req.InstanceID)
	r.ok(r.d.Deprovision(t.Context(), req.InstanceID))
	if left := r.leftovers(req.InstanceID); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestLostRecordsLeaveWhatWorksFromLabels(t *testing.T) {
	r := newRig(t)
	req := request(web("web:1"), side())
	req.Network = "shared"
	req.Services[0].Volumes = []provider.VolumeSpec{{Name: "data", MountPath: "/data"}}
	req.Services[0].ConfigFiles = []provider.ConfigFile{{Name: "app", Path: "/etc/app/app.conf", Content: "a"}}
	r.running(req)
	r.restart(false)
	st := r.status(req.InstanceID)
	r.same("state", st.State, provider.StateRunning)
	r.same("services", len(st.Services), 2)
	_, err := r.d.Deploy(t.Context(), provider.DeployRequest{
		InstanceID: req.InstanceID, ReleaseID: id.New(id.KindRelease), Services: []provider.ServiceDeploySpec{{Name: "web", Image: "web:2"}},
	})
	r.is(err, provider.ErrNoRecord, "deploy")
	r.is(r.d.Rollback(t.Context(), req.InstanceID, id.Nil), provider.ErrNoRecord, "rollback")
	_, err = r.d.Provision(t.Context(), req)
	r.is(err, provider.ErrNoRecord, "provision")
	r.same("exec", strings.Contains(r.exec(req.InstanceID, "", "env"), "="), false)
	r.ok(r.d.Stop(t.Context(), req.InstanceID))
	r.same("stopped", r.status(req.InstanceID).State, provider.StateStopped)
	r.ok(r.d.Start(t.Context(), req.InstanceID))
	r.same("started", r.status(req.InstanceID).State, provider.StateRunning)

	// Another one joins the network, and takes nobody's address.
	second := request()
	second.Network = "shared"
	r.running(second)
	seen := map[string]string{}
	for _, w := range []id.ID{req.InstanceID, second.InstanceID} {
		for _, c := range r.containers(w) {
			if other := seen[c.Address.String()]; other != "" {
				t.Errorf("%s and %s have one address", other, c.Name)
			}
			seen[c.Address.String()] = c.Name
		}
	}
	r.ok(r.d.Deprovision(t.Context(), req.InstanceID))
	if left := r.leftovers(req.InstanceID); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	r.ready(second.InstanceID)
	r.ok(r.d.Deprovision(t.Context(), second.InstanceID))
	nets, err := r.engine.ListNetworks(t.Context(), map[string]string{docker.LabelInstance: DefaultOwner})
	r.ok(err)
	r.same("networks", len(nets), 0)
}

func TestUnsupportedFieldsAreNamedAndChangeNothing(t *testing.T) {
	r := newRig(t)
	req := request()
	req.Services[0].Resources.GPU = "1"
	req.Services[0].Resources.DiskMB = 5
	_, err := r.d.Provision(t.Context(), req)
	r.is(err, provider.ErrNotSupported, "provision")
	for _, field := range []string{"services[0].resources.gpu", "services[0].resources.disk_mb"} {
		if !strings.Contains(err.Error(), field) {
			t.Errorf("%v does not name %s", err, field)
		}
	}
	_, err = r.d.Status(t.Context(), req.InstanceID)
	r.is(err, provider.ErrNotFound, "status")
	if left := r.leftovers(req.InstanceID); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
