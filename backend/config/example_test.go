package config_test

import (
	"fmt"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/config"
)

func ExampleConfig_Router() {
	source := []byte(`
backends:
  - name: docker-1
    url: http://10.0.0.7:9001
    unsigned: true  # in production: secret_file
    skus: [a1b2c3d4-e5f6-7890-abcd-1234567890ab]
  - name: spare
    url: http://10.0.0.8:9001
    unsigned: true
    default: true
`)
	c, err := config.Parse(source, config.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	dial := func(cfg backend.HTTPClientConfig) backend.Backend { return backend.NewHTTPClient(cfg) }
	router, err := c.Router(dial, backend.RouterConfig{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(router.Route("a1b2c3d4-e5f6-7890-abcd-1234567890ab").Name())
	fmt.Println(router.Route("another").Name())
	// Output:
	// docker-1
	// spare
}
