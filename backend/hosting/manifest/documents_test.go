package manifest_test

import (
	"fmt"
	"strings"
)

// document is one that the validator and the schema are asked about.
type document struct {
	name string
	text string

	// at is where the only fault is, "" for a good document, and whole for the
	// document itself.
	at string

	// unsaid is why the schema takes a document that the validator refuses.
	unsaid string
}

const whole = "(whole)"

// Why a rule is not in the schema.
const (
	unsaidTwice    = "a schema sees the last of two members only"
	unsaidBytes    = "a schema counts characters, not bytes, and no values of the document as a whole"
	unsaidSpan     = "a schema does not read the length of a duration out of words"
	unsaidAmong    = "a schema does not hold the members of an object against each other"
	unsaidServices = "a schema does not hold one service against another"
	unsaidImage    = "the length of a part of an image, and what an id of one would be, are no matter of its grammar"
)

// one is a document of one service with a field beside its image.
func one(field string) string { return `{"image":"nginx",` + field + `}` }

// two are the services a and b with a field each beside their images.
func two(a, b string) string {
	return `{"services":{"a":{"image":"nginx"` + a + `},"b":{"image":"nginx"` + b + `}}}`
}

func many(n int, form string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = fmt.Sprintf(form, i+1)
	}
	return strings.Join(parts, ",")
}

// chain is n+1 services, of which each but the last depends on the next.
func chain(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"s%d":{"image":"nginx","depends_on":{"s%d":{"condition":"service_started"}}},`, i, i+1)
	}
	return `{"services":{` + b.String() + fmt.Sprintf(`"s%d":{"image":"nginx"}}}`, n)
}

// documents is the table that Parse and the schema are both held to.
func documents() []document {
	var all []document
	for _, part := range [][]document{shapes(), images(), ports(), names(), processes(), healthChecks(), dependencies()} {
		all = append(all, part...)
	}
	return all
}

func shapes() []document {
	return []document{
		{name: "an image alone", text: `{"image":"nginx"}`},
		{name: "a stack of one", text: `{"services":{"web":{"image":"nginx"}}}`},
		{name: "a stack of two", text: two("", "")},
		{name: "no service", text: `{"services":{}}`, at: "services"},
		{name: "nothing", text: `{}`, at: "image"},
		{name: "services as a list", text: `{"services":[]}`, at: "services"},
		{name: "services as null", text: `{"services":null}`, at: "services"},
		{name: "a list", text: `[]`, at: whole},
		{name: "null", text: `null`, at: whole},
		{name: "a string", text: `"nginx"`, at: whole},
		{name: "a service as a string", text: `{"services":{"web":"nginx"}}`, at: "services.web"},
		{name: "an unknown field of a service", text: one(`"privileged":true`), at: "privileged"},
		{name: "a field in capitals", text: one(`"Env":{}`), at: "Env"},
		{name: "an unknown field of a stack", text: `{"version":"3","services":{"web":{"image":"nginx"}}}`, at: "version"},
		{name: "an unknown field in a stack", text: `{"services":{"web":{"image":"nginx","volumes":[]}}}`, at: "services.web.volumes"},
		{name: "both forms at once", text: `{"image":"nginx","services":{"web":{"image":"nginx"}}}`, at: "image"},
		{name: "a name in capitals", text: `{"services":{"Web":{"image":"nginx"}}}`, at: "services.Web"},
		{name: "a name of nothing", text: `{"services":{"":{"image":"nginx"}}}`, at: `services[""]`},
		{name: "a name with a hyphen", text: `{"services":{"a-b":{"image":"nginx"}}}`},
		{name: "a name that ends in a hyphen", text: `{"services":{"a-":{"image":"nginx"}}}`, at: "services.a-"},
		{name: "a name with a dot", text: `{"services":{"a.b":{"image":"nginx"}}}`, at: `services["a.b"]`},
		{name: "a name with a line break behind it", text: `{"services":{"a\n":{"image":"nginx"}}}`, at: `services["a\n"]`},
		{name: "the longest name", text: `{"services":{"` + strings.Repeat("a", 63) + `":{"image":"nginx"}}}`},
		{name: "too long a name", text: `{"services":{"` + strings.Repeat("a", 64) + `":{"image":"nginx"}}}`, at: "services." + strings.Repeat("a", 64)},
		{name: "the most services", text: `{"services":{` + many(1024, `"s%d":{"image":"nginx"}`) + `}}`},
		{name: "too many services", text: `{"services":{` + many(1025, `"s%d":{"image":"nginx"}`) + `}}`, at: "services"},
		{name: "a member twice", text: `{"image":"nginx","image":"redis"}`, at: "image", unsaid: unsaidTwice},
		{name: "a member twice, once in escapes", text: `{"image":"nginx","\u0069mage":"redis"}`, at: "image", unsaid: unsaidTwice},
		{name: "a variable twice", text: one(`"env":{"A":"1","A":"2"}`), at: "env.A", unsaid: unsaidTwice},
		{name: "a service twice", text: `{"services":{"a":{"image":"nginx"},"a":{"image":"nginx"}}}`, at: "services.a", unsaid: unsaidTwice},
		{name: "a good document with too many bytes", text: `{"image":"nginx"` + strings.Repeat(" ", 1<<20) + `}`, at: whole, unsaid: unsaidBytes},
		{name: "too many bytes once it is in full", text: one(`"args":[` + many(8, `"%d`+strings.Repeat("\u2028", 40<<10)+`"`) + `]`), at: whole, unsaid: unsaidBytes},
		{name: "signs that need no escape", text: one(`"args":[` + many(8, `"%d`+strings.Repeat("<", 120<<10)+`"`) + `]`)},
		{name: "too deep", text: one(`"args":` + strings.Repeat("[", 20) + strings.Repeat("]", 20)), at: whole},
		{name: "too many values", text: one(`"args":[` + strings.Repeat("0,", 1<<16) + "0]"), at: whole},
	}
}

func images() []document {
	digest := strings.Repeat("a", 64)
	good := []string{
		"nginx", "nginx:1.29", "library/nginx", "docker.io/library/nginx", "ghcr.io/a/b/c:v1", "localhost/a", "localhost:5000/a", "r.example:5000/a__b/c-d.e",
		"nginx@sha256:" + digest, "nginx:1@sha256:" + digest, "Host/a", strings.Repeat("a", 200),
	}
	bad := []string{
		"", " ", "Nginx", "nginx:", "nginx:a b", "nginx@sha256:aa", "nginx@md5:" + strings.Repeat("a", 32), "https://nginx", "-nginx", "a//b", "/a", "a/", "nginx\\n", "ngi\\u00f1x",
		"a:" + strings.Repeat("b", 129), strings.Repeat("a/", 300) + "a",
	}
	all := []document{
		{name: "no image in a stack", text: `{"services":{"web":{}}}`, at: "services.web.image"},
		{name: "an image as a number", text: `{"image":1}`, at: "image"},
		{name: "an image as null", text: `{"image":null}`, at: "image"},
		{name: "an id as an image", text: `{"image":"` + digest + `"}`, at: "image", unsaid: unsaidImage},
		{name: "an image with too long a name", text: `{"image":"` + strings.Repeat("a", 256) + `"}`, at: "image", unsaid: unsaidImage},
	}
	for i, s := range good {
		all = append(all, document{name: fmt.Sprintf("image %d", i), text: `{"image":"` + s + `"}`})
	}
	for i, s := range bad {
		all = append(all, document{name: fmt.Sprintf("no image %d", i), text: `{"image":"` + s + `"}`, at: "image"})
	}
	return all
}

func ports() []document {
	all := []document{
		{name: "no ports", text: one(`"ports":{}`)},
		{name: "ports of both protocols", text: one(`"ports":{"53/tcp":{},"53/udp":{}}`)},
		{name: "the lowest and the highest port", text: one(`"ports":{"1/tcp":{},"65535/udp":{}}`)},
		{name: "ports as a list", text: one(`"ports":["80/tcp"]`), at: "ports"},
		{name: "a port as a number", text: one(`"ports":{"80/tcp":80}`), at: `ports["80/tcp"]`},
		{name: "a port as null", text: one(`"ports":{"80/tcp":null}`), at: `ports["80/tcp"]`},
		{name: "a port of the host", text: one(`"ports":{"80/tcp":{"host_port":8080}}`), at: `ports["80/tcp"].host_port`},
		{name: "a port of the host in a stack", text: two(`,"ports":{"80/tcp":{"host_port":1}}`, ""), at: `services.a.ports["80/tcp"].host_port`},
		{name: "a port of the host below zero", text: one(`"ports":{"80/tcp":{"host_port":-1}}`), at: `ports["80/tcp"].host_port`},
		{name: "a port of the host in words", text: one(`"ports":{"80/tcp":{"host_port":"80"}}`), at: `ports["80/tcp"].host_port`},
		{name: "no port of the host", text: one(`"ports":{"80/tcp":{"host_port":0}}`)},
		{name: "an unknown field of a port", text: one(`"ports":{"80/tcp":{"host_ip":"0.0.0.0"}}`), at: `ports["80/tcp"].host_ip`},
		{name: "ingress", text: one(`"ports":{"80/tcp":{"ingress":true},"81/tcp":{"ingress":false},"82/udp":{"ingress":false}}`)},
		{name: "ingress for udp", text: one(`"ports":{"80/udp":{"ingress":true}}`), at: `ports["80/udp"].ingress`},
		{name: "ingress in words", text: one(`"ports":{"80/tcp":{"ingress":"yes"}}`), at: `ports["80/tcp"].ingress`},
		{name: "ingress twice", text: one(`"ports":{"80/tcp":{"ingress":true},"81/tcp":{"ingress":true}}`), at: `ports["81/tcp"].ingress`, unsaid: unsaidAmong},
		{name: "the most ports", text: one(`"ports":{` + many(64, `"%d/tcp":{}`) + `}`)},
		{name: "too many ports", text: one(`"ports":{` + many(65, `"%d/tcp":{}`) + `}`), at: "ports"},
		{name: "exposed ports", text: one(`"expose":["80","80/tcp","53/udp"]`)},
		{name: "an exposed port as a number", text: one(`"expose":[80]`), at: "expose[0]"},
		{name: "an exposed range", text: one(`"expose":["80","90-99"]`), at: "expose[1]"},
		{name: "the most exposed ports", text: one(`"expose":[` + many(64, `"%d"`) + `]`)},
		{name: "too many exposed ports", text: one(`"expose":[` + many(65, `"%d"`) + `]`), at: "expose"},
	}
	for _, bad := range []string{"0/tcp", "65536/tcp", "99999/udp", "100000/tcp", "080/tcp", "80", "80/TCP", "80/sctp", "-1/tcp", "+80/tcp", " 80/tcp", "80/tcp ", "tcp/80", "8080:80/tcp"} {
		all = append(all, document{name: "no port " + bad, text: one(`"ports":{"` + bad + `":{}}`), at: `ports["` + bad + `"]`})
	}
	all[len(all)-9].at = "ports.80" // the path of a name without signs has no quotes
	for _, bad := range []string{"0", "65536", "080/tcp", "80/", "80/sctp", "", "80-81"} {
		all = append(all, document{name: "no exposed port " + bad, text: one(`"expose":["` + bad + `"]`), at: "expose[0]"})
	}
	return all
}
