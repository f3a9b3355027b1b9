package storage_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/berth-cloud/berth/instances/storage"
)

// Two writers read the same object; only the first of them replaces it.
func Example() {
	ctx := context.Background()
	s := storage.Scoped(storage.NewMemory(), "shard/north")

	tag, err := s.PutIfMatch(ctx, "leader.json", []byte(`{"leader":"a"}`), "")
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = s.PutIfMatch(ctx, "leader.json", []byte(`{"leader":"b"}`), tag)
	fmt.Println("b:", err)
	_, err = s.PutIfMatch(ctx, "leader.json", []byte(`{"leader":"c"}`), tag)
	fmt.Println("c:", errors.Is(err, storage.ErrPrecondition))
	// Output:
	// b: <nil>
	// c: true
}
