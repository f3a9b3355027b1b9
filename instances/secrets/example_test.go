package secrets_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/berth-cloud/berth/instances/secrets"
	"github.com/berth-cloud/berth/instances/storage"
)

// A key is made once, by whoever comes first; everybody else uses that one.
func Example() {
	ctx := context.Background()
	sealing, err := secrets.NewKey(secrets.GenerateKey())
	if err != nil {
		fmt.Println(err)
		return
	}
	store, err := secrets.NewObjects(storage.Scoped(storage.NewMemory(), "cluster/secret"), secrets.Keys{Primary: sealing})
	if err != nil {
		fmt.Println(err)
		return
	}
	err = store.SetIfAbsent(ctx, "ca.key", secrets.GenerateKey())
	fmt.Println("first:", err)
	err = store.SetIfAbsent(ctx, "ca.key", secrets.GenerateKey())
	fmt.Println("second:", errors.Is(err, secrets.ErrExists))
	key, err := store.Get(ctx, "ca.key")
	fmt.Println(key, err)
	// Output:
	// first: <nil>
	// second: true
	// [redacted] <nil>
}
