package provider_test

import (
	"context"
	"fmt"
	"log"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/provider/memory"
	"github.com/berth-cloud/berth/secrets"
)

// A service gets a password as a variable and its settings as a file. The spec names
// the secret; the value is read from the vault when a container is created, so a new
// value reaches the containers of the next release, and a rollback brings the old one
// back.
func ExampleSecretRef() {
	ctx := context.Background()
	vault := secrets.NewMemory() // or secrets.OpenSealed, which keeps them encrypted
	// In memory a change is over when its call returns. With docker.New, call
	// provider.Await after Provision, Deploy and Rollback.
	p := memory.New(memory.Options{Vault: vault})
	defer p.Close()

	// What the image would bring along: a program that shows what it was given.
	show := func(_ context.Context, c *memory.Process) int {
		password, _ := c.LookupEnv("DB_PASSWORD")
		settings, err := c.ReadFile("/etc/shop/settings.json")
		if err != nil {
			return 1
		}
		fmt.Fprintln(c.Stdout(), password, string(settings))
		return 0
	}
	p.Cluster().AddImage("shop:1", memory.Image{Command: []string{"/serve"}, Programs: map[string]memory.Program{"/serve": memory.Serve, "/show": show}})

	password := secrets.Ref{Tenant: "acme", Key: "shop/db-password"}
	set := func(value string) {
		if _, err := vault.Put(ctx, password, secrets.NewSecretString(value)); err != nil {
			log.Fatal(err)
		}
	}
	set("first")

	req := provider.ProvisionRequest{
		InstanceID: id.New(id.KindWorkload), TenantID: "acme", Name: "shop",
		Services: []provider.ServiceSpec{{
			Name: "web", Image: "shop:1",
			Ports:       []provider.PortSpec{{Container: 8080, Protocol: provider.ProtocolHTTP}},
			HealthCheck: &provider.HealthCheckSpec{Path: "/healthz"},
			Secrets:     []provider.SecretRef{{Key: password.Key, EnvKey: "DB_PASSWORD"}},
			ConfigFiles: []provider.ConfigFile{{Name: "settings", Path: "/etc/shop/settings.json", Format: "json", Content: `{"currency":"EUR"}`}},
		}},
	}
	look := func() {
		res, err := p.Exec(ctx, req.InstanceID, provider.ExecRequest{Command: []string{"/show"}})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Print(string(res.Stdout))
	}
	if _, err := p.Provision(ctx, req); err != nil {
		log.Fatal(err)
	}
	look()

	set("second")
	_, err := p.Deploy(ctx, provider.DeployRequest{
		InstanceID: req.InstanceID, ReleaseID: id.New(id.KindRelease),
		// The image is said again though it stays. Secrets and files are kept.
		Services: []provider.ServiceDeploySpec{{Name: "web", Image: "shop:1", Env: map[string]string{"MODE": "new"}}},
	})
	if err != nil {
		log.Fatal(err)
	}
	look()

	if err := p.Rollback(ctx, req.InstanceID, req.InitialRelease()); err != nil {
		log.Fatal(err)
	}
	look()
	// Output:
	// first {"currency":"EUR"}
	// second {"currency":"EUR"}
	// first {"currency":"EUR"}
}
