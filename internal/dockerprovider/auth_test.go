package dockerprovider

import (
	"testing"

	"github.com/berth-cloud/berth/provider"
)

func TestRegistryLoginGoesToItsRegistryAlone(t *testing.T) {
	login := map[string]string{"username": "robot", "password": "hunter2"}
	named := map[string]string{"username": "robot", "password": "hunter2", "server": "other.example"}
	for name, c := range map[string]struct {
		values map[string]string // nil: the call carries no credentials
		main   string
		image  string
		want   bool
	}{
		"to that of the main image":         {login, "registry.example/shop/web:1", "registry.example/shop/log:1", true},
		"to no other":                       {login, "registry.example/shop/web:1", "docker.io/library/nginx:1", false},
		"to the one that is named":          {named, "registry.example/shop/web:1", "other.example/x:1", true},
		"to no other than that":             {named, "registry.example/shop/web:1", "registry.example/shop/web:1", false},
		"nowhere without credentials":       {nil, "registry.example/shop/web:1", "registry.example/shop/web:1", false},
		"nowhere with those of other kinds": {map[string]string{"token": "x"}, "registry.example/web:1", "registry.example/web:1", false},
		"nowhere for what is no reference":  {login, "Not A Reference", "registry.example/web:1", false},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			if c.values != nil {
				ctx = provider.ContextWithCredentials(ctx, &provider.Credentials{Values: c.values})
			}
			got := registryAuth(ctx, c.main)(c.image)
			if (got != nil) != c.want {
				t.Fatalf("the login for %s is %v", c.image, got)
			}
			if got != nil && (got.Username != "robot" || got.Password != "hunter2" || got.ServerAddress != registryOf(c.image)) {
				t.Errorf("the login for %s goes to %s as %s", c.image, got.ServerAddress, got.Username)
			}
		})
	}
}
