//go:build !race

package hmacauth_test

const raceEnabled = false
