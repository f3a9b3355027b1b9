package workloads

import (
	"strings"
	"testing"

	"github.com/berth-cloud/berth/internal/wire"
	"github.com/berth-cloud/berth/internal/workfile"
	"github.com/berth-cloud/berth/provider"
)

// TestEveryKeyOfAServiceIsAFact holds the facts against a service that says all of
// them: no field is left for the word that something differs.
func TestEveryKeyOfAServiceIsAFact(t *testing.T) {
	const file = `name: shop
services:
  web:
    image: a/web:1
    command: [/web]
    args: [--port]
    env: {MODE: production}
    replicas: 3
    resources: {memory: 1Gi, cpu: 0.5, disk: 10Mi, gpu: 1}
    ports: [{port: 8080, host_port: 80, protocol: http, bind_address: 10.0.0.1, domains: [shop.example.com], tls: {redirect_http: true}}]
    volumes: [{name: data, path: /data, size: 2Gi, type: ssd, shared: true, read_only: true}]
    tmpfs: [{path: /tmp, size: 64Mi}]
    readiness: {path: /ok, port: 8080, expected_status: 204, timeout: 1s, retries: 2, start_period: 4s}
    liveness: {grpc: {}}
    secrets: [{key: shop/ca, type: file, optional: true}]
    config_files: [{name: inline, path: /etc/shop/inline, content: hello}]
    annotations: {note: x}
    security: {read_only_root_fs: true, cap_add: [NET_RAW], cap_drop: [ALL], no_new_privileges: true}
    user: 1000
    working_dir: /srv
    init: true
    stop_grace: 30s
    stop_signal: SIGQUIT
`
	w, err := workfile.Parse([]byte(file), workfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	svc := provider.SnapshotOf(w.Request.Services[0])
	var text []string
	for _, f := range factsOf(svc, true) {
		text = append(text, f.field+": "+f.text)
	}
	for _, want := range []string{
		"ports: [{port: 8080, host_port: 80, protocol: http, bind_address: 10.0.0.1, domains: [shop.example.com], tls: {redirect_http: true}}]",
		"volumes: [{name: data, path: /data, size: 2Gi, type: ssd, shared: true, read_only: true}]",
		"readiness: {path: /ok, port: 8080, expected_status: 204, timeout: 1s, retries: 2, start_period: 4s}",
		"liveness: {grpc: {}}", "secrets[shop/ca]: file /run/secrets/shop/ca", "config_files[inline]: /etc/shop/inline",
		"security: {read_only_root_fs: true, cap_add: [NET_RAW], cap_drop: [ALL], no_new_privileges: true}",
	} {
		if !strings.Contains(strings.Join(text, "\n")+"\n", want+"\n") {
			t.Errorf("no %s in\n%s", want, strings.Join(text, "\n"))
		}
	}
	none := provider.SnapshotOf(provider.ServiceSpec{Name: "web"})
	for _, c := range differing(none, svc, true) {
		if c.Old == wire.HiddenValue {
			t.Errorf("no fact tells %s", c.Field)
		}
	}
	if len(fields(svc)) < 18 {
		t.Errorf("only %d fields are compared", len(fields(svc)))
	}
}
