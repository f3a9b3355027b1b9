package provider

// SourceType says what a workload is made from.
type SourceType string

const (
	// SourceServices is container services, which every provider deploys.
	SourceServices SourceType = "services"

	// SourceHelm is a Helm chart.
	SourceHelm SourceType = "helm"

	// SourceManifests is Kubernetes objects, written out or from a kustomization.
	SourceManifests SourceType = "manifests"

	// SourceArgoCD is an Application that Argo CD deploys.
	SourceArgoCD SourceType = "argocd"
)

// DeploymentSource is what a workload is made from, as its author wrote it:
// exactly one payload, the one that Type names.
type DeploymentSource struct {
	Type      SourceType      `json:"type" validate:"required"`
	Services  []ServiceSpec   `json:"services,omitempty"`
	Helm      *HelmSource     `json:"helm,omitempty"`
	Manifests *ManifestSource `json:"manifests,omitempty"`
	ArgoCD    *ArgoCDSource   `json:"argocd,omitempty"`
}

// HelmSource is a chart and its values. Secret values come in when the chart is
// applied and are kept in no snapshot.
type HelmSource struct {
	// Repo is the repository, with the scheme https or oci.
	Repo    string `json:"repo,omitempty"`
	Chart   string `json:"chart" validate:"required"`
	Version string `json:"version,omitempty"`

	// ReleaseName is taken from the instance when empty.
	ReleaseName string         `json:"release_name,omitempty"`
	Namespace   string         `json:"namespace,omitempty"`
	Values      map[string]any `json:"values,omitempty"`

	// ValuesFiles are files of the chart, applied in order and before Values.
	ValuesFiles []string `json:"values_files,omitempty"`
}

// ManifestSource is Kubernetes objects: Inline or Kustomize, not both.
type ManifestSource struct {
	// Inline is YAML of one or more documents.
	Inline    string           `json:"inline,omitempty"`
	Kustomize *KustomizeSource `json:"kustomize,omitempty"`
}

// KustomizeSource is a kustomization that is held in memory and reaches nothing
// outside.
type KustomizeSource struct {
	// Files are contents by relative, clean path.
	Files map[string]string `json:"files"`

	// Root is the directory to build, the one of all files when empty.
	Root string `json:"root,omitempty"`
}

// ArgoCDSource is an Application of Argo CD that Berth manages.
type ArgoCDSource struct {
	Project        string         `json:"project,omitempty"`
	RepoURL        string         `json:"repo_url" validate:"required"`
	Path           string         `json:"path,omitempty"`
	TargetRevision string         `json:"target_revision,omitempty"`
	DestServer     string         `json:"dest_server,omitempty"`
	DestNamespace  string         `json:"dest_namespace,omitempty"`
	Helm           *ArgoHelm      `json:"helm,omitempty"`
	SyncPolicy     ArgoSyncPolicy `json:"sync_policy,omitzero"`
}

// ArgoHelm is for an Application whose repository holds a chart.
type ArgoHelm struct {
	ValueFiles []string          `json:"value_files,omitempty"`
	Parameters map[string]string `json:"parameters,omitempty"`
}

// ArgoSyncPolicy says what Argo CD does by itself. SelfHeal and Prune have a
// meaning only with Automated.
type ArgoSyncPolicy struct {
	Automated bool `json:"automated,omitempty"`
	SelfHeal  bool `json:"self_heal,omitempty"`
	Prune     bool `json:"prune,omitempty"`
}
