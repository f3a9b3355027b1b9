package backend

// ProvisionRequest asks for a lease.
type ProvisionRequest struct {
	LeaseUUID    string      `json:"lease_uuid"`
	Tenant       string      `json:"tenant"`
	ProviderUUID string      `json:"provider_uuid"`
	Items        []LeaseItem `json:"items"`
	CallbackURL  string      `json:"callback_url"`
	// Payload is the manifest, and PayloadHash the lower-case hex of its SHA-256.
	Payload     []byte `json:"payload,omitempty"`
	PayloadHash string `json:"payload_hash,omitempty"`
}

// RoutingSKU is the SKU by which a backend is chosen: that of the first item, as
// all items of a lease belong to one provider. Without items it is "". It says
// nothing about how much is to be allocated.
func (r ProvisionRequest) RoutingSKU() string {
	if len(r.Items) == 0 {
		return ""
	}
	return r.Items[0].SKU
}

// TotalQuantity is the sum over all items.
func (r ProvisionRequest) TotalQuantity() int {
	total := 0
	for _, item := range r.Items {
		total += item.Quantity
	}
	return total
}

// RestartRequest asks for new containers from the same manifest.
type RestartRequest struct {
	LeaseUUID   string `json:"lease_uuid"`
	CallbackURL string `json:"callback_url"`
}

// UpdateRequest asks for another manifest.
type UpdateRequest struct {
	LeaseUUID   string `json:"lease_uuid"`
	CallbackURL string `json:"callback_url"`
	Payload     []byte `json:"payload"`
	PayloadHash string `json:"payload_hash,omitempty"`
}

// RestoreRequest asks for a new lease with the data retained of another one.
type RestoreRequest struct {
	LeaseUUID     string `json:"lease_uuid"`
	FromLeaseUUID string `json:"from_lease_uuid"`
	Tenant        string `json:"tenant"`
	// ProviderUUID must be that of the retained lease, unless it is "".
	ProviderUUID string `json:"provider_uuid"`
	// Items must have the services of the retained lease, each with the same
	// quantity in sum.
	Items       []LeaseItem `json:"items"`
	CallbackURL string      `json:"callback_url"`
}

// ReconcileCustomDomainRequest asks for the custom domains that the items name.
type ReconcileCustomDomainRequest struct {
	LeaseUUID string      `json:"lease_uuid"`
	Items     []LeaseItem `json:"items"`
}

// DeprovisionRequest gives a lease up.
type DeprovisionRequest struct {
	LeaseUUID string `json:"lease_uuid"`
}

// ProvisionResponse accepts a lease.
type ProvisionResponse struct {
	ProvisionID string `json:"provision_id"`
}
