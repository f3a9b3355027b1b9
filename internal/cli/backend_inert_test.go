package cli_test

import (
	"bytes"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/berth-cloud/berth/internal/cli"
	"github.com/berth-cloud/berth/internal/wire"
)

// steering is what clears a screen, turns the direction of what is read and ends a line.
const steering = "a\x1b[2J\u202e\u2028\r\nb\u009b"

// fill writes steering into every text of a value, so that no field is forgotten. Times
// stay, and numbers are one.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(steering)
	case reflect.Int, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint64:
		v.SetUint(1)
	case reflect.Float64:
		v.SetFloat(1)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			fill(v.Index(i))
		}
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key)
		fill(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(now()))
			return
		}
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	default:
		panic("there is a field of the kind " + v.Kind().String())
	}
}

func filled[T any]() T {
	var out T
	fill(reflect.ValueOf(&out).Elem())
	return out
}

// hostile is a backend all of whose words are its tenants'.
func hostile(t *testing.T) (socket string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "berth-hostile") // the path of a socket has at most 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket = filepath.Join(dir, "s")
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	answer := func(make func() any) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(make()) }
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/admin/status", answer(func() any { return filled[wire.BackendStatus]() }))
	mux.HandleFunc("/admin/leases", func(w http.ResponseWriter, r *http.Request) {
		names := wire.BackendLeaseNames{Leases: []string{steering, steering}, More: true}
		if whole := r.URL.Query().Get("prefix"); len(whole) == 36 {
			names = wire.BackendLeaseNames{Leases: []string{whole}}
		}
		_ = json.NewEncoder(w).Encode(names)
	})
	mux.HandleFunc("/admin/leases/{lease}", answer(func() any { return filled[wire.BackendLeaseDetail]() }))
	mux.HandleFunc("/admin/drain", answer(func() any { return filled[wire.BackendDrain]() }))
	mux.HandleFunc("/admin/retentions", answer(func() any {
		return wire.BackendRetentionList{Retentions: filled[wire.BackendRetentionList]().Retentions}
	}))
	mux.HandleFunc("/provisions", answer(func() any { return map[string]any{"provisions": filled[[]wire.BackendLease]()} }))
	mux.HandleFunc("/logs/{lease}", answer(func() any { return filled[wire.BackendLogs]() }))
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	go func() { _ = srv.Serve(l) }()
	t.Cleanup(func() { _ = srv.Close() })
	return socket
}

// A backend may be of any version, and what it says is partly its tenants': nothing of it
// steers the terminal of who operates it.
func TestNothingThatABackendSaysSteersATerminal(t *testing.T) {
	socket := hostile(t)
	const lease = "018f3c1e-0000-7000-8000-000000000001"
	for _, command := range []string{"list", "show " + lease, "show 018f", "releases " + lease, "retentions", "stats", "logs " + lease, "drain"} {
		var out, failures bytes.Buffer
		cli.Run(t.Context(), append([]string{"backend"}, strings.Fields(command)...), cli.Env{
			Stdin: strings.NewReader(""), Stdout: &out, Stderr: &failures, StdoutTTY: true, NoColor: true, BackendSocket: socket, Version: "0.1.0-test", Now: now,
		})
		text := out.String() + failures.String()
		if text == "" {
			t.Errorf("%s prints nothing", command)
		}
		if !strings.Contains(text, "a�") && !strings.Contains(text, "[2J") && command != "drain" {
			t.Errorf("%s shows nothing of it: %q", command, text)
		}
		for _, r := range text {
			if r != '\n' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
				t.Errorf("%s prints %q in %q", command, r, text)
				break
			}
		}
	}
}
