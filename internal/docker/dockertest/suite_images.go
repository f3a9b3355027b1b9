package dockertest

import (
	"context"
	"errors"
	"strings"

	"github.com/berth-cloud/berth/internal/docker"
)

var imageCases = []SuiteCase{
	{"ImageIsIdentifiedByReferenceAndByID", func(s *suite) {
		byRef, err := s.Runtime.Image(s.ctx, s.Sleep.Image)
		s.must(err, "image by reference")
		info, err := s.Runtime.Info(s.ctx)
		s.must(err, "info")
		if !strings.HasPrefix(byRef.ID, "sha256:") || byRef.OS != "linux" || byRef.Architecture != info.Architecture {
			s.Fatalf("image %+v on %s", byRef, info.Architecture)
		}
		byID, err := s.Runtime.Image(s.ctx, byRef.ID)
		s.must(err, "image by id")
		if byID.ID != byRef.ID {
			s.Fatalf("by id %s, by reference %s", byID.ID, byRef.ID)
		}
	}},
	{"AMissingImageIsImageNotFound", func(s *suite) {
		for _, ref := range []string{s.Prefix + "/none:1", "sha256:" + strings.Repeat("0", 64)} {
			_, err := s.Runtime.Image(s.ctx, ref)
			s.wantErr(err, docker.IsImageNotFound, "image "+ref)
		}
	}},
	{"PullOfAnUnknownImageIsImageNotFound", func(s *suite) {
		s.need(s.UnknownImage != "", "registry")
		s.wantErr(s.Runtime.Pull(s.ctx, s.UnknownImage, nil, nil), docker.IsImageNotFound, "pull")
	}},
	{"PullBringsTheImageAndReportsProgress", func(s *suite) {
		s.need(s.PullImage != "", "registry")
		_, err := s.Runtime.Image(s.ctx, s.PullImage)
		s.wantErr(err, docker.IsImageNotFound, "image before the pull")
		steps := 0
		s.must(s.Runtime.Pull(s.ctx, s.PullImage, nil, func(p docker.PullProgress) {
			if p.Status != "" {
				steps++
			}
		}), "pull")
		if steps == 0 {
			s.Error("no progress was reported")
		}
		im, err := s.Runtime.Image(s.ctx, s.PullImage)
		s.must(err, "image after the pull")
		if len(im.Digests) == 0 {
			s.Fatal("a pulled image has no repository digest")
		}
		byDigest, err := s.Runtime.Image(s.ctx, im.Digests[0])
		s.must(err, "image by digest")
		if byDigest.ID != im.ID {
			s.Fatalf("by digest %s, by tag %s", byDigest.ID, im.ID)
		}
		s.must(s.Runtime.Pull(s.ctx, s.PullImage, nil, nil), "pull again")
	}},
	{"PullOfAPrivateImageNeedsItsCredentials", func(s *suite) {
		s.need(s.PrivateImage != "", "private registry")
		unauthorized := func(err error) bool { return errors.Is(err, docker.ErrUnauthorized) }
		s.wantErr(s.Runtime.Pull(s.ctx, s.PrivateImage, nil, nil), unauthorized, "pull without credentials")
		wrong := s.PrivateAuth
		wrong.Password += "x"
		err := s.Runtime.Pull(s.ctx, s.PrivateImage, &wrong, nil)
		s.wantErr(err, unauthorized, "pull with wrong credentials")
		if strings.Contains(err.Error(), wrong.Password) {
			s.Fatal("the error shows the password")
		}
		s.must(s.Runtime.Pull(s.ctx, s.PrivateImage, &s.PrivateAuth, nil), "pull")
		_, err = s.Runtime.Image(s.ctx, s.PrivateImage)
		s.must(err, "image")
	}},
	{"PullHonoursItsContext", func(s *suite) {
		s.need(s.PullImage != "", "registry")
		ctx, cancel := context.WithCancel(s.ctx)
		cancel()
		err := s.Runtime.Pull(ctx, s.PullImage, nil, nil)
		s.wantErr(err, func(err error) bool { return errors.Is(err, context.Canceled) }, "pull")
	}},
}
