package registration_test

import (
	"testing"

	"go.uber.org/goleak"
)

// The standard library's server waits half a second after it has refused a body, also
// when it was closed meanwhile.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
}
