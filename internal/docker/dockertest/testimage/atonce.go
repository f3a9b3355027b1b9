package testimage

import (
	"flag"
	"strconv"
)

// SideBySide lets n tests with t.Parallel run at once, also when that is more than there
// are processors, unless a flag says how many: most of the time of one goes into waits
// for the engine and for programs. A TestMain calls it.
func SideBySide(n int) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if given {
		return
	}
	if err := flag.Set("test.parallel", strconv.Itoa(n)); err != nil {
		panic(err) // there is no such flag: this is no test
	}
}
