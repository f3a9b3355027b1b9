package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/berth-cloud/berth/backend"
)

// named asks by every name that the lease has.
func (l *life) named(ctx context.Context, serves string) error {
	for _, host := range l.hosts() {
		if v, err := versionAt(ctx, l.client, l.web, host); err != nil || v != serves {
			return fmt.Errorf("%q is %q and should be %q: %w", host, v, serves, err)
		}
	}
	return nil
}

// nameless is when none of them leads anywhere.
func (l *life) nameless(ctx context.Context) error {
	for _, host := range l.hosts() {
		if v, err := versionAt(ctx, l.client, l.web, host); !errors.Is(err, errNoRoute) {
			return fmt.Errorf("%q still leads to %q, %w", host, v, err)
		}
	}
	return nil
}

func (l *life) hosts() []string {
	if l.domain == "" {
		return l.names
	}
	return append(slices.Clone(l.names), l.domain)
}

// domains gives the lease another domain of its own, as whoever holds it does: it says
// what it wants again and again, and may be told nothing.
func (l *life) domains(ctx context.Context, r *result, domain string) error {
	ctx, cancel := context.WithTimeout(ctx, effectTime)
	defer cancel()
	before, err := l.containers(ctx)
	if err != nil {
		return err
	}
	items := slices.Clone(l.shape.items)
	items[len(items)-1].CustomDomain = domain
	last := l.domain
	l.domain = domain
	for {
		_, err := read(ctx, func(ctx context.Context) (struct{}, error) {
			return struct{}{}, l.holder.ReconcileCustomDomain(ctx, l.lease, items)
		})
		if err != nil {
			return err
		}
		if err = l.taken(ctx, last, before); err == nil {
			r.done(1)
			return nil
		}
		if !pause(ctx, askEvery) {
			return err
		}
	}
}

// taken is when the lease has its domain, not the one before, and all its containers.
func (l *life) taken(ctx context.Context, last string, before []string) error {
	info, err := l.holder.GetProvision(ctx, l.lease)
	if err != nil {
		return err
	}
	if item := info.Items[len(info.Items)-1]; item.CustomDomain != l.domain {
		return fmt.Errorf("the lease has %q and should have %q", item.CustomDomain, l.domain)
	}
	if err := l.named(ctx, l.serving); err != nil {
		return err
	}
	if last != "" {
		if _, err := versionAt(ctx, l.client, l.web, last); !errors.Is(err, errNoRoute) {
			return fmt.Errorf("%q still leads somewhere: %w", last, err)
		}
	}
	now, err := l.holder.GetInfo(ctx, l.lease)
	if err != nil {
		return err
	}
	if ids := containersOf(now); !slices.Equal(ids, before) {
		return fmt.Errorf("the containers are %v and were %v", ids, before)
	}
	return nil
}

func containersOf(info *backend.LeaseInfo) []string {
	out := []string{}
	for _, s := range info.Services {
		for _, one := range s.Instances {
			out = append(out, one.ContainerID)
		}
	}
	slices.Sort(out)
	return out
}
