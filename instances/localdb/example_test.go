package localdb_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/berth-cloud/berth/instances/localdb"
)

// An instance registers once; a later save of what was known before keeps it so.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "berth-cache")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	db, err := localdb.Open(ctx, filepath.Join(dir, "machines.db"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()

	one := localdb.Instance{ID: "knc06bgm7733st2576nx5jht4ecjw", Tenant: "acme", Group: "web"}
	now := time.Date(2026, 4, 1, 12, 0, 0, 0, time.UTC)
	fmt.Println(db.SaveInstance(ctx, one))
	_, err = db.ClaimRegistration(ctx, one.ID, "its key", now)
	fmt.Println(err)
	_, err = db.ClaimRegistration(ctx, one.ID, "another key", now)
	fmt.Println(errors.Is(err, localdb.ErrClaimed))
	fmt.Println(db.SaveInstance(ctx, one))
	known, err := db.Instance(ctx, one.ID)
	fmt.Println(known.RegisteredAt.Equal(now), known.PublicKey, err)
	// Output:
	// <nil>
	// <nil>
	// true
	// <nil>
	// true its key <nil>
}
