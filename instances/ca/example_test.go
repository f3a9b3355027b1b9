package ca_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"

	"github.com/berth-cloud/berth/instances/ca"
	"github.com/berth-cloud/berth/instances/secrets"
	"github.com/berth-cloud/berth/instances/storage"
	"github.com/berth-cloud/berth/instances/wire"
)

// An authority certifies the agent of a machine.
func Example() {
	ctx := context.Background()
	authority, err := ca.Open(ctx, ca.Options{
		Storage: storage.NewMemory(), Secrets: secrets.NewMemory(), ClusterID: "prod",
	})
	if err != nil {
		panic(err)
	}
	public, _, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		panic(err)
	}
	cert, err := authority.Issue(ca.Request{
		Role: wire.RoleAgent, Name: "knc06bgm7733st2576nx5jht4ecjw", Tenant: "acme", PublicKey: public,
	})
	if err != nil {
		panic(err)
	}
	block, _ := pem.Decode(cert.PEM)
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		panic(err)
	}
	who, err := authority.Verify(leaf, x509.ExtKeyUsageClientAuth)
	fmt.Println(who.Role, who.InstanceID, who.Tenant, err)
	// Output: agent knc06bgm7733st2576nx5jht4ecjw acme <nil>
}
