// Package backendtest is the conformance suite of backend.Backend: whoever writes a
// backend, or something in front of one, calls [Run] with a constructor of a
// [Fixture].
//
//	func TestConformance(t *testing.T) {
//		backendtest.Run(t, func(t testing.TB) backendtest.Fixture {
//			calls := new(backendtest.Callbacks)
//			return backendtest.Fixture{Backend: ..., Callbacks: calls, CallbackURL: ..., SKU: ..., Manifest: ...}
//		})
//	}
//
// [Cases] are all of them, each a rule of package backend or a part of one. A case
// that needs a [Feature] that the fixture says is lacking, or a part that it does
// not have, is skipped and says so.
//
// Tests of backends call it. What must never happen here: a rule that package
// backend does not state; a case that no wrong backend fails; a case that fails for
// a backend that is quick, or slow.
package backendtest
