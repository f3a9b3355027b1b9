package hosting_test

import (
	"fmt"

	"github.com/berth-cloud/berth/backend"
)

const callbackURL = "http://holder.test/callbacks/provision"

var leaseIDs = []string{"0190a1b2-0000-7000-8000-000000000001", "0190a1b2-0000-7000-8000-000000000002", "0190a1b2-0000-7000-8000-000000000003"}

// serves is a service that comes up with a version of the image, and breaks one that
// does not.
func serves(version int) string {
	return fmt.Sprintf(`{"image":"program:%d","args":["listen:8080","wait"],"ports":{"8080/tcp":{}}%%s}`, version)
}

const breaks = `{"image":"program:2","args":["exit:3"],"ports":{"8080/tcp":{}}%s}`

// one is a lease with one service.
func one(quantity int) []backend.LeaseItem {
	return []backend.LeaseItem{{SKU: micro, Quantity: quantity, ServiceName: "app"}}
}

// onDisk are items with a disk each.
func onDisk(items []backend.LeaseItem) []backend.LeaseItem {
	for i := range items {
		items[i].SKU = disk
	}
	return items
}

// three is a lease with three, of which there is none of one.
func three() []backend.LeaseItem {
	return []backend.LeaseItem{
		{SKU: micro, Quantity: 1, ServiceName: "web"}, {SKU: micro, Quantity: 1, ServiceName: "db"}, {SKU: micro, Quantity: 0, ServiceName: "job"},
	}
}

// alone is the manifest of a lease with one service.
func alone(service string) []byte { return fmt.Appendf(nil, service, "") }

// chain is the manifest of a lease with three, of which web waits for db.
func chain(web, db string) []byte {
	after := `,"depends_on":{"db":{"condition":"service_started"},"job":{"condition":"service_started"}}`
	return fmt.Appendf(nil, `{"services":{"web":%s,"db":%s,"job":%s}}`, fmt.Sprintf(web, after), fmt.Sprintf(db, ""), fmt.Sprintf(serves(1), ""))
}

// manifestFor is that of a lease with some items.
func manifestFor(items []backend.LeaseItem, service string) []byte {
	if len(items) == 1 {
		return alone(service)
	}
	return chain(service, serves(1))
}

func provisionRequest(lease string, items []backend.LeaseItem, payload []byte) backend.ProvisionRequest {
	return backend.ProvisionRequest{
		LeaseUUID: lease, Tenant: "tenant-a", ProviderUUID: "0190a1b2-0000-7000-8000-0000000000aa", CallbackURL: callbackURL, Items: items, Payload: payload,
	}
}
