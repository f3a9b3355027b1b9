package providertest_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/secrets"

	"github.com/berth-cloud/berth/provider/memory/memorytest"
)

// onLogs changes what is asked of Logs.
func onLogs(change func(o *provider.LogOptions)) func(*mutant) {
	return func(m *mutant) {
		m.logs = func(ctx context.Context, i id.ID, opts provider.LogOptions) (io.ReadCloser, error) {
			change(&opts)
			return m.Provider.Logs(ctx, i, opts)
		}
	}
}

// onLine changes each line of a stream that does not follow.
func onLine(change func(l *provider.LogLine)) func(*mutant) {
	return func(m *mutant) {
		m.logs = func(ctx context.Context, i id.ID, opts provider.LogOptions) (io.ReadCloser, error) {
			stream, err := m.Provider.Logs(ctx, i, opts)
			if err != nil {
				return nil, err
			}
			defer stream.Close()
			var out []byte
			for l, err := range provider.DecodeLogs(stream) {
				if err != nil {
					return nil, err
				}
				change(&l)
				if out, err = provider.AppendLogLine(out, l); err != nil {
					return nil, err
				}
			}
			return io.NopCloser(bytes.NewReader(out)), nil
		}
	}
}

// onExec changes what is asked of Exec and what it answers.
func onExec(change func(r *provider.ExecRequest), after func(r *provider.ExecResult)) func(*mutant) {
	return func(m *mutant) {
		m.exec = func(ctx context.Context, i id.ID, req provider.ExecRequest) (*provider.ExecResult, error) {
			if change != nil {
				change(&req)
			}
			res, err := m.Provider.Exec(ctx, i, req)
			if err == nil && after != nil {
				after(res)
			}
			return res, err
		}
	}
}

// lookMutations break Logs, Exec and Resources.
var lookMutations = []mutation{
	{name: "lines have no time", fails: []string{"Logs/Lines"}, break_: onLine(func(l *provider.LogLine) { l.Time = time.Time{} })},
	{name: "lines are all of one stream", fails: []string{"Logs/Lines"}, break_: onLine(func(l *provider.LogLine) { l.Stream = provider.LogStdout })},
	{name: "logs are those of main", fails: []string{"Logs/ByService", "Logs/Unknown"}, break_: onLogs(func(o *provider.LogOptions) { o.ServiceName = "" })},
	{name: "logs are those of all replicas", fails: []string{"Logs/ByReplica", "Logs/Unknown"}, break_: onLogs(func(o *provider.LogOptions) { o.Replica = nil })},
	{name: "logs are from the beginning", fails: []string{"Logs/Since"}, break_: onLogs(func(o *provider.LogOptions) { o.Since = time.Time{} })},
	{name: "logs are whole", fails: []string{"Logs/Tail"}, break_: onLogs(func(o *provider.LogOptions) { o.Tail = 0 })},
	{name: "logs end", fails: []string{"Logs/Follow"}, break_: onLogs(func(o *provider.LogOptions) { o.Follow = false })},
	{name: "logs do not end", fails: []string{"Logs/FollowEnds"}, break_: func(m *mutant) {
		m.logs = func(ctx context.Context, i id.ID, opts provider.LogOptions) (io.ReadCloser, error) {
			return m.Provider.Logs(context.WithoutCancel(ctx), i, opts)
		}
	}},
	{name: "long lines are cut off", fails: []string{"Logs/LongLine"}, break_: onLine(func(l *provider.LogLine) {
		if l.Partial {
			l.Line = l.Line[:100]
		}
	})},
	{name: "what is stopped has no logs", fails: []string{"Logs/Stopped"}, break_: func(m *mutant) {
		m.logs = func(ctx context.Context, i id.ID, opts provider.LogOptions) (io.ReadCloser, error) {
			if st, err := m.Provider.Status(ctx, i); err == nil && st.State == provider.StateStopped {
				return io.NopCloser(bytes.NewReader(nil)), nil
			}
			return m.Provider.Logs(ctx, i, opts)
		}
	}},
	{name: "commands are not run", fails: []string{"Exec/ExitCode", "Exec/Streams", "Exec/NotRunning"}, break_: func(m *mutant) {
		m.exec = func(context.Context, id.ID, provider.ExecRequest) (*provider.ExecResult, error) {
			return &provider.ExecResult{}, nil
		}
	}},
	{name: "streams are one", fails: []string{"Exec/Streams"}, break_: onExec(nil, func(r *provider.ExecResult) {
		r.Stdout, r.Stderr = append(r.Stdout, r.Stderr...), nil
	})},
	{name: "there is no input", fails: []string{"Exec/Stdin"}, break_: onExec(func(r *provider.ExecRequest) { r.Stdin = nil }, nil)},
	{name: "there is no terminal", fails: []string{"Exec/TTY"}, break_: onExec(func(r *provider.ExecRequest) { r.TTY = false }, nil)},
	{name: "the terminal keeps its size", fails: []string{"Exec/TTY"}, break_: onExec(func(r *provider.ExecRequest) { r.Resize = nil }, nil)},
	{name: "commands run in main", fails: []string{"Exec/ByService", "Exec/Unknown"}, break_: onExec(func(r *provider.ExecRequest) { r.ServiceName = "" }, nil)},
	{name: "commands run in any replica", fails: []string{"Exec/ByService", "Exec/Unknown"}, break_: onExec(func(r *provider.ExecRequest) { r.Replica = nil }, nil)},
	{name: "a missing command is a failed one", fails: []string{"Exec/MissingCommand"}, break_: onExec(nil, func(r *provider.ExecResult) {
		if r.ExitCode == provider.ExitNotFound {
			r.ExitCode = 1
		}
	})},
	{name: "the environment stays", fails: []string{"Exec/Environment"}, break_: onExec(func(r *provider.ExecRequest) { r.Env = nil }, nil)},
	{name: "the user stays", fails: []string{"Exec/Environment"}, break_: onExec(func(r *provider.ExecRequest) { r.User = "" }, nil)},
	{name: "nobody tells that there was more", fails: []string{"Exec/OutputBound"}, break_: onExec(nil, func(r *provider.ExecResult) { r.Truncated = false })},
	{name: "writers are ignored", fails: []string{"Exec/FailingWriter"}, break_: onExec(func(r *provider.ExecRequest) { r.Stdout = nil }, nil)},
	{name: "usage is made up", fails: []string{"Resources/Move"}, break_: func(m *mutant) {
		m.resources = func(ctx context.Context, i id.ID) (*provider.ResourceUsage, error) {
			use, err := m.Provider.Resources(ctx, i)
			if err == nil {
				use.CPUPercent, use.MemoryUsedMB = 1, 10
			}
			return use, err
		}
	}},
	{name: "usage is that of one container", fails: []string{"Resources/Limit"}, break_: func(m *mutant) {
		m.resources = func(ctx context.Context, i id.ID) (*provider.ResourceUsage, error) {
			use, err := m.Provider.Resources(ctx, i)
			if err == nil {
				use.MemoryLimitMB /= 3
			}
			return use, err
		}
	}},
}

// late ends a context long after it should have ended, so that nothing waits for
// ever.
func late(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), time.Hour)
}

// contextMutations do not mind that a context has ended.
var contextMutations = []mutation{
	{name: "Status takes no notice of its context", lingers: true, fails: []string{"Cancel/EveryMethod", "Cancel/WhileItHangs"}, break_: func(m *mutant) {
		m.status = func(ctx context.Context, i id.ID) (*provider.InstanceStatus, error) {
			ctx, cancel := late(ctx)
			defer cancel()
			return m.Provider.Status(ctx, i)
		}
	}},
	{name: "Exec takes no notice of its context", lingers: true, fails: []string{"Cancel/LongExec"}, break_: func(m *mutant) {
		m.exec = func(ctx context.Context, i id.ID, req provider.ExecRequest) (*provider.ExecResult, error) {
			ctx, cancel := late(ctx)
			defer cancel()
			return m.Provider.Exec(ctx, i, req)
		}
	}},
	{name: "a call that was cut off is not repeated", fails: []string{"Cancel/ThenRepeat"}, break_: func(m *mutant) {
		cut := map[id.ID]error{}
		m.provision = func(ctx context.Context, req provider.ProvisionRequest) (*provider.ProvisionResult, error) {
			if err := cut[req.InstanceID]; err != nil {
				return nil, err
			}
			res, err := m.Provider.Provision(ctx, req)
			if errors.Is(err, context.Canceled) {
				cut[req.InstanceID] = err
			}
			return res, err
		}
	}},
	{name: "a call that was cut off leaves something", fails: []string{"Cancel/ThenDeprovision"}, break_: func(m *mutant) {
		m.provision = func(ctx context.Context, req provider.ProvisionRequest) (*provider.ProvisionResult, error) {
			res, err := m.Provider.Provision(ctx, req)
			if errors.Is(err, context.Canceled) {
				ref := secrets.Ref{Tenant: memorytest.Tenant, Key: "left/" + req.InstanceID.String()}
				_, _ = m.world.Vault.Put(context.WithoutCancel(ctx), ref, secrets.NewSecretString("x"))
			}
			return res, err
		}
	}},
	{name: "calls leave goroutines", lingers: true, fails: []string{"Cancel/Goroutines"}, break_: func(m *mutant) {
		m.resources = func(ctx context.Context, i id.ID) (*provider.ResourceUsage, error) {
			go func() { <-time.After(time.Hour) }()
			return m.Provider.Resources(ctx, i)
		}
	}},
}
