package infratest_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/berth-cloud/berth/instances/infra"
	"github.com/berth-cloud/berth/instances/infra/fake"
	"github.com/berth-cloud/berth/instances/infra/infratest"
)

var owner = infra.Owner{ClusterID: "suite", Shard: "one"}

// broken is a provider that breaks one rule.
type broken struct {
	infra.Provider
	cloud  *fake.Cloud
	create func(ctx context.Context, req infra.CreateInstanceRequest) (*infra.Instance, error)
	remove func(ctx context.Context, instanceID, providerID string) error
	status func(ctx context.Context, instanceID, providerID string) (*infra.Instance, error)
	list   func(ctx context.Context, req infra.ListInstancesRequest) (*infra.ListInstancesResponse, error)
}

func (b *broken) CreateInstance(ctx context.Context, req infra.CreateInstanceRequest) (*infra.Instance, error) {
	if b.create != nil {
		return b.create(ctx, req)
	}
	return b.Provider.CreateInstance(ctx, req)
}

func (b *broken) DeleteInstance(ctx context.Context, instanceID, providerID string) error {
	if b.remove != nil {
		return b.remove(ctx, instanceID, providerID)
	}
	return b.Provider.DeleteInstance(ctx, instanceID, providerID)
}

func (b *broken) GetInstanceStatus(ctx context.Context, instanceID, providerID string) (*infra.Instance, error) {
	if b.status != nil {
		return b.status(ctx, instanceID, providerID)
	}
	return b.Provider.GetInstanceStatus(ctx, instanceID, providerID)
}

func (b *broken) ListInstances(ctx context.Context, req infra.ListInstancesRequest) (*infra.ListInstancesResponse, error) {
	if b.list != nil {
		return b.list(ctx, req)
	}
	return b.Provider.ListInstances(ctx, req)
}

// fixture is a provider with a fault in it, and what the suite needs beside.
func fixture(breaking func(b *broken)) infratest.Fixture {
	clock := fake.NewClock(time.Time{})
	cloud := fake.NewCloud(fake.Options{
		Now: clock.Now, BootTime: 2 * time.Second, StopTime: 2 * time.Second, ListLag: time.Second,
		Subnets: map[string]int{"": 100}, Args: []string{},
	})
	open := func(o infra.Owner) infra.Provider {
		b := &broken{Provider: cloud.Provider(o), cloud: cloud}
		breaking(b)
		return b
	}
	return infratest.Fixture{
		Provider: open(owner), Owner: owner, Other: open,
		Reopen:  func() infra.Provider { return open(owner) },
		Advance: func(ctx context.Context) error { clock.Advance(time.Second); return ctx.Err() },
		Place: func(tags map[string]string) (string, func() bool) {
			providerID := cloud.Place(tags)
			return providerID, func() bool {
				return slices.ContainsFunc(cloud.Alive(), func(m infra.Instance) bool { return m.ProviderInstanceID == providerID })
			}
		},
		Count: func(instanceID string) int {
			n := 0
			for _, m := range cloud.Alive() {
				if owner.Is(m.Tags, instanceID) {
					n++
				}
			}
			return n
		},
		UnknownArg: "flavour", UnknownSubnet: "nowhere",
		Patience: 300 * time.Millisecond,
	}
}

// byProviderID is the machine of a provider's id, whoever's it is.
func (b *broken) byProviderID(providerID string) (infra.Instance, bool) {
	for _, m := range b.cloud.Alive() {
		if m.ProviderInstanceID == providerID {
			return m, true
		}
	}
	return infra.Instance{}, false
}

// mutations are faults that providers have had, and the cases that find them.
var mutations = map[string]struct {
	breaking func(b *broken)
	found    string
}{
	"a repeated create makes another machine": {func(b *broken) {
		b.create = func(ctx context.Context, req infra.CreateInstanceRequest) (*infra.Instance, error) {
			b.cloud.Place(req.Tags())
			return b.Provider.CreateInstance(ctx, req)
		}
	}, "Create/Repeated"},
	"other bytes are answered with the machine there is": {func(b *broken) {
		b.create = func(ctx context.Context, req infra.CreateInstanceRequest) (*infra.Instance, error) {
			inst, err := b.Provider.CreateInstance(ctx, req)
			if infra.IsConflict(err) {
				return b.Provider.GetInstanceStatus(ctx, req.InstanceID, "")
			}
			return inst, err
		}
	}, "Create/OtherBytes"},
	"an error repeats the user data": {func(b *broken) {
		b.create = func(ctx context.Context, req infra.CreateInstanceRequest) (*infra.Instance, error) {
			inst, err := b.Provider.CreateInstance(ctx, req)
			if err != nil {
				return nil, fmt.Errorf("create with %s: %w", req.UserData.RevealString(), err)
			}
			return inst, nil
		}
	}, "Secret/UserData"},
	"a tag holds the user data": {func(b *broken) {
		b.create = func(ctx context.Context, req infra.CreateInstanceRequest) (*infra.Instance, error) {
			inst, err := b.Provider.CreateInstance(ctx, req)
			if err == nil {
				inst.Tags["user-data"] = req.UserData.RevealString()
			}
			return inst, err
		}
	}, "Secret/UserData"},
	"a delete says not found": {func(b *broken) {
		b.remove = func(ctx context.Context, instanceID, providerID string) error {
			if _, err := b.Provider.GetInstanceStatus(ctx, instanceID, ""); err != nil {
				return err
			}
			return b.Provider.DeleteInstance(ctx, instanceID, providerID)
		}
	}, "Delete/Unknown"},
	"a delete looks the machine up in a list that lags": {func(b *broken) {
		b.remove = func(ctx context.Context, instanceID, providerID string) error {
			page, err := b.Provider.ListInstances(ctx, infra.ListInstancesRequest{ClusterID: owner.ClusterID, Shard: owner.Shard})
			if err != nil || !slices.ContainsFunc(page.Instances, func(i infra.Instance) bool { return i.InstanceID == instanceID }) {
				return err
			}
			return b.Provider.DeleteInstance(ctx, instanceID, providerID)
		}
	}, "Delete/AtOnce"},
	"a delete goes by the provider's id": {func(b *broken) {
		b.remove = func(ctx context.Context, instanceID, providerID string) error {
			if m, ok := b.byProviderID(providerID); ok {
				b.cloud.Vanish(m.InstanceID)
			}
			return b.Provider.DeleteInstance(ctx, instanceID, providerID)
		}
	}, "Delete/StaleProviderID"},
	"a delete takes the machines of others": {func(b *broken) {
		b.remove = func(ctx context.Context, instanceID, providerID string) error {
			b.cloud.Vanish(instanceID)
			return b.Provider.DeleteInstance(ctx, instanceID, providerID)
		}
	}, "Owner/ForeignOfOurID"},
	"a machine that goes is said to be gone": {func(b *broken) {
		b.status = func(ctx context.Context, instanceID, providerID string) (*infra.Instance, error) {
			inst, err := b.Provider.GetInstanceStatus(ctx, instanceID, providerID)
			if err == nil && inst.Status == infra.StatusDeleting {
				return nil, infra.ErrInstanceNotFound
			}
			return inst, err
		}
	}, "Delete/UntilGone"},
	"a status follows the provider's id": {func(b *broken) {
		b.status = func(ctx context.Context, instanceID, providerID string) (*infra.Instance, error) {
			if m, ok := b.byProviderID(providerID); ok && ctx.Err() == nil {
				return &m, nil
			}
			return b.Provider.GetInstanceStatus(ctx, instanceID, providerID)
		}
	}, "Status/StaleProviderID"},
	"a status is not found when nobody could be asked": {func(b *broken) {
		b.status = func(ctx context.Context, instanceID, providerID string) (*infra.Instance, error) {
			if ctx.Err() != nil {
				return nil, infra.ErrInstanceNotFound
			}
			return b.Provider.GetInstanceStatus(ctx, instanceID, providerID)
		}
	}, "Context/Ended"},
	"a list has its first page alone": {func(b *broken) {
		b.list = func(ctx context.Context, req infra.ListInstancesRequest) (*infra.ListInstancesResponse, error) {
			page, err := b.Provider.ListInstances(ctx, req)
			if err == nil {
				page.NextToken = ""
			}
			return page, err
		}
	}, "List/Pages"},
	"pages go by place": {func(b *broken) {
		b.list = func(ctx context.Context, req infra.ListInstancesRequest) (*infra.ListInstancesResponse, error) {
			size, err := req.PageSize()
			if err != nil {
				return nil, err
			}
			token := req.NextToken
			req.NextToken, req.Limit = "", 0
			page, err := b.Provider.ListInstances(ctx, req)
			if err != nil {
				return nil, err
			}
			start, _ := strconv.Atoi(token)
			start = min(start, len(page.Instances))
			end := min(start+size, len(page.Instances))
			got := &infra.ListInstancesResponse{Instances: page.Instances[start:end]}
			if end < len(page.Instances) {
				got.NextToken = strconv.Itoa(end)
			}
			return got, nil
		}
	}, "List/ShiftingPages"},
	"a list shows the machines of others": {func(b *broken) {
		b.list = func(ctx context.Context, req infra.ListInstancesRequest) (*infra.ListInstancesResponse, error) {
			page, err := b.Provider.ListInstances(ctx, req)
			if err == nil && req.NextToken == "" {
				for _, m := range b.cloud.Alive() {
					if !owner.Owns(m.Tags) {
						page.Instances = append(page.Instances, m)
					}
				}
			}
			return page, err
		}
	}, "Owner/Foreign"},
	"the marks of ownership are missing": {func(b *broken) {
		b.create = func(ctx context.Context, req infra.CreateInstanceRequest) (*infra.Instance, error) {
			inst, err := b.Provider.CreateInstance(ctx, req)
			if err == nil {
				delete(inst.Tags, infra.TagCluster)
			}
			return inst, err
		}
	}, "Owner/Tags"},
}

func TestTheSuiteFindsEveryBrokenProvider(t *testing.T) {
	for name, mutation := range mutations {
		t.Run(name, func(t *testing.T) {
			i := slices.IndexFunc(infratest.Cases(), func(c infratest.Case) bool { return c.Name == mutation.found })
			if i < 0 {
				t.Fatalf("there is no case %s", mutation.found)
			}
			c := infratest.Cases()[i]
			if r := record(t.Context(), c, fixture(func(*broken) {})); r.failed || r.skipped {
				t.Fatalf("without the fault: %s", r)
			}
			if r := record(t.Context(), c, fixture(mutation.breaking)); !r.failed {
				t.Errorf("%s passes: %s", c.Name, r)
			}
		})
	}
}

func TestEveryCaseSaysWhatAFixtureLacks(t *testing.T) {
	fx := fixture(func(*broken) {})
	fx.Other, fx.Reopen, fx.Place, fx.Heavy, fx.UnknownArg, fx.UnknownSubnet = nil, nil, nil, true, "", ""
	skipped := 0
	for _, c := range infratest.Cases() {
		r := record(t.Context(), c, fx)
		if r.failed {
			t.Errorf("%s: %s", c.Name, r)
		}
		if r.skipped {
			skipped++
			if !strings.HasPrefix(r.String(), "the fixture has no ") {
				t.Errorf("%s is skipped with %q", c.Name, r)
			}
		}
	}
	if want := 11; skipped != want {
		t.Errorf("%d cases are skipped, not %d", skipped, want)
	}
}
