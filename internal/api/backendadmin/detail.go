package backendadmin

import (
	"slices"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/hosting"
	"github.com/berth-cloud/berth/internal/wire"
)

// detail is an inspection in the words of the API.
func detail(in *hosting.Inspection) wire.BackendLeaseDetail {
	out := wire.BackendLeaseDetail{
		BackendLease: leaseOf(in.Lease), ProviderMessage: in.Said, Gone: in.Gone, Deaths: in.Deaths, Operation: operation(in.Op),
		Workloads: []wire.BackendWorkload{}, Releases: []wire.BackendRelease{},
	}
	for _, w := range in.Workloads {
		out.Workloads = append(out.Workloads, workload(w))
	}
	for _, instance := range in.Leaving {
		out.Leaving = append(out.Leaving, instance.String())
	}
	for _, d := range in.Domains {
		out.Domains = append(out.Domains, wire.BackendDomain{Service: d.Service, Domain: d.Name, State: d.State, Why: d.Why, Since: d.Since, Again: d.Again})
	}
	for _, s := range in.Volumes {
		out.Volumes = append(out.Volumes, volumeSet(s))
	}
	for _, r := range slices.Backward(in.Releases) {
		out.Releases = append(out.Releases, wire.BackendRelease{
			Version: r.Version, Status: r.Status, CreatedAt: r.CreatedAt, Images: r.Images, Reason: string(r.Reason), Message: r.Message,
			ProviderMessage: r.Said,
		})
	}
	return out
}

func leaseOf(p backend.ProvisionInfo) wire.BackendLease {
	out := wire.BackendLease{
		LeaseUUID: p.LeaseUUID, ProviderUUID: p.ProviderUUID, Tenant: p.Tenant, Partition: p.Partition, Status: string(p.Status),
		CreatedAt: p.CreatedAt, FailCount: p.FailCount, Reason: string(p.Reason), Message: p.Message, RetainedUntil: p.RetainedUntil,
		Image: p.Image, SKU: p.SKU, Quantity: p.Quantity, ServiceImages: p.ServiceImages,
	}
	out.Items = itemsOf(p.Items)
	return out
}

func itemsOf(items []backend.LeaseItem) []wire.BackendItem {
	var out []wire.BackendItem
	for _, item := range items {
		out = append(out, wire.BackendItem{
			SKU: item.SKU, Quantity: item.Quantity, ServiceName: item.ServiceName, CustomDomain: item.CustomDomain,
		})
	}
	return out
}

func volumeSet(s hosting.VolumeSet) wire.BackendVolumeSet {
	out := wire.BackendVolumeSet{
		ID: s.ID, State: s.State, Owner: s.Owner, Left: s.Left, LeftAt: s.LeftAt, DiskMB: s.DiskMB, RetainedUntil: s.Until,
		Attempts: s.Attempts, TriedAt: s.TriedAt, Volumes: []wire.BackendVolume{},
	}
	for _, v := range s.Volumes {
		out.Volumes = append(out.Volumes, wire.BackendVolume{Service: v.Service, Index: v.Index, Path: v.Path, ID: v.ID})
	}
	return out
}

func operation(op *hosting.Operation) *wire.BackendOperation {
	if op == nil {
		return nil
	}
	return &wire.BackendOperation{
		ID: op.ID, Kind: op.Kind, Version: op.Version, Deadline: op.Deadline, Done: op.Done,
		Reason: string(op.Reason), Message: op.Message, ProviderMessage: op.Said, BackBy: op.BackBy,
	}
}

func workload(w hosting.Workload) wire.BackendWorkload {
	out := wire.BackendWorkload{
		Service: w.Service, Instance: w.Instance.String(), Release: w.Release.String(), State: string(w.State),
		Ready: w.Ready, Replicas: w.Replicas, Restarts: w.Restarts, Reason: string(w.Reason), Message: w.Message,
	}
	if w.Err != nil {
		out.Error = w.Err.Error()
	}
	return out
}
