// Package applogs reads what the services of an app print: over all replicas
// and releases, from the containers there are and from the kept ends of the
// logs of those that are gone.
//
// internal/daemon builds a [Source] and hands it to the API.
//
// What must never happen here: a line held back until a container ends, a
// buffer that grows with the log, a follower that misses the container a deploy
// started.
package applogs
