package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	moby "github.com/moby/moby/client"
)

// there is all that there is of machines and of the app, each with a word for what it is
// before it.
func (p *plane) there(ctx context.Context) (out []string, err error) {
	for _, look := range []func(context.Context) ([]string, error){
		p.leftRecords, p.leftFolders, p.leftOfHost, p.leftProcesses, p.leftOnEngine,
	} {
		found, err := look(ctx)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
}

// sees fails if what is looked for later cannot be seen while it is there.
func (p *plane) sees(ctx context.Context) error {
	all, err := p.there(ctx)
	if err != nil {
		return err
	}
	for _, what := range p.file.kind.leaves {
		if !slices.ContainsFunc(all, func(s string) bool { return strings.HasPrefix(s, what+" ") }) {
			return fmt.Errorf("machines and an app are there, and no %s of them is seen; it would not be missed either", what)
		}
	}
	return nil
}

// left is what there is once nothing shall be. What ends by itself within a moment is not
// left.
func (p *plane) left(ctx context.Context) (out []string, err error) {
	err = until(ctx, "nothing is left", 10*time.Second, func(ctx context.Context) (string, error) {
		out, err = p.there(ctx)
		return strings.Join(out, "; "), err
	})
	if len(out) > 0 && ctx.Err() == nil {
		err = nil // it is told by what is left
	}
	return out, err
}

func (p *plane) leftRecords(ctx context.Context) (out []string, err error) {
	all, err := p.machines(ctx)
	for i := range all {
		if m := &all[i]; m.Status != "deleted" {
			out = append(out, fmt.Sprintf("record of machine %s, which is %s: %s", m.ID, m.Status, m.Reason))
		}
	}
	nodes, err2 := p.client.Nodes(ctx)
	for i := range nodes.Nodes {
		if n := &nodes.Nodes[i]; n.Kind == "machine" && n.State != "gone" || len(n.Apps) > 0 {
			out = append(out, fmt.Sprintf("node %s, which is %s with %d apps", n.ID, n.State, len(n.Apps)))
		}
	}
	return out, errors.Join(err, err2)
}

func (p *plane) leftFolders(context.Context) (out []string, err error) {
	folders, err := filepath.Glob(filepath.Join(p.file.kind.dir(), "*", "nod*"))
	for _, f := range folders {
		out = append(out, "folder "+f)
	}
	return out, err
}

// owned begins the names that the provider of namespaces gives: the hash of the owner is in
// all of them.
func (p *plane) owned() (netns, link string) {
	sum := sha256.Sum256([]byte(p.file.cluster + "\n" + p.file.owner().Shard))
	owner := hex.EncodeToString(sum[:4])
	return "berth-" + owner + "-", "bm" + owner[:4]
}

// leftOfHost are network namespaces, links, cgroups and mounts.
func (p *plane) leftOfHost(context.Context) (out []string, err error) {
	netns, link := p.owned()
	cgroups, err := filepath.Glob("/sys/fs/cgroup/*/berth-machines/" + netns + "*")
	unified, err2 := filepath.Glob("/sys/fs/cgroup/berth-machines/" + netns + "*")
	for _, dir := range append(cgroups, unified...) {
		out = append(out, "cgroup "+dir)
	}
	for _, at := range []struct{ what, dir, begins string }{
		{"network namespace", "/run/netns", netns}, {"link", "/sys/class/net", link},
	} {
		entries, err3 := os.ReadDir(at.dir)
		if err3 != nil && !errors.Is(err3, fs.ErrNotExist) {
			err = errors.Join(err, err3)
		}
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), at.begins) {
				out = append(out, at.what+" "+e.Name())
			}
		}
	}
	mounts, err3 := os.ReadFile("/proc/self/mountinfo")
	for line := range strings.Lines(string(mounts)) {
		if strings.Contains(line, netns) || strings.Contains(line, filepath.Base(p.s.dir)+"/") {
			out = append(out, "mount "+strings.TrimSpace(line))
		}
	}
	return out, errors.Join(err, err2, err3)
}

// leftProcesses are those that run a program of the stand's, are in a cgroup of a machine
// or in its folder, or see that as one of their mounts, as all that runs in one of
// namespaces does.
func (p *plane) leftProcesses(context.Context) (out []string, err error) {
	netns, _ := p.owned()
	folders := filepath.Base(p.s.dir) + "/machines/"
	ours := map[string]bool{}
	for _, pid := range p.s.running("ingress") {
		ours[fmt.Sprint(pid)] = true
	}
	daemons := map[string]bool{}
	for _, other := range p.s.planes {
		if other.server != nil && other.server.cmd != nil {
			daemons[fmt.Sprint(other.server.cmd.Process.Pid)] = true
		}
	}
	entries, err := os.ReadDir("/proc")
	for _, e := range entries {
		name := e.Name()
		if name[0] < '0' || name[0] > '9' || daemons[name] {
			continue
		}
		// One that has ended meanwhile is none.
		cgroup, _ := os.ReadFile("/proc/" + name + "/cgroup")
		mounts, _ := os.ReadFile("/proc/" + name + "/mountinfo")
		at, _ := os.Readlink("/proc/" + name + "/cwd")
		if ours[name] || strings.HasPrefix(at, p.file.kind.dir()) || strings.Contains(string(cgroup), netns) || strings.Contains(string(mounts), folders) {
			line, _ := os.ReadFile("/proc/" + name + "/cmdline")
			out = append(out, fmt.Sprintf("process %s: %s", name, strings.ReplaceAll(string(line), "\x00", " ")))
		}
	}
	return out, err
}

func (p *plane) leftOnEngine(ctx context.Context) (out []string, err error) {
	containers, err := p.s.engine.ContainerList(ctx, moby.ContainerListOptions{All: true, Filters: p.ours()})
	for i := range containers.Items {
		out = append(out, "container "+strings.Join(containers.Items[i].Names, " "))
	}
	networks, err2 := p.s.engine.NetworkList(ctx, moby.NetworkListOptions{Filters: p.ours()})
	for i := range networks.Items {
		out = append(out, "network "+networks.Items[i].Name)
	}
	volumes, err3 := p.s.engine.VolumeList(ctx, moby.VolumeListOptions{Filters: p.ours()})
	for i := range volumes.Items {
		out = append(out, "volume "+volumes.Items[i].Name)
	}
	return out, errors.Join(err, err2, err3)
}
