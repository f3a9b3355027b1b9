package backend_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/berth-cloud/berth/backend"
)

// The other side of the protocol has these numbers and words too: none of them may
// change.
func TestTheNumbersAndWordsOfTheProtocol(t *testing.T) {
	for name, c := range map[string]struct{ got, want any }{
		"DefaultMaxInfoBytes":             {backend.DefaultMaxInfoBytes, int64(1_048_576)},
		"DefaultMaxProvisionBytes":        {backend.DefaultMaxProvisionBytes, int64(1_048_576)},
		"DefaultMaxProvisionsBytes":       {backend.DefaultMaxProvisionsBytes, int64(8_388_608)},
		"DefaultMaxLookupProvisionsBytes": {backend.DefaultMaxLookupProvisionsBytes, int64(8_388_608)},
		"DefaultMaxLogsBytes":             {backend.DefaultMaxLogsBytes, int64(16_777_216)},
		"DefaultMaxReleasesBytes":         {backend.DefaultMaxReleasesBytes, int64(8_388_608)},
		"DefaultMaxStatsBytes":            {backend.DefaultMaxStatsBytes, int64(1_048_576)},
		"DefaultMaxRetentionsBytes":       {backend.DefaultMaxRetentionsBytes, int64(1_048_576)},
		"DefaultProvisionsPageLimit":      {backend.DefaultProvisionsPageLimit, 1000},
		"MaxPageLimit":                    {backend.MaxPageLimit, 5000},
		"MaxLookupUUIDs":                  {backend.MaxLookupUUIDs, 100},
		"MaxQuantity":                     {backend.MaxQuantity, 1024},
		"MaxCallbackError":                {backend.MaxCallbackError, 256},
		"DefaultLogTail":                  {backend.DefaultLogTail, 100},
		"MaxLogTail":                      {backend.MaxLogTail, 10_000},

		"provisioning":   {string(backend.ProvisionStatusProvisioning), "provisioning"},
		"ready":          {string(backend.ProvisionStatusReady), "ready"},
		"failing":        {string(backend.ProvisionStatusFailing), "failing"},
		"failed":         {string(backend.ProvisionStatusFailed), "failed"},
		"unknown":        {string(backend.ProvisionStatusUnknown), "unknown"},
		"restarting":     {string(backend.ProvisionStatusRestarting), "restarting"},
		"updating":       {string(backend.ProvisionStatusUpdating), "updating"},
		"deprovisioning": {string(backend.ProvisionStatusDeprovisioning), "deprovisioning"},
		"retained":       {string(backend.ProvisionStatusRetained), "retained"},

		"a callback of success":        {string(backend.CallbackStatusSuccess), "success"},
		"a callback of failure":        {string(backend.CallbackStatusFailed), "failed"},
		"a callback of what was freed": {string(backend.CallbackStatusDeprovisioned), "deprovisioned"},

		"the code of a SKU":                 {string(backend.ValidationCodeUnknownSKU), "unknown_sku"},
		"the code of a manifest":            {string(backend.ValidationCodeInvalidManifest), "invalid_manifest"},
		"the code of an image":              {string(backend.ValidationCodeImageNotAllowed), "image_not_allowed"},
		"the code of a lease that is there": {string(backend.ErrorCodeAlreadyProvisioned), "already_provisioned"},
		"the code of too much data":         {string(backend.ErrorCodeDemoteExceedsTier), "demote_exceeds_tier"},

		"the release that serves":    {backend.ReleaseStatusActive, "active"},
		"one that is on its way":     {backend.ReleaseStatusDeploying, "deploying"},
		"one that served":            {backend.ReleaseStatusSuperseded, "superseded"},
		"one that did not come up":   {backend.ReleaseStatusFailed, "failed"},
		"the reason that nobody has": {string(backend.ReasonUnknown), "Unknown"},
	} {
		if c.got != c.want {
			t.Errorf("%s is %v; want %v", name, c.got, c.want)
		}
	}
}

// Every type has the names of the protocol, and leaves out what it has not where the
// protocol does.
func TestEveryTypeHasTheNamesOfTheProtocol(t *testing.T) {
	at := time.Unix(0, 0).UTC()
	port := map[string]backend.PortBinding{"80/tcp": {HostIP: "0.0.0.0", HostPort: "1"}}
	instance := backend.LeaseInstance{InstanceIndex: 1, ContainerID: "c", Image: "i", Status: "running", FQDN: "f", Ports: port}
	item := backend.LeaseItem{SKU: "s", Quantity: 2, ServiceName: "web", CustomDomain: "d"}
	const portJSON = `{"80/tcp":{"host_ip":"0.0.0.0","host_port":"1"}}`
	const instanceJSON = `{"instance_index":1,"container_id":"c","image":"i","status":"running","fqdn":"f","ports":` + portJSON + `}`
	const itemJSON = `{"sku":"s","quantity":2,"service_name":"web","custom_domain":"d"}`
	for _, c := range []struct {
		value any
		want  string
	}{
		{item, itemJSON},
		{backend.LeaseItem{}, `{"sku":"","quantity":0}`},
		{backend.LeaseInfo{
			Host: "h", FQDN: "f", Protocol: "http", Ports: port, Instances: []backend.LeaseInstance{instance},
			Services: map[string]backend.LeaseService{"web": {FQDN: "g", Instances: []backend.LeaseInstance{instance}}}, Metadata: map[string]string{"k": "v"},
		}, `{"host":"h","fqdn":"f","protocol":"http","ports":` + portJSON + `,"instances":[` + instanceJSON + `],"services":{"web":{"fqdn":"g","instances":[` + instanceJSON + `]}},"metadata":{"k":"v"}}`},
		{backend.LeaseInfo{Services: map[string]backend.LeaseService{"web": {}}, Instances: []backend.LeaseInstance{{}}}, `{"instances":[{"instance_index":0}],"services":{"web":{}}}`},
		{backend.LeaseInfo{}, `{}`},
		{backend.PortBinding{}, `{"host_ip":"","host_port":""}`},
		{backend.ProvisionInfo{
			LeaseUUID: "l", ProviderUUID: "p", Status: "retained", CreatedAt: at, FailCount: 1, Reason: "R", Message: "m", BackendName: "never",
			RetainedUntil: at, Tenant: "t", Partition: "n", Image: "i", SKU: "s", Quantity: 2, Items: []backend.LeaseItem{item}, ServiceImages: map[string]string{"web": "i"},
		}, `{"lease_uuid":"l","provider_uuid":"p","status":"retained","created_at":"1970-01-01T00:00:00Z","fail_count":1,"last_error":"m","reason":"R","message":"m",` +
			`"retained_until":"1970-01-01T00:00:00Z","tenant":"t","partition":"n","image":"i","sku":"s","quantity":2,"items":[` + itemJSON + `],"service_images":{"web":"i"}}`},
		{backend.ReleaseInfo{Version: 1, Image: "i", Status: "failed", CreatedAt: at, Reason: "R", Message: "m", Manifest: []byte("{}")},
			`{"version":1,"image":"i","status":"failed","created_at":"1970-01-01T00:00:00Z","error":"m","reason":"R","message":"m","manifest":"e30="}`},
		{backend.ListProvisionsResponse{Provisions: []backend.ProvisionInfo{}, Continue: "c"}, `{"provisions":[],"continue":"c"}`},
		{backend.ListRetentionsResponse{Retentions: []backend.RetainedLease{{LeaseUUID: "l"}}, Continue: "c"}, `{"retentions":[{"lease_uuid":"l"}],"continue":"c"}`},
		{backend.ListRetentionsResponse{Retentions: []backend.RetainedLease{}}, `{"retentions":[]}`},
		{backend.LoadStats{TotalCPUCores: 8, AllocatedCPUCores: 0.5, ActiveContainers: 3}, `{"total_cpu_cores":8,"allocated_cpu_cores":0.5,"active_containers":3}`},
		{backend.ProvisionResponse{ProvisionID: "l"}, `{"provision_id":"l"}`},
		{backend.CallbackPayload{LeaseUUID: "l", Status: "deprovisioned", Error: "e", Backend: "b", Retained: true},
			`{"lease_uuid":"l","status":"deprovisioned","error":"e","backend":"b","retained":true}`},
		{backend.CallbackPayload{LeaseUUID: "l", Status: "success"}, `{"lease_uuid":"l","status":"success"}`},
		{backend.LeaseStatusEvent{LeaseUUID: "l", Status: "failed", Error: "e", Timestamp: at}, `{"lease_uuid":"l","status":"failed","error":"e","timestamp":"1970-01-01T00:00:00Z"}`},
		{backend.LeaseStatusEvent{LeaseUUID: "l", Status: "ready", Timestamp: at}, `{"lease_uuid":"l","status":"ready","timestamp":"1970-01-01T00:00:00Z"}`},
	} {
		if got, err := json.Marshal(c.value); err != nil || string(got) != c.want {
			t.Errorf("%T is\n%s, %v; want\n%s", c.value, got, err, c.want)
		}
	}
}

// A later version may say more: what is not known is passed over.
func TestWhatALaterVersionSaysIsPassedOver(t *testing.T) {
	var stats backend.LoadStats
	if err := json.Unmarshal([]byte(`{"total_cpu_cores":2,"allocated_cpu_cores":1,"total_memory_mb":{"a":[1]},"gpus":"many"}`), &stats); err != nil || stats.TotalCPUCores != 2 {
		t.Errorf("%+v, %v", stats, err)
	}
	var p backend.CallbackPayload
	if err := json.Unmarshal([]byte(`{"lease_uuid":"l","status":"success","later":{}}`), &p); err != nil || p.Backend != "" || p.Retained {
		t.Errorf("%+v, %v", p, err)
	}
}
