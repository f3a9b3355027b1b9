//go:build race

package providertest_test

// stride is the distance of the broken providers that are tried: the race
// detector finds in some of them what it would find in all, and `make test` tries
// all without it.
const stride = 7
