package spec

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/distribution/reference"

	"github.com/berth-cloud/berth/internal/spec/yamlfile"
)

const maxImageBytes = 512

// ImageRef is an image reference in its complete form.
type ImageRef struct {
	Registry   string // "docker.io", "ghcr.io", "localhost:5000"
	Repository string // "library/nginx"
	Tag        string // "latest" when neither a tag nor a digest was named; else may be ""
	Digest     string // "sha256:…", or ""
}

// String is the reference with nothing left out.
func (r ImageRef) String() string {
	s := r.Registry + "/" + r.Repository
	if r.Tag != "" {
		s += ":" + r.Tag
	}
	if r.Digest != "" {
		s += "@" + r.Digest
	}
	return s
}

// Pinned reports whether the reference names its content, so that it can never
// mean another image.
func (r ImageRef) Pinned() bool { return r.Digest != "" }

var bareImageID = regexp.MustCompile(`^(sha256:)?[0-9a-f]{64}$`)

// ParseImage completes an image reference the way engines do: nginx is
// docker.io/library/nginx:latest.
func ParseImage(s string) (ImageRef, error) {
	if err := imageMistake(s); err != nil {
		return ImageRef{}, err
	}
	named, err := reference.ParseNormalizedNamed(s)
	switch {
	case err != nil && parsesInLowerCase(s):
		return ImageRef{}, yamlfile.Advise(yamlfile.Quote(s)+" has upper-case letters in its name", "write the repository in lower case")
	case errors.Is(err, reference.ErrNameTooLong):
		return ImageRef{}, yamlfile.Advise("the image's name is too long", "the most is 255 characters")
	case err != nil:
		return ImageRef{}, yamlfile.Advise(yamlfile.Quote(s)+" is not an image", "write [registry/]repository[:tag][@sha256:digest]")
	}
	named = reference.TagNameOnly(named)
	ref := ImageRef{Registry: reference.Domain(named), Repository: reference.Path(named)}
	if tagged, ok := named.(reference.Tagged); ok {
		ref.Tag = tagged.Tag()
	}
	if digested, ok := named.(reference.Digested); ok {
		ref.Digest = digested.Digest().String()
	}
	return ref, nil
}

// parsesInLowerCase reports whether nothing but its case is wrong with a
// reference.
func parsesInLowerCase(s string) bool {
	_, err := reference.ParseNormalizedNamed(strings.ToLower(s))
	return err == nil
}

// imageMistake knows the mistakes that the grammar has no word for.
func imageMistake(s string) error {
	switch {
	case s == "":
		return yamlfile.Advise("the image is empty", "name the image to run, for example ghcr.io/shop/web:1.4")
	case len(s) > maxImageBytes:
		return yamlfile.Advise(fmt.Sprintf("the image has %d characters", len(s)), fmt.Sprintf("the most is %d", maxImageBytes))
	case strings.Contains(s, "://"):
		_, rest, _ := strings.Cut(s, "://")
		return yamlfile.Advise(yamlfile.Quote(s)+" is an address, not an image", "write "+yamlfile.QuoteBare(rest))
	case bareImageID.MatchString(s):
		return yamlfile.Advise("this is the id of an image, not its name", "give the image a tag and name that")
	case strings.HasSuffix(s, ":"):
		return yamlfile.Advise(yamlfile.Quote(s)+" ends in a colon", "write the tag, or remove the colon")
	case strings.ContainsAny(s, " \t\n"):
		return yamlfile.Advise(yamlfile.Quote(s)+" has white space", "write [registry/]repository[:tag][@sha256:digest]")
	}
	return nil
}
