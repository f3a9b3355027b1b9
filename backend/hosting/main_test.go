package hosting_test

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

// TestMain gives the model its steps unless a flag says otherwise.
func TestMain(m *testing.M) {
	flag.Parse()
	given := map[string]bool{}
	flag.Visit(func(f *flag.Flag) { given[f.Name] = true })
	for name, value := range map[string]string{"rapid.checks": modelChecks, "rapid.steps": "50"} {
		if given[name] {
			continue
		}
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m)
}
