package hosting_test

import (
	"testing"
	"testing/synctest"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/backendtest"
)

func (w *world) fixture() backendtest.Fixture {
	return backendtest.Fixture{
		Backend: w.Hosting, Callbacks: w.calls, CallbackURL: "http://holder.test/callbacks/provision",
		SKU: disk, SmallerSKU: tiny,
		Manifest: []byte(`{"image":"program:1","args":["out:one","out:two","listen:8080","wait"],"ports":{"8080/tcp":{}}}`),
		Other:    []byte(`{"image":"program:2","args":["out:one","out:two","listen:8080","wait"],"ports":{"8080/tcp":{}}}`),
		Broken:   []byte(`{"image":"program:2","args":["exit:3"],"ports":{"8080/tcp":{}}}`),
		Invalid:  []byte(`{"image":"program:1","privileged":true}`), UnknownSKU: "018f3c1e-7b2a-7c4d-9e5f-0000000000ff",
		Huge: []backend.LeaseItem{{SKU: micro, Quantity: 1000}}, Domain: "shop.example.org",
		Break: w.die, Wait: w.wait,
	}
}

func TestHostingConforms(t *testing.T) {
	for _, c := range backendtest.Cases() {
		t.Run(c.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { c.Run(t, newWorld(t).fixture()) })
		})
	}
}
