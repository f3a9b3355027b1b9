package egress_test

import (
	"errors"
	"fmt"

	"github.com/berth-cloud/berth/backend/hosting/egress"
)

func ExamplePolicy_ParseTarget() {
	var onlyPublic egress.Policy
	_, err := onlyPublic.ParseTarget("http://[::ffff:169.254.169.254]/latest")
	fmt.Println(errors.Is(err, egress.ErrRefused))
	u, err := onlyPublic.ParseTarget("https://holder.example/callbacks/provision")
	fmt.Println(u.Host, err)
	// Output:
	// true
	// holder.example <nil>
}
