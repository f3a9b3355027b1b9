package dockertest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"

	"github.com/berth-cloud/berth/internal/docker"
)

var moveCases = []SuiteCase{
	{"ASavedImageIsLoadedWithItsIDAndItsTag", func(s *suite) {
		mover := s.mover()
		before, err := s.Runtime.Image(s.ctx, s.Sleep.Image)
		s.must(err, "image")
		for _, ref := range []string{s.Sleep.Image, before.ID} {
			var archive bytes.Buffer
			s.must(mover.SaveImage(s.ctx, ref, &archive), "save "+ref)
			if archive.Len() == 0 {
				s.Fatal("the archive is empty")
			}
			s.must(mover.LoadImage(s.ctx, &archive), "load")
			after, err := s.Runtime.Image(s.ctx, s.Sleep.Image)
			s.must(err, "image after the load")
			if after.ID != before.ID || !slices.Equal(after.Tags, before.Tags) {
				s.Fatalf("it is %+v, and was %+v", after, before)
			}
		}
	}},
	{"SavingAMissingImageIsImageNotFound", func(s *suite) {
		var archive bytes.Buffer
		s.wantErr(s.mover().SaveImage(s.ctx, s.Prefix+"/none:1", &archive), docker.IsImageNotFound, "save")
		if archive.Len() > 0 {
			s.Fatalf("%d bytes were written", archive.Len())
		}
	}},
	{"AnArchiveWithoutItsEndIsRefused", func(s *suite) {
		mover := s.mover()
		var archive bytes.Buffer
		s.must(mover.SaveImage(s.ctx, s.Sleep.Image, &archive), "save")
		for _, half := range []int{archive.Len() / 2, 0} {
			if err := mover.LoadImage(s.ctx, bytes.NewReader(archive.Bytes()[:half])); err == nil {
				s.Errorf("%d of %d bytes are taken for an archive", half, archive.Len())
			}
		}
		broken := errors.New("it broke off")
		r := io.MultiReader(bytes.NewReader(archive.Bytes()[:archive.Len()/2]), brokenReader{broken})
		s.wantErr(mover.LoadImage(s.ctx, r), func(err error) bool { return errors.Is(err, broken) }, "load from a reader that fails")
	}},
	{"SavingEndsWithAWriterThatFails", func(s *suite) {
		full := errors.New("it is full")
		s.wantErr(s.mover().SaveImage(s.ctx, s.Sleep.Image, brokenWriter{full}), func(err error) bool { return errors.Is(err, full) }, "save")
	}},
	{"MovingHonoursItsContext", func(s *suite) {
		mover := s.mover()
		ctx, cancel := context.WithCancel(s.ctx)
		cancel()
		canceled := func(err error) bool { return errors.Is(err, context.Canceled) }
		s.wantErr(mover.SaveImage(ctx, s.Sleep.Image, io.Discard), canceled, "save")
		s.wantErr(mover.LoadImage(ctx, bytes.NewReader(nil)), canceled, "load")
	}},
}

// mover is the engine as one that moves images; one that does not skips the test.
func (s *suite) mover() docker.ImageMover {
	s.Helper()
	m, ok := s.Runtime.(docker.ImageMover)
	s.need(ok, "engine that moves images")
	return m
}

type brokenReader struct{ err error }

func (r brokenReader) Read([]byte) (int, error) { return 0, r.err }

type brokenWriter struct{ err error }

func (w brokenWriter) Write([]byte) (int, error) { return 0, w.err }
