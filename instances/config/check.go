package config

import (
	"encoding/base64"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"time"
)

// config checks a whole configuration.
func (k *checker) config(c *Config) {
	k.identifier("cluster.id", c.Cluster.ID)
	k.shard("shard", c.Shard)
	k.storage("storage", c.Storage)
	for _, name := range slices.Sorted(maps.Keys(c.Images)) {
		k.image(join("images", name), name, c.Images[name])
	}
	k.certificates("certificates", c.Certificates)
	k.vars("defaults.vars", c.Defaults.Vars)
	k.userdata("defaults.userdata", c.Defaults.Userdata, c.Shard.UserdataURLs)
	for _, name := range slices.Sorted(maps.Keys(c.Templates)) {
		k.template(join("templates", name), name, c)
	}
	k.groups("groups", c)
}

func (k *checker) image(path, name string, i Image) {
	if !variable.MatchString(name) {
		k.bad(path, "an image's name has to be letters, digits and _, with no digit first: it is used as .Image.%s", clip(name))
	}
	k.word(path+".id", i.ID)
	k.word(path+".fallback", i.Fallback)
	switch {
	case i.ID == "" && len(i.Filters) == 0:
		k.bad(path, "this needs an id, or filters to find one by")
	case i.ID != "" && (len(i.Filters) > 0 || len(i.Owners) > 0 || i.Sort != "" || i.Order != "" || i.Fallback != ""):
		k.bad(path, "this has an id, and nothing to search for; leave one of them out")
	case i.ID == "":
		k.oneOf(path+".sort", i.Sort, "creation-date", "name")
		k.oneOf(path+".order", i.Order, "asc", "desc")
	}
}

func (k *checker) certificates(path string, c Certificates) {
	const year = 8760 * time.Hour
	k.within(path+".ca_ttl", c.CATTL, false, 24*time.Hour, 30*year)
	k.within(path+".server_ttl", c.ServerTTL, false, time.Hour, 5*year)
	k.within(path+".agent_ttl", c.AgentTTL, false, time.Minute, year)
	k.within(path+".operator_ttl", c.OperatorTTL, false, time.Minute, year)
	k.within(path+".operator_token_ttl", c.OperatorTokenTTL, false, time.Minute, 168*time.Hour)
	for _, leaf := range []struct {
		key string
		ttl Duration
	}{{"server_ttl", c.ServerTTL}, {"agent_ttl", c.AgentTTL}, {"operator_ttl", c.OperatorTTL}} {
		if leaf.ttl > c.CATTL {
			k.bad(path+"."+leaf.key, "%v is longer than ca_ttl, %v: a certificate does not outlive its authority", leaf.ttl, c.CATTL)
		}
	}
}

func (k *checker) userdata(path string, u *Userdata, bounds UserdataURLs) {
	if u == nil {
		return
	}
	k.oneOf(path+".source", u.Source, "inline", "url")
	k.oneOf(path+".encoding", u.Encoding, "plain", "base64", "gzip", "base64+gzip")
	if u.Source == "url" {
		k.userdataURL(path, u, bounds)
		return
	}
	switch {
	case u.URL != "":
		k.bad(path+".url", "the source is inline, and has content, not a url")
	case u.Content == "":
		k.bad(path, "the source is inline: content is missing")
	case len(u.Content) > maxInline:
		k.bad(path+".content", "%d bytes; %d are the most", len(u.Content), maxInline)
	case u.Encoding == "gzip":
		k.bad(path+".encoding", "gzip is for a url; inline it is base64+gzip")
	case u.Encoding != "plain":
		if _, err := base64.StdEncoding.DecodeString(u.Content); err != nil {
			k.bad(path+".content", "this is not base64")
		}
	}
}

func (k *checker) userdataURL(path string, u *Userdata, bounds UserdataURLs) {
	parsed, err := url.Parse(u.URL)
	switch {
	case u.Content != "":
		k.bad(path+".content", "the source is url, and has a url, not content")
	case u.URL == "":
		k.bad(path, "the source is url: url is missing")
	case err != nil || parsed.Host == "" || parsed.User != nil || len(u.URL) > 2048:
		k.bad(path+".url", "this has to be a URL with a host, without a user, of at most 2048 bytes")
	case parsed.Scheme != "https" && (parsed.Scheme != "http" || !bounds.AllowHTTP):
		k.bad(path+".url", "this has to begin with https://; http:// needs shard.userdata_urls.allow_http")
	}
}

func (k *checker) template(path, name string, c *Config) {
	t := c.Templates[name]
	k.identifier(path, name)
	if !threeLower.MatchString(t.Kind) {
		k.bad(path+".kind", "%q has to be three letters a to z", clip(t.Kind))
	}
	k.oneOf(path+".arch", t.Arch, "amd64", "arm64")
	k.size(path+".size", t.Size)
	k.word(path+".instance_type", t.InstanceType)
	if t.SubnetPool != "" {
		k.pool(path+".subnet_pool", t.SubnetPool, c.Shard.SubnetPools)
	}
	k.vars(path+".vars", t.Vars)
	k.userdata(path+".userdata", t.Userdata, c.Shard.UserdataURLs)
	for i, image := range t.RequiredImages {
		if _, ok := c.Images[image]; !ok {
			k.bad(fmt.Sprintf("%s.required_images[%d]", path, i), "there is no image %q; there are %s", clip(image), names(c.Images))
		}
	}
	for i, v := range t.RequiredVars {
		if !variable.MatchString(v) {
			k.bad(fmt.Sprintf("%s.required_vars[%d]", path, i), "%q is no name of a variable", clip(v))
		}
	}
	for i, s := range t.RequiredSecrets {
		if !secretName.MatchString(s) {
			k.bad(fmt.Sprintf("%s.required_secrets[%d]", path, i), "%q has to be letters, digits and . _ -, at most 128", clip(s))
		}
	}
}

// groupValues checks what is wrong with a group by itself.
func (k *checker) groupValues(path string, g Group) {
	if g.Template != "" {
		k.identifier(path+".template", g.Template)
	}
	k.size(path+".size", g.Size)
	k.word(path+".instance_type", g.InstanceType)
	k.vars(path+".vars", g.Vars)
	if g.DrainTimeout != nil {
		k.within(path+".drain_timeout", *g.DrainTimeout, true, time.Millisecond, 24*time.Hour)
	}
}

func (k *checker) groups(path string, c *Config) {
	for tenant := range c.Groups {
		k.identifier(join(path, tenant), tenant)
	}
	for key, g := range c.Groups.all() {
		at := join(join(path, key.Tenant), key.Group)
		k.key(at, key)
		k.groupValues(at, g)
		k.group(at, g, c)
	}
}

// group checks that a group goes with the rest of the configuration.
func (k *checker) group(path string, g Group, c *Config) {
	t, ok := c.Templates[g.Template]
	switch {
	case g.Template == "":
		k.bad(path, "template is missing; there are %s", names(c.Templates))
		return
	case !ok:
		k.bad(path+".template", "there is no template %q; there are %s", clip(g.Template), names(c.Templates))
		return
	}
	switch pool := first(g.SubnetPool, t.SubnetPool); {
	case g.SubnetPool != "":
		k.pool(path+".subnet_pool", g.SubnetPool, c.Shard.SubnetPools)
	case pool == "" && len(c.Shard.SubnetPools) > 0:
		k.bad(path, "subnet_pool is missing, here and in the template; there are %s", names(c.Shard.SubnetPools))
	}
}
