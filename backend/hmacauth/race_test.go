//go:build race

package hmacauth_test

// raceEnabled says that the race detector allocates, too.
const raceEnabled = true
