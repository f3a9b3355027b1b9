package manifest_test

import (
	"fmt"
	"strings"
)

func names() []document {
	all := []document{
		{name: "variables", text: one(`"env":{"A":"1","_b.c-d":"","LDX":"x","MYPATH":"x","PATHS":"x"}`)},
		{name: "a variable as a number", text: one(`"env":{"A":1}`), at: "env.A"},
		{name: "a variable as null", text: one(`"env":{"A":null}`), at: "env.A"},
		{name: "variables as a list", text: one(`"env":["A=1"]`), at: "env"},
		{name: "a variable with a NUL", text: one(`"env":{"A":"a\u0000"}`), at: "env.A"},
		{name: "a variable with line breaks", text: one(`"env":{"A":"a\nb\n"}`)},
		{name: "the longest variable", text: one(`"env":{"A":"` + strings.Repeat("a", 128<<10) + `"}`)},
		{name: "too long a variable", text: one(`"env":{"A":"` + strings.Repeat("a", 128<<10+1) + `"}`), at: "env.A"},
		{name: "a variable with too many bytes", text: one(`"env":{"A":"` + strings.Repeat("ä", 100<<10) + `"}`), at: "env.A", unsaid: unsaidBytes},
		{name: "the most variables", text: one(`"env":{` + many(256, `"A%d":""`) + `}`)},
		{name: "too many variables", text: one(`"env":{` + many(257, `"A%d":""`) + `}`), at: "env"},
		{name: "labels", text: one(`"labels":{"a":"","com.example/x:y":"a b","berthing":"x","traefik":"x","my.fred.x":"x"}`)},
		{name: "a label as a number", text: one(`"labels":{"a":1}`), at: "labels.a"},
		{name: "a label's value with a line break", text: one(`"labels":{"a":"x\ny"}`), at: "labels.a"},
		{name: "the longest value of a label", text: one(`"labels":{"a":"` + strings.Repeat("a", 4096) + `"}`)},
		{name: "too long a value of a label", text: one(`"labels":{"a":"` + strings.Repeat("a", 4097) + `"}`), at: "labels.a"},
		{name: "the most labels", text: one(`"labels":{` + many(128, `"a%d":""`) + `}`)},
		{name: "too many labels", text: one(`"labels":{` + many(129, `"a%d":""`) + `}`), at: "labels"},
		{name: "the longest name of a label", text: one(`"labels":{"` + strings.Repeat("a", 253) + `":""}`)},
	}
	for _, bad := range []string{"PATH", "path", "Path", "LD_PRELOAD", "ld_library_path", "Ld_X", "FRED_X", "fred_", "BERTH_X", "Berth_x", "DOCKER_HOST", "docker_x"} {
		all = append(all, document{name: "a reserved variable " + bad, text: one(`"env":{"` + bad + `":"x"}`), at: "env." + bad})
	}
	for _, bad := range []string{"", "A=B", "A B", "1A", "Ä", `A\u0000`, `A\n`} {
		all = append(all, document{name: "no variable " + bad, text: one(`"env":{"` + bad + `":"x"}`), at: `env["` + quoted(bad) + `"]`})
	}
	all[len(all)-4].at = "env.1A"
	for _, bad := range []string{"berth.x", "BERTH.x", "fred.managed", "Fred.x", "traefik.enable", "tRaEfIk.enable", "traefik."} {
		all = append(all, document{name: "a reserved label " + bad, text: one(`"labels":{"` + bad + `":"x"}`), at: `labels["` + bad + `"]`})
	}
	for _, bad := range []string{"", " traefik.enable", "a b", "a=b", "a,b", "a'b", `a\"b`, "ä", `a\n`} {
		all = append(all, document{name: "no label " + bad, text: one(`"labels":{"` + bad + `":"x"}`), at: `labels["` + quoted(bad) + `"]`})
	}
	return all
}

// quoted is a name from JSON as a path has it.
func quoted(s string) string {
	return strings.NewReplacer(`\u0000`, `\x00`, "Ä", `\u00c4`, "ä", `\u00e4`).Replace(s)
}

func processes() []document {
	all := []document{
		{name: "a command with arguments", text: one(`"command":["/bin/app","-v"],"args":["","b"]`)},
		{name: "an empty command", text: one(`"command":[],"args":[]`)},
		{name: "a command as a string", text: one(`"command":"app -v"`), at: "command"},
		{name: "a command of nothing", text: one(`"command":["","x"]`), at: "command[0]"},
		{name: "a number in a command", text: one(`"command":["x",1]`), at: "command[1]"},
		{name: "a NUL in an argument", text: one(`"args":["a\u0000b"]`), at: "args[0]"},
		{name: "the most arguments", text: one(`"args":[` + many(256, `"%d"`) + `]`)},
		{name: "too many arguments", text: one(`"args":[` + many(257, `"%d"`) + `]`), at: "args"},
		{name: "init", text: one(`"init":true`)},
		{name: "init in words", text: one(`"init":"true"`), at: "init"},
		{name: "directories in memory", text: one(`"tmpfs":["/cache","/tmp/a","/run/lock","/var/run"]`)},
		{name: "too many directories in memory", text: one(`"tmpfs":["/a","/b","/c","/d","/e"]`), at: "tmpfs"},
		{name: "a directory in memory twice", text: one(`"tmpfs":["/a","/b","/a"]`), at: "tmpfs[2]"},
		{name: "a directory in memory with a size", text: one(`"tmpfs":["/a:size=1g"]`), at: "tmpfs[0]"},
		{name: "a directory in memory as an object", text: one(`"tmpfs":[{"path":"/a"}]`), at: "tmpfs[0]"},
		{name: "directories that look like others", text: one(`"tmpfs":["/tmpx","/process","/.a","/a..b"]`)},
	}
	for _, bad := range []string{
		"", "/", "a", "./a", "/a/", "/a//b", "/a/../b", "/a/.", "/..", "/tmp", "/run", "/tmp/", "/proc", "/proc/x", "/sys", "/sys/fs", "/dev", "/dev/shm", `/a\nb`, "/ä",
		"/" + strings.Repeat("a", 1024),
	} {
		all = append(all, document{name: "no directory " + bad[:min(len(bad), 12)], text: one(`"tmpfs":["` + bad + `"]`), at: "tmpfs[0]"})
	}
	for _, good := range []string{"root", "1000", "1000:1000", "www-data:www-data", "a.b_c"} {
		all = append(all, document{name: "user " + good, text: one(`"user":"` + good + `"`)})
	}
	for _, bad := range []string{"", ":", "a:", ":a", "a b", " a", "a:b:c", `a\n`, `a\tb`} {
		all = append(all, document{name: "no user " + bad, text: one(`"user":"` + bad + `"`), at: "user"})
	}
	all = append(all, document{name: "a user as a number", text: one(`"user":1000`), at: "user"})
	for _, good := range []string{`"1s"`, `"2m"`, `"1m59.5s"`, `"+10s"`, `"1500ms"`, `1000000000`, `120000000000`, `1e9`, `1000000000.0`} {
		all = append(all, document{name: "grace " + good, text: one(`"stop_grace_period":` + good)})
	}
	for _, bad := range []string{`""`, `"10"`, `"-10s"`, `"ten"`, `"10 s"`, `"10S"`, `"1d"`, `999999999`, `120000000001`, `0`, `-1`, `1.5`, `1e99`, `1e999999999`, `null`, `true`, `["1s"]`, `"` + strings.Repeat("0", 64) + `1s"`} {
		all = append(all, document{name: "no grace " + bad, text: one(`"stop_grace_period":` + bad), at: "stop_grace_period"})
	}
	for _, bad := range []string{`"0"`, `"999ms"`, `"2m1ns"`, `"121s"`, `"1h"`, `"9999999999h"`} {
		all = append(all, document{name: "no grace " + bad, text: one(`"stop_grace_period":` + bad), at: "stop_grace_period", unsaid: unsaidSpan})
	}
	return all
}

func healthChecks() []document {
	check := func(s string) string { return one(`"health_check":{` + s + `}`) }
	all := []document{
		{name: "a check with all fields", text: check(`"test":["CMD","a"],"interval":"10s","timeout":2000000000,"retries":3,"start_period":"1m"`)},
		{name: "a check of zeroes", text: check(`"test":["CMD","a"],"interval":0,"timeout":"0s","retries":0,"start_period":"0"`)},
		{name: "a check without a test", text: check(`"interval":"10s"`), at: "health_check.test"},
		{name: "a check as a list", text: one(`"health_check":["CMD","a"]`), at: "health_check"},
		{name: "an unknown field of a check", text: check(`"test":["NONE"],"disable":true`), at: "health_check.disable"},
		{name: "retries below zero", text: check(`"test":["CMD","a"],"retries":-1`), at: "health_check.retries"},
		{name: "the most retries", text: check(`"test":["CMD","a"],"retries":1000`)},
		{name: "too many retries", text: check(`"test":["CMD","a"],"retries":1001`), at: "health_check.retries"},
		{name: "half a retry", text: check(`"test":["CMD","a"],"retries":1.5`), at: "health_check.retries"},
		{name: "retries in words", text: check(`"test":["CMD","a"],"retries":"3"`), at: "health_check.retries"},
		{name: "an interval below zero", text: check(`"test":["CMD","a"],"interval":-1`), at: "health_check.interval"},
		{name: "the longest interval", text: check(`"test":["CMD","a"],"interval":86400000000000`)},
		{name: "too long an interval", text: check(`"test":["CMD","a"],"interval":86400000000001`), at: "health_check.interval"},
		{name: "too long a timeout", text: check(`"test":["CMD","a"],"timeout":"25h"`), at: "health_check.timeout", unsaid: unsaidSpan},
		{name: "a start period of nothing", text: check(`"test":["CMD","a"],"start_period":""`), at: "health_check.start_period"},
	}
	for _, good := range []string{`["CMD","a"]`, `["CMD","a",""]`, `["CMD-SHELL","a || b"]`, `["CMD-SHELL","a","b"]`, `["NONE"]`, `["CMD",` + many(256, `"%d"`) + `]`} {
		all = append(all, document{name: "test " + good[:min(len(good), 24)], text: check(`"test":` + good)})
	}
	for _, bad := range []string{`[]`, `["CMD"]`, `["CMD-SHELL"]`, `["NONE","a"]`, `["cmd","a"]`, `["a"]`, `[""]`, `["NONE",""]`, `"CMD a"`, `null`, `["CMD",` + many(257, `"%d"`) + `]`} {
		all = append(all, document{name: "no test " + bad[:min(len(bad), 24)], text: check(`"test":` + bad), at: "health_check.test"})
	}
	for i := range all {
		switch all[i].name {
		case `no test ["cmd","a"]`, `no test ["a"]`, `no test [""]`:
			all[i].at = "health_check.test[0]"
		}
	}
	return append(all,
		document{name: "a number for the kind of a test", text: check(`"test":[1,"a"]`), at: "health_check.test[0]"},
		document{name: "a number in a test", text: check(`"test":["CMD",1]`), at: "health_check.test[1]"},
		document{name: "a test of nothing", text: check(`"test":["CMD",""]`), at: "health_check.test[1]"},
		document{name: "a NUL in a test", text: check(`"test":["CMD","a","\u0000"]`), at: "health_check.test[2]"},
	)
}

func dependencies() []document {
	on := func(service, condition string) string {
		return fmt.Sprintf(`,"depends_on":{%q:{"condition":%q}}`, service, condition)
	}
	return []document{
		{name: "a dependency", text: two(on("b", "service_started"), "")},
		{name: "no dependency", text: two(`,"depends_on":{}`, "")},
		{name: "a healthy dependency", text: two(on("b", "service_healthy"), `,"health_check":{"test":["CMD","a"]}`)},
		{name: "a healthy dependency without a check", text: two(on("b", "service_healthy"), ""), at: "services.a.depends_on.b.condition", unsaid: unsaidServices},
		{name: "a healthy dependency with no check said", text: two(on("b", "service_healthy"), `,"health_check":{"test":["NONE"]}`), at: "services.a.depends_on.b.condition", unsaid: unsaidServices},
		{name: "an unknown condition", text: two(on("b", "service_completed_successfully"), ""), at: "services.a.depends_on.b.condition"},
		{name: "no condition", text: two(`,"depends_on":{"b":{}}`, ""), at: "services.a.depends_on.b.condition"},
		{name: "an unknown field of a dependency", text: two(`,"depends_on":{"b":{"condition":"service_started","restart":true}}`, ""), at: "services.a.depends_on.b.restart"},
		{name: "dependencies as a list", text: two(`,"depends_on":["b"]`, ""), at: "services.a.depends_on"},
		{name: "a dependency on nobody", text: two(on("c", "service_started"), ""), at: "services.a.depends_on.c", unsaid: unsaidServices},
		{name: "a dependency on itself", text: two(on("a", "service_started"), ""), at: "services.a.depends_on.a", unsaid: unsaidServices},
		{name: "a circle", text: two(on("b", "service_started"), on("a", "service_started")), at: "services.a.depends_on", unsaid: unsaidServices},
		{name: "the longest chain", text: chain(10)},
		{name: "too long a chain", text: chain(11), at: "services.s0.depends_on", unsaid: unsaidServices},
		{name: "a much too long chain", text: chain(500), at: "services.s489.depends_on", unsaid: unsaidServices},
		{name: "a dependency without a stack", text: one(`"depends_on":{"b":{"condition":"service_started"}}`), at: "depends_on"},
		{name: "no dependency without a stack", text: one(`"depends_on":{}`), at: "depends_on"},
	}
}
