package api

import (
	"strings"
	"testing"

	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/store"
)

// stateOf is an app as a file describes it.
func stateOf(t *testing.T, file string) *appState {
	t.Helper()
	app, err := spec.Parse([]byte(file), spec.Options{})
	if err != nil {
		t.Fatal(err)
	}
	st := &appState{name: app.Name, services: map[string]serviceState{}}
	for name, svc := range app.Services {
		st.services[name] = serviceState{desired: store.DesiredService{Name: spec.FullName(app.Name, name), Spec: svc}}
	}
	return st
}

func TestScaleCountsEveryMemberOfAReplica(t *testing.T) {
	st := stateOf(t, `
name: shop
services:
  web: {image: a, sidecars: {proxy: {image: b}, log: {image: c}}}
  api: {image: a, replicas: 50}
`)
	// 50 of api, and three containers a replica of web.
	if faults := scaleFaults(st, map[string]int{"web": 50}); len(faults) != 0 {
		t.Errorf("200 containers: %v", faults)
	}
	st.services["more"] = stateOf(t, "name: shop\nservices: {more: {image: a}}").services["more"]
	faults := scaleFaults(st, map[string]int{"web": 50})
	if len(faults) != 1 || !strings.Contains(faults[0].Message, "201 containers") {
		t.Errorf("201 containers: %v", faults)
	}
}

func TestScaleSaysWhyAJobRunsOnce(t *testing.T) {
	st := stateOf(t, "name: shop\nservices: {migrate: {image: a, restart: 'no'}}")
	faults := scaleFaults(st, map[string]int{"migrate": 2})
	if len(faults) != 1 || !strings.Contains(faults[0].Message, "runs to completion runs once") {
		t.Errorf("%v", faults)
	}
}

func TestNoticesFitWhatAServiceIs(t *testing.T) {
	st := stateOf(t, `
name: shop
services:
  db: {image: a, port: 5432, health: {readiness: {tcp: true}}}
  worker: {image: a, depends_on: [db]}
  watched: {image: a, depends_on: [db], health: {readiness: {exec: [check]}}}
  migrate: {image: a, restart: 'no', depends_on: {db: {condition: started}}}
  web: {image: a, depends_on: {db: {condition: ready}, migrate: {condition: completed}}}
`)
	for name, want := range map[string][3]string{
		"worker":  {"it starts once db is ready", "no port, so no route", "it counts as ready once it has started"},
		"watched": {"it starts once db is ready", "no port, so no route"},
		"migrate": {"it starts once db has started", ""},
		"web":     {"it starts once db is ready and migrate has completed", "no port, so no route"},
	} {
		svc := st.services[name].desired.Spec
		got := strings.Join(notices(&svc), "\n")
		if !strings.Contains(got, want[0]) || !strings.Contains(got, want[1]) || want[1] == "" && strings.Contains(got, "route") ||
			!strings.Contains(got, want[2]) || name == "watched" && strings.Contains(got, "it counts as ready once") {
			t.Errorf("%s: %q", name, got)
		}
	}
}
