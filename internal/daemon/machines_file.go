package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"sync"

	"github.com/berth-cloud/berth/instances/config"
)

// machineFile is the file of machines of one run of the daemon. What can never change in
// it is refused like any other mistake, and what is taken at the start alone is told.
type machineFile struct {
	file config.File
	name string
	log  *slog.Logger

	mu      sync.Mutex
	began   *config.Config // nil before the first reading
	tag     string         // of what was judged last
	verdict error
}

var _ config.Source = (*machineFile)(nil)

// errKept is a change of what never changes.
var errKept = errors.New("this never changes")

// first reads it before anything is opened.
func (f *machineFile) first(ctx context.Context) (*config.Config, error) {
	raw, tag, err := f.file.Read(ctx)
	if err != nil {
		return nil, fmt.Errorf("the file of machines cannot be read: %w; name another one with --machines", err)
	}
	conf, err := config.Parse(f.name, raw)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.began, f.tag = conf, tag
	return conf, nil
}

// Read implements config.Source.
func (f *machineFile) Read(ctx context.Context) ([]byte, string, error) {
	raw, tag, err := f.file.Read(ctx)
	f.mu.Lock()
	defer f.mu.Unlock()
	if err == nil && tag != f.tag {
		f.tag, f.verdict = tag, f.judge(ctx, raw)
	}
	if err == nil {
		err = f.verdict
	}
	return raw, tag, err
}

// judge says what may not be in a changed text. What is wrong with it otherwise, the
// loader says.
func (f *machineFile) judge(ctx context.Context, raw []byte) error {
	conf, err := config.Parse(f.name, raw)
	if err != nil {
		return nil
	}
	for _, one := range []struct{ what, was, is string }{
		{"cluster.id", f.began.Cluster.ID, conf.Cluster.ID},
		{"shard.name", f.began.Shard.Name, conf.Shard.Name},
		{"shard.provider.kind", f.began.Shard.Provider.Kind, conf.Shard.Provider.Kind},
	} {
		if one.was != one.is {
			return fmt.Errorf("%s was %q and is %q: %w", one.what, one.was, one.is, errKept)
		}
	}
	for _, one := range []struct {
		what    string
		was, is any
	}{
		{"shard.provider", f.began.Shard.Provider, conf.Shard.Provider}, {"shard.server", f.began.Shard.Server, conf.Shard.Server},
		{"shard.election", f.began.Shard.Election, conf.Shard.Election}, {"storage", f.began.Storage, conf.Storage},
		{"certificates", f.began.Certificates, conf.Certificates},
	} {
		if !reflect.DeepEqual(one.was, one.is) {
			f.log.WarnContext(ctx, "a part of the file of machines changed that holds from the next start on", "part_of_file", one.what)
		}
	}
	return nil
}
