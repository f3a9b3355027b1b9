//go:build !race

package providertest_test

// stride is the distance of the broken providers that are tried.
const stride = 1
