package testimage

import "flag"

// atOnce is how many tests of a package run at the same time: most of the time of one
// goes into waits for the engine and for programs.
const atOnce = "6"

// SideBySide lets more tests with t.Parallel run at once than there are processors,
// unless a flag says how many. A TestMain calls it.
func SideBySide() {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if given {
		return
	}
	if err := flag.Set("test.parallel", atOnce); err != nil {
		panic(err) // there is no such flag: this is no test
	}
}
