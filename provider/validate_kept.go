package provider

// validateVolumeIDs is about the ids of one mount by themselves.
func validateVolumeIDs(p *problems, where string, ids []string) {
	if len(ids) > MaxReplicas {
		p.add(where, "has %d ids, the most is %d", len(ids), MaxReplicas)
		return
	}
	for i, v := range ids {
		if len(v) > MaxVolumeIDLength || !labelForm.MatchString(v) {
			p.add(at(where, i), "%q is not 1 to %d lower-case letters, digits and hyphens, with a letter or digit at both ends", clip(v), MaxVolumeIDLength)
		}
	}
}

// validateKept is about the ids of all mounts: whether the workload can have any,
// whether there are enough, and whether each stands for one volume. Members that mount
// the volume of one name mount the same ones, which validateSharedVolumes looks at.
func validateKept(p *problems, kind WorkloadKind, services []ServiceSpec) {
	replicas := replicasOf(services)
	taken, done := map[string]string{}, map[string]bool{}
	for i, s := range services {
		for j, v := range s.Volumes {
			if len(v.IDs) == 0 || len(v.IDs) > MaxReplicas || done[v.Name] {
				continue
			}
			done[v.Name] = true
			where := at(at("services", i)+".volumes", j) + ".ids"
			switch {
			case kind != KindStatefulSet:
				p.add(where, "are for a %s, whose replicas have a volume each", KindStatefulSet)
			case len(v.IDs) < replicas:
				p.add(where, "has %d ids for %d replicas", len(v.IDs), replicas)
			}
			for k, volume := range v.IDs {
				if first := taken[volume]; first != "" {
					p.add(at(where, k), "%q is taken by %s", clip(volume), first)
					continue
				}
				taken[volume] = at(where, k)
			}
		}
	}
}

// validateMoves keeps a volume with its replica in a deploy: an old and a new
// replica of two indices may run at once.
func validateMoves(p *problems, before, after []ServiceSpec) {
	index := map[string]int{}
	for _, s := range before {
		for _, v := range s.Volumes {
			for k, volume := range v.IDs {
				index[volume] = k
			}
		}
	}
	for i, s := range after {
		for j, v := range s.Volumes {
			for k, volume := range v.IDs {
				if old, had := index[volume]; had && old != k {
					p.add(at(at(at("services", i)+".volumes", j)+".ids", k), "%q is the volume of replica %d; it stays with it", clip(volume), old)
				}
			}
		}
	}
}

// hasVolumeIDs reports whether a volume is the tenant's and not the instance's.
func hasVolumeIDs(services []ServiceSpec) bool {
	for _, s := range services {
		for _, v := range s.Volumes {
			if len(v.IDs) > 0 {
				return true
			}
		}
	}
	return false
}

// replicasOf is how many groups the services ask for.
func replicasOf(services []ServiceSpec) int {
	replicas := 1
	for _, s := range services {
		if s.EffectiveRole() == RoleMain {
			replicas = max(replicas, s.Resources.Replicas)
		}
	}
	return replicas
}
