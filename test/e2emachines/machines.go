package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/berth-cloud/berth/internal/wire"
)

// seen are all machines that there ever were, by id, as they were last.
type seen map[string]wire.Machine

func (s seen) registered() (n int) {
	for _, m := range s {
		if !m.RegisteredAt.IsZero() {
			n++
		}
	}
	return n
}

// machines lists those there are, and keeps what is seen.
func (p *plane) machines(ctx context.Context) ([]wire.Machine, error) {
	list, err := p.client.Machines(ctx, true)
	if err != nil {
		return nil, err
	}
	for i := range list.Machines {
		p.seen[list.Machines[i].ID] = list.Machines[i]
	}
	return list.Machines, nil
}

// counts are machines by status.
type counts map[string]int

func count(all []wire.Machine) counts {
	c := counts{}
	for i := range all {
		c[all[i].Status]++
	}
	return c
}

// there are those that are not on their way out.
func (c counts) there() (n int) {
	for status, k := range c {
		if status != "deleting" && status != "deleted" {
			n += k
		}
	}
	return n
}

func (c counts) String() string {
	if len(c) == 0 {
		return "no machines"
	}
	var parts []string
	for _, status := range slices.Sorted(maps.Keys(c)) {
		parts = append(parts, fmt.Sprintf("%d %s", c[status], status))
	}
	return strings.Join(parts, ", ")
}

// steady waits until so many machines are ready, none of those that are to be gone is
// there, and no other is anything but deleted. check is asked of every look.
func (p *plane) steady(ctx context.Context, what string, size int, gone []string, check func([]wire.Machine) error) error {
	return until(ctx, what, p.file.kind.within, func(ctx context.Context) (string, error) {
		all, err := p.machines(ctx)
		if err != nil {
			return "", err
		}
		if check != nil {
			if err := check(all); err != nil {
				return "", err
			}
		}
		c := count(all)
		for i := range all {
			if m := &all[i]; slices.Contains(gone, m.ID) && m.Status != "deleted" {
				return m.ID + " is " + m.Status + " " + m.Reason, nil
			}
		}
		if c["ready"] != size || len(all) != size+c["deleted"] {
			return "there are " + c.String(), nil
		}
		return "", nil
	})
}

// ready are the ids of the machines that are.
func (p *plane) ready(ctx context.Context) (ids []string, err error) {
	all, err := p.machines(ctx)
	for i := range all {
		if all[i].Status == "ready" {
			ids = append(ids, all[i].ID)
		}
	}
	return ids, err
}
