// Package providertest is the conformance suite of provider.Provider: whoever
// writes a driver calls [Run] with a constructor of a [Fixture], and [Model] for
// random operations with crashes.
//
//	func TestConformance(t *testing.T) {
//		providertest.Run(t, func(t testing.TB) providertest.Fixture {
//			return providertest.Fixture{Provider: ..., Vault: ..., Tenant: ..., Images: ..., Wait: ...}
//		})
//	}
//
// Package provider numbers the rules and names the cases that hold them;
// [Cases] are all of them. What runs in the containers is package script. A case
// that needs a capability that the driver does not list, or a part that the
// fixture does not have, is skipped and says so.
//
// Tests of drivers call it. What must never happen here: a type that only this
// project has, so that a driver elsewhere can use it; a rule that package
// provider does not state; a case that no wrong driver fails.
package providertest
