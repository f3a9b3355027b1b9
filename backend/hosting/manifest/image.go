package manifest

import (
	"regexp"

	"github.com/distribution/reference"
)

// imageForm is the grammar of references, with the digests that engines know. It is
// in the schema too.
var imageForm = regexp.MustCompile(`^` +
	`((?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])(?:\.(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9]))*(?::[0-9]+)?/)?` + // registry
	`[a-z0-9]+(?:(?:[._]|__|[-]+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:[._]|__|[-]+)[a-z0-9]+)*)*` + // repository
	`(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?` + // tag
	`(?:@(?:sha256:[0-9a-f]{64}|sha384:[0-9a-f]{96}|sha512:[0-9a-f]{128}))?$`)

// image reads a reference and completes it.
func (r *reader) image(at *place, n *node) string {
	s, ok := r.text(at, n)
	if !ok {
		return ""
	}
	if len(s) > maxImage || !imageForm.MatchString(s) {
		r.add(at, "is no image: write [registry/]repository[:tag][@sha256:digest], the repository in lower case, with at most %d characters", maxImage)
		return ""
	}
	named, err := reference.ParseNormalizedNamed(s)
	if err != nil {
		r.add(at, "is no image: its name is too long, or it is the id of one; write [registry/]repository[:tag][@sha256:digest]")
		return ""
	}
	return reference.TagNameOnly(named).String()
}

// Registry is the domain of an image of a Service, such as "docker.io"; "" when it
// is no reference.
func Registry(image string) string {
	named, err := reference.ParseNormalizedNamed(image)
	if err != nil {
		return ""
	}
	return reference.Domain(named)
}
