// Package apitest runs the real API over a real store for tests, with a rollout
// that happens on paper: attempts go through the steps of a deploy and end as
// the test says, without an engine.
//
// Tests of internal/api and internal/cli use it.
//
// What must never happen here: an answer that the real server would not give;
// only what the controllers do is played.
package apitest
