package provider

import (
	"path"
	"strings"
)

// Validate holds the source against the rule of one payload, the one that Type
// names, and looks for what each payload cannot do without. Container services it
// leaves to ValidateServices. What is wrong is a *ValidationError.
func (s DeploymentSource) Validate() error {
	var p problems
	present := map[SourceType]bool{
		SourceServices: len(s.Services) > 0, SourceHelm: s.Helm != nil,
		SourceManifests: s.Manifests != nil, SourceArgoCD: s.ArgoCD != nil,
	}
	fields := map[SourceType]string{
		SourceServices: "services", SourceHelm: "helm", SourceManifests: "manifests", SourceArgoCD: "argocd",
	}
	if _, known := present[s.Type]; !known {
		p.add("type", "%q is not one of services, helm, manifests, argocd", s.Type)
		return p.err()
	}
	for _, kind := range []SourceType{SourceServices, SourceHelm, SourceManifests, SourceArgoCD} {
		switch {
		case kind == s.Type && !present[kind]:
			p.add(fields[kind], "is missing; a source of type %s needs it", s.Type)
		case kind != s.Type && present[kind]:
			p.add(fields[kind], "does not belong to a source of type %s; exactly one payload is allowed", s.Type)
		}
	}
	if present[s.Type] {
		s.validatePayload(&p)
	}
	return p.err()
}

func (s DeploymentSource) validatePayload(p *problems) {
	switch s.Type {
	case SourceHelm:
		require(p, "helm.chart", s.Helm.Chart)
	case SourceManifests:
		s.Manifests.validate(p)
	case SourceArgoCD:
		require(p, "argocd.repo_url", s.ArgoCD.RepoURL)
	}
}

func (m *ManifestSource) validate(p *problems) {
	inline := strings.TrimSpace(m.Inline) != ""
	switch {
	case inline && m.Kustomize != nil:
		p.add("manifests", "has both inline and kustomize; give one of them")
	case !inline && m.Kustomize == nil:
		p.add("manifests", "has neither inline nor kustomize; give one of them")
	case m.Kustomize != nil:
		m.Kustomize.validate(p)
	}
}

func (k *KustomizeSource) validate(p *problems) {
	const where = "manifests.kustomize"
	if len(k.Files) == 0 {
		p.add(where+".files", "is empty; it needs at least a kustomization.yaml")
		return
	}
	for _, name := range sortedKeys(k.Files) {
		if !relativePath(name) {
			p.add(where+".files", "%q is not a relative, clean path", name)
		}
	}
	root := path.Clean(strings.TrimPrefix(k.Root, "/"))
	if root != "." && !relativePath(root) {
		p.add(where+".root", "%q leads out of the files", k.Root)
		return
	}
	for _, name := range []string{"kustomization.yaml", "kustomization.yml", "Kustomization"} {
		if _, ok := k.Files[path.Join(root, name)]; ok {
			return
		}
	}
	p.add(where+".files", "there is no kustomization.yaml in %q", root)
}

// relativePath reports whether name is clean and stays below where it begins.
func relativePath(name string) bool {
	return name != "" && name != "." && path.Clean(name) == name && !path.IsAbs(name) &&
		name != ".." && !strings.HasPrefix(name, "../") && !strings.ContainsRune(name, 0)
}
