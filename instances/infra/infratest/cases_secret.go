package infratest

import (
	"context"
	"strings"

	"github.com/berth-cloud/berth/instances/infra"
	"github.com/berth-cloud/berth/secrets"
)

// canary is in the user data of every request, and in nothing that a provider
// says.
const canary = "canary-5f2c9a1e7b"

var (
	secretCases  = []Case{{Name: "Secret/UserData", run: secretUserData}}
	contextCases = []Case{{Name: "Context/Ended", run: contextEnded}}
)

// secretUserData looks for the user data in all answers, errors and output.
func secretUserData(e *env) {
	req := e.request()
	inst := e.create(req)
	other := req.Clone()
	other.UserData = secrets.NewSecretString(canary + " other")
	_, _ = e.tryCreate(e.p, other)
	big := e.request()
	big.UserData = secrets.NewSecretString(strings.Repeat(canary, infra.MaxUserData/len(canary)+1))
	_, _ = e.tryCreate(e.p, big)
	_, _ = e.tryStatus(e.p, req.InstanceID, "")
	e.list(0, nil)
	e.removed(req.InstanceID)
	_, _ = e.tryStatus(e.p, req.InstanceID, inst.ProviderInstanceID)
	if e.fx.Output != nil {
		e.seen = append(e.seen, e.fx.Output())
	}
	for _, said := range e.seen {
		if at := strings.Index(said, canary); at >= 0 {
			e.Errorf("user data is in an answer, an error or the output, near %q", said[max(0, at-40):at])
		}
	}
}

// contextEnded: a call whose context is over does nothing, and says so.
func contextEnded(e *env) {
	ctx, cancel := context.WithCancel(e.ctx)
	cancel()
	req := e.request()
	if _, err := e.p.CreateInstance(ctx, req); err == nil {
		e.Errorf("create ignores that its context is over")
	}
	if _, err := e.p.GetInstanceStatus(ctx, req.InstanceID, ""); err == nil || infra.IsNotFound(err) {
		e.Errorf("status with a context that is over: %v, which is no answer", err)
	}
	if page, err := e.p.ListInstances(ctx, infra.ListInstancesRequest{ClusterID: req.ClusterID, Shard: req.Shard}); err == nil {
		e.Errorf("list with a context that is over: %v", page)
	}
	if err := e.p.DeleteInstance(ctx, req.InstanceID, ""); err == nil {
		e.Errorf("delete ignores that its context is over")
	}
	if !e.gone(req.InstanceID) {
		e.Errorf("a create whose context was over made a machine")
	}
}
