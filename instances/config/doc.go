// Package config is what an operator says about machines: which provider, which
// templates, which groups of which tenant, and what one machine is made of.
//
// [Parse] turns a text in JSON with comments into a [Config] that is complete and
// valid, or into [*Errors], all of them at once, each with its line, its path and
// what to do. docs/reference/machines-jsonc.md has every key. A [Loader] reads it
// from a [Source], keeps the last good one when a reading fails, and keeps the
// groups that are made while the daemon runs. Package instances merges by it, and
// the controllers of groups ask it what there should be.
//
// Merging. From low to high: the defaults, the template, the group (the text's
// with the dynamic one over it), the request for one machine. Variables are laid
// over each other by name. Arguments are merged object into object at every level;
// a list, a text or a number replaces. Type and pool come from the highest that
// names one; user data from the template, else from the defaults, as a whole. What
// a merge gives shares nothing with what it was made of.
//
// Hashes. HashInfra tells a machine that has to be replaced, HashRuntime one that
// is told new variables. Both are taken of the same merge for a group and for a
// machine: that of the group, without the request. So a machine that was made with
// overrides carries the hashes of its group, and is replaced when the group
// changes, not for having been made as it was asked for;
// [MergedConfig.Overridden] tells it apart.
//
// Absence. ErrGroupNotFound is only what a configuration says that could be read,
// at the latest reading. Whatever else went wrong is ErrNotLoaded or ErrInvalid,
// and no reason to take a machine away.
//
// What must never happen here: a key that is passed over, a default in place of a
// value that could not be read, a merge that writes into what others read, or an
// empty configuration where there was an error.
package config
