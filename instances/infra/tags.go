package infra

import "maps"

// TagPrefix begins the tags that are ours; a request may not set one.
const TagPrefix = "berth-"

// The tags of ownership, on every machine and on all that is made for it.
// Keys and values are within what every kind of provider allows: lower case
// letters, digits and '-', at most 63 characters.
const (
	TagCluster  = TagPrefix + "cluster"
	TagShard    = TagPrefix + "shard"
	TagInstance = TagPrefix + "instance"
	TagGroup    = TagPrefix + "group"
	TagTemplate = TagPrefix + "template"
	TagKind     = TagPrefix + "kind"
	// TagRequest holds Digest, by which a repeated create is told from another.
	TagRequest = TagPrefix + "request"
)

// Owner is whose machines they are: a shard of a cluster. A provider is opened
// for one owner and touches no machine of another.
type Owner struct {
	ClusterID string
	Shard     string
}

// Validate is ErrInvalidRequest unless both are identifiers.
func (o Owner) Validate() error {
	if err := checkIdentifier("cluster", o.ClusterID); err != nil {
		return err
	}
	return checkIdentifier("shard", o.Shard)
}

// Owns reports whether a machine with these tags is o's.
func (o Owner) Owns(tags map[string]string) bool {
	return o.ClusterID != "" && o.Shard != "" &&
		tags[TagCluster] == o.ClusterID && tags[TagShard] == o.Shard && tags[TagInstance] != ""
}

// Is reports whether the machine with these tags is o's and of that instance.
// Without it nothing is read, stopped or removed on a provider's id alone.
func (o Owner) Is(tags map[string]string, instanceID string) bool {
	return o.Owns(tags) && tags[TagInstance] == instanceID
}

// Check is ErrInvalidRequest when something is asked of o's provider for
// another owner.
func (o Owner) Check(asked Owner) error {
	if asked != o {
		return invalid("this provider is for shard %q of cluster %q, not for shard %q of cluster %q",
			o.Shard, o.ClusterID, asked.Shard, asked.ClusterID)
	}
	return nil
}

// Tags are all tags of the request's machine: the request's own and ours.
func (r CreateInstanceRequest) Tags() map[string]string {
	tags := maps.Clone(r.CustomTags)
	if tags == nil {
		tags = map[string]string{}
	}
	maps.Copy(tags, map[string]string{
		TagCluster: r.ClusterID, TagShard: r.Shard, TagInstance: r.InstanceID,
		TagGroup: r.Group, TagTemplate: r.Template, TagKind: r.InstanceKind,
		TagRequest: r.Digest(),
	})
	return tags
}
