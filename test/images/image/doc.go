// Package image makes images of one static Go program FROM scratch and loads
// them into a Docker engine, without a Dockerfile, a registry or the docker
// command.
//
// Programs call it: test/images/build, the benchmarks and the zero-drop run.
// Tests have internal/docker/dockertest/testimage, which fails the test by
// itself, pushes to a registry and caches what it compiled. The same
// program and configuration always give the same image id, so that what has
// been loaded once is not loaded again. It must never be linked into Berth.
package image
