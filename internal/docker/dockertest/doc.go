// Package dockertest is a simulated Docker engine and the conformance suite
// that it and the client of a real engine both pass.
//
// [Engine] implements docker.Runtime on virtual time: a container listens,
// turns healthy, logs, crashes and comes back at the instants its image's
// [Behaviour] scripts, and none of it takes real time. So do the commands
// executed in it; files copied into it can be read back by [Engine.FileIn].
// Property tests of the application controller run on it, as do benchmarks of a
// pass over many services. [Engine.Script] makes calls fail, hang or lie; [Engine.OnCall]
// cuts the caller before and after every effect; [Engine.History] tells what
// happened to every container. [RunSuite] holds the contract of docker.Runtime
// as tests.
//
// Only tests and benchmarks call it.
//
// What must never happen here: a behaviour that the real engine does not have
// and no option names. Whoever passes on the simulated engine must be able to
// rely on it.
package dockertest
