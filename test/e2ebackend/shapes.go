package main

import (
	"encoding/json"

	"github.com/berth-cloud/berth/backend"
)

// The SKUs of leases: one without a disk, and two with.
const (
	tier      = "018f3c1e-7b2a-7c4d-9e5f-00000000000a"
	diskTier  = "018f3c1e-7b2a-7c4d-9e5f-00000000000b"
	smallTier = "018f3c1e-7b2a-7c4d-9e5f-00000000000c"
)

// dataDir is a directory that each image declares as a volume.
const dataDir = "/data"

// port is what the program listens on.
const port = "8080/tcp"

// shape is what a lease is made of.
type shape struct {
	name  string
	items []backend.LeaseItem
	// asked are the services that publish a port, each with how many containers answer.
	asked map[string]int
	// keeps says whether the services that are asked have a disk, which outlives the lease.
	keeps bool
	// restores says whether what was kept becomes another lease's.
	restores bool
	// manifest has the images of a version.
	manifest func(image string) []byte
}

func shapes() []shape {
	return []shape{
		{
			name: "one", items: []backend.LeaseItem{{SKU: tier, Quantity: 1}}, asked: map[string]int{"app": 1},
			manifest: func(image string) []byte { return document(service(image)) },
		},
		{
			name: "pair", items: []backend.LeaseItem{{SKU: diskTier, Quantity: 2}}, asked: map[string]int{"app": 2}, keeps: true, restores: true,
			manifest: func(image string) []byte { return document(service(image)) },
		},
		{
			name: "stack", asked: map[string]int{"web": 1}, keeps: true,
			items: []backend.LeaseItem{{SKU: tier, Quantity: 1, ServiceName: "db"}, {SKU: diskTier, Quantity: 1, ServiceName: "web"}},
			manifest: func(image string) []byte {
				db, web := service(image), service(image)
				delete(db, "ports")
				db["expose"] = []string{port}
				// It answers only once it has reached the other one.
				web["env"] = map[string]string{"BESIDE": "http://db:8080/healthz"}
				web["depends_on"] = map[string]any{"db": map[string]string{"condition": "service_started"}}
				return document(map[string]any{"services": map[string]any{"db": db, "web": web}})
			},
		},
	}
}

func service(image string) map[string]any {
	return map[string]any{"image": image, "ports": map[string]any{port: map[string]any{}}, "stop_grace_period": "2s"}
}

func document(v map[string]any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // maps of strings always encode
	}
	return b
}
