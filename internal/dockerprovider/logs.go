package dockerprovider

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/dockerprovider/logstream"
	"github.com/berth-cloud/berth/internal/store"
	"github.com/berth-cloud/berth/provider"
)

// Logs implements provider.Provider.
func (d *Driver) Logs(ctx context.Context, workload id.ID, opts provider.LogOptions) (io.ReadCloser, error) {
	if opts.Tail < 0 {
		return nil, fmt.Errorf("%w: tail: %d is negative", provider.ErrInvalid, opts.Tail)
	}
	in, err := d.inside(ctx, workload)
	if err != nil {
		return nil, err
	}
	name, err := in.service(opts.ServiceName)
	if err != nil {
		return nil, err
	}
	if r := opts.Replica; r != nil && !in.wants(*r) && !in.has(*r) {
		return nil, fmt.Errorf("replica %d of instance %s: %w", *r, workload, provider.ErrNotFound)
	}
	main, err := in.service("")
	if err != nil {
		return nil, err
	}
	picks := func(service string, replica int) (logstream.Origin, bool) {
		return logstream.Origin{Service: service, Replica: replica}, service == name && (opts.Replica == nil || replica == *opts.Replica)
	}
	q := logstream.Query{
		Labels: d.ownerLabels(workload), Listed: in.containers, Since: opts.Since, Tail: opts.Tail, Follow: opts.Follow, Logger: d.logger,
		Origin: func(_ string, labels map[string]string) (logstream.Origin, bool) {
			replica, _ := strconv.Atoi(labels[docker.LabelReplica]) // 0 for a label that is none
			return picks(labels[docker.LabelMember], replica)
		},
		KeptOrigin: func(l store.KeptLog) (logstream.Origin, bool) {
			if _, member, ok := strings.Cut(l.Container, "."); ok {
				return picks(member, l.Replica)
			}
			return picks(main, l.Replica)
		},
	}
	if in.record != nil {
		q.Kept = func(ctx context.Context, _ []docker.ContainerState) ([]store.KeptLog, error) {
			return d.records.KeptLogs(ctx, workload)
		}
		q.KeptOf = func(ctx context.Context, _ map[string]string) ([]store.KeptLog, error) {
			return d.records.KeptLogs(ctx, workload)
		}
	}
	stream := logstream.Open(ctx, d.rt, q)
	return d.logs.add(workload, stream, stream.Finish), nil
}

// has reports whether there is a container of a replica.
func (in *inside) has(replica int) bool {
	for i := range in.containers {
		if replicaOf(&in.containers[i]) == replica {
			return true
		}
	}
	return false
}
