package provider_test

import (
	"testing"

	"github.com/berth-cloud/berth/provider"
)

func TestASourceHasExactlyOnePayload(t *testing.T) {
	services := []provider.ServiceSpec{{Name: "web", Image: "web"}}
	kustomize := func(root string, files ...string) *provider.ManifestSource {
		k := &provider.KustomizeSource{Root: root, Files: map[string]string{}}
		for _, f := range files {
			k.Files[f] = "x"
		}
		return &provider.ManifestSource{Kustomize: k}
	}
	type source = provider.DeploymentSource
	for name, c := range map[string]struct {
		source source
		want   []string
	}{
		"services":               {source{Type: "services", Services: services}, nil},
		"helm":                   {source{Type: "helm", Helm: &provider.HelmSource{Chart: "nginx"}}, nil},
		"inline manifests":       {source{Type: "manifests", Manifests: &provider.ManifestSource{Inline: "kind: x"}}, nil},
		"kustomize":              {source{Type: "manifests", Manifests: kustomize("", "kustomization.yaml", "a/b.yaml")}, nil},
		"kustomize below a root": {source{Type: "manifests", Manifests: kustomize("/over/prod/", "over/prod/kustomization.yml", "base/kustomization.yaml")}, nil},
		"argocd":                 {source{Type: "argocd", ArgoCD: &provider.ArgoCDSource{RepoURL: "https://git.example/x"}}, nil},

		"no type":               {source{Services: services}, []string{"type"}},
		"an unknown type":       {source{Type: "compose", Services: services}, []string{"type"}},
		"no payload":            {source{Type: "services"}, []string{"services"}},
		"another payload":       {source{Type: "helm", Services: services}, []string{"helm", "services"}},
		"two payloads":          {source{Type: "services", Services: services, Helm: &provider.HelmSource{}}, []string{"helm"}},
		"all payloads":          {source{Type: "argocd", Services: services, Helm: &provider.HelmSource{}, Manifests: &provider.ManifestSource{}, ArgoCD: &provider.ArgoCDSource{RepoURL: "x"}}, []string{"helm", "manifests", "services"}},
		"no chart":              {source{Type: "helm", Helm: &provider.HelmSource{Chart: " "}}, []string{"helm.chart"}},
		"no repository":         {source{Type: "argocd", ArgoCD: &provider.ArgoCDSource{}}, []string{"argocd.repo_url"}},
		"neither of two":        {source{Type: "manifests", Manifests: &provider.ManifestSource{Inline: "\n"}}, []string{"manifests"}},
		"both of two":           {source{Type: "manifests", Manifests: &provider.ManifestSource{Inline: "x", Kustomize: kustomize("", "kustomization.yaml").Kustomize}}, []string{"manifests"}},
		"no files":              {source{Type: "manifests", Manifests: kustomize("")}, []string{"manifests.kustomize.files"}},
		"no kustomization":      {source{Type: "manifests", Manifests: kustomize("", "a.yaml")}, []string{"manifests.kustomize.files"}},
		"none at the root":      {source{Type: "manifests", Manifests: kustomize("a", "kustomization.yaml")}, []string{"manifests.kustomize.files"}},
		"a file outside":        {source{Type: "manifests", Manifests: kustomize("", "kustomization.yaml", "../x")}, []string{"manifests.kustomize.files"}},
		"an absolute file":      {source{Type: "manifests", Manifests: kustomize("", "kustomization.yaml", "/etc/x")}, []string{"manifests.kustomize.files"}},
		"a root outside":        {source{Type: "manifests", Manifests: kustomize("a/../..", "kustomization.yaml")}, []string{"manifests.kustomize.root"}},
		"services are not read": {source{Type: "services", Services: []provider.ServiceSpec{{}}}, nil},
	} {
		t.Run(name, func(t *testing.T) { wantPaths(t, c.source.Validate(), c.want...) })
	}
}
