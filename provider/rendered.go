package provider

// RenderedSource is a DeploymentSource with every variable filled in: what a
// provider applies. Secret values are not in it; they travel as SecretBindings and
// become known when the source is applied.
type RenderedSource struct {
	Type      SourceType         `json:"type"`
	Services  []ServiceSpec      `json:"services,omitempty"`
	Helm      *RenderedHelm      `json:"helm,omitempty"`
	Manifests *RenderedManifests `json:"manifests,omitempty"`
	ArgoCD    *ArgoCDSource      `json:"argocd,omitempty"`
}

// RenderedHelm is a chart with its final values.
type RenderedHelm struct {
	Repo        string         `json:"repo,omitempty"`
	Chart       string         `json:"chart"`
	Version     string         `json:"version,omitempty"`
	ReleaseName string         `json:"release_name,omitempty"`
	Namespace   string         `json:"namespace,omitempty"`
	Values      map[string]any `json:"values,omitempty"`
}

// RenderedManifests are Kubernetes objects.
type RenderedManifests struct {
	// Docs are YAML, one document each, in the order in which they are applied.
	Docs []string `json:"docs"`
}
