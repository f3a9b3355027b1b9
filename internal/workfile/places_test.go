package workfile

import "testing"

func TestAPlaceIsInTheWordsOfTheFile(t *testing.T) {
	const source = "name: shop\nrollout: {strategy: canary}\nservices:\n  cache: {role: sidecar, image: a:1}\n" +
		"  web:\n    image: a:1\n    resources: {disk: 1Mi}\n    ports: [{port: 80, domains: [a.example]}]\n    volumes:\n      - {name: data, path: /data}\n"
	w, err := Parse([]byte(source), Options{File: "shop.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]Place{
		"services[1].resources.disk_mb":         {"shop.yaml", 7, 23, "services.web.resources.disk"},
		"services[1].ports[0].domains":          {"shop.yaml", 8, 33, "services.web.ports[0].domains"},
		"services[1].volumes[0].size_mb":        {"shop.yaml", 10, 9, "services.web.volumes[0].size"},
		"services[0].health_check.start_period": {"shop.yaml", 4, 10, "services.cache.readiness.start_period"},
		"strategy":                              {"shop.yaml", 2, 21, "rollout.strategy"},
		"services[7].image":                     {"shop.yaml", 4, 3, "services[7].image"},
	} {
		if got := w.Place(path); got != want {
			t.Errorf("%s is at %+v, want %+v", path, got, want)
		}
	}
	if got := new(Workload).Place("services[0].image"); got != (Place{Path: "services[0].image"}) {
		t.Errorf("without a file: %+v", got)
	}
}

func TestAnImageThatNoRegistryCouldHaveIsRefused(t *testing.T) {
	if _, err := Parse([]byte("name: shop\nservices:\n  web: {image: 'Shop Web:1'}\n"), Options{}); err == nil {
		t.Error("it passed")
	}
}
