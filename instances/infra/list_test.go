package infra_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/berth-cloud/berth/instances/infra"
	"github.com/berth-cloud/berth/instances/infra/fake"
)

var (
	start = time.Date(2026, time.March, 1, 0, 0, 0, 0, time.UTC)
	owner = infra.Owner{ClusterID: "prod", Shard: "eu-1a"}
)

// paged serves scripted pages by token.
type paged struct {
	infra.Provider
	pages map[string]*infra.ListInstancesResponse
}

func (p paged) ListInstances(_ context.Context, req infra.ListInstancesRequest) (*infra.ListInstancesResponse, error) {
	page, ok := p.pages[req.NextToken]
	if !ok {
		return nil, infra.ErrThrottled
	}
	return page, nil
}

func machine(providerID, shard string, status infra.Status) infra.Instance {
	return infra.Instance{
		InstanceID: "id-" + providerID, ProviderInstanceID: providerID, Status: status,
		Tags: map[string]string{infra.TagCluster: "prod", infra.TagShard: shard, infra.TagInstance: "id-" + providerID},
	}
}

func page(next string, machines ...infra.Instance) *infra.ListInstancesResponse {
	return &infra.ListInstancesResponse{Instances: machines, NextToken: next}
}

func TestAWholeListHasEachMachineOnceAsLastSeenAndNoneOfOthers(t *testing.T) {
	mislabelled := machine("x", "eu-1a", "running")
	mislabelled.InstanceID = "another"
	all, err := infra.ListAll(t.Context(), paged{pages: map[string]*infra.ListInstancesResponse{
		"":  page("2", machine("a", "eu-1a", "pending"), machine("b", "us-1", "running"), infra.Instance{ProviderInstanceID: "c"}),
		"2": page("3"),
		"3": page("", machine("a", "eu-1a", "running"), machine("d", "eu-1a", "running"), mislabelled),
	}}, owner)
	if err != nil || len(all) != 2 || all[0].ProviderInstanceID != "a" || all[0].Status != "running" || all[1].ProviderInstanceID != "d" {
		t.Errorf("%v, %v", all, err)
	}
}

func TestAListIsCompleteOrAnError(t *testing.T) {
	for name, row := range map[string]struct {
		pages map[string]*infra.ListInstancesResponse
		want  error
	}{
		"a page fails":          {map[string]*infra.ListInstancesResponse{"": page("2", machine("a", "eu-1a", "running"))}, infra.ErrThrottled},
		"the token comes twice": {map[string]*infra.ListInstancesResponse{"": page("2"), "2": page("2", machine("a", "eu-1a", "running"))}, infra.ErrUnavailable},
	} {
		if all, err := infra.ListAll(t.Context(), paged{pages: row.pages}, owner); all != nil || !errors.Is(err, row.want) {
			t.Errorf("%s: %v, %v", name, all, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if all, err := infra.ListAll(ctx, paged{}, owner); all != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("an ended context: %v, %v", all, err)
	}
}

func TestAWholeListOfALyingProviderHasNothingOfOthers(t *testing.T) {
	cloud := fake.NewCloud(fake.Options{Now: fake.NewClock(start).Now})
	cloud.Place(map[string]string{"owner": "somebody"})
	cloud.Place(map[string]string{infra.TagCluster: "other", infra.TagShard: "eu-1a", infra.TagInstance: "x"})
	cloud.Script(fake.Fault{Method: "ListInstances", Do: fake.LieForeign})
	if all, err := infra.ListAll(t.Context(), cloud.Provider(owner), owner); err != nil || len(all) != 0 {
		t.Errorf("%v, %v", all, err)
	}
}
