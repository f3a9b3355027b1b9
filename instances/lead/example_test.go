package lead_test

import (
	"context"
	"fmt"

	"github.com/berth-cloud/berth/instances/lead"
	"github.com/berth-cloud/berth/instances/storage"
)

// The first server of a new shard leads, and lets go in the end.
func ExampleElector_Run() {
	e, err := lead.New(lead.Options{Storage: storage.NewMemory(), Holder: "server-a"})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	err = e.Run(ctx, func(ctx context.Context, term uint64) error {
		_, leads := e.Term()
		fmt.Println("leads in term", term, leads)
		cancel() // the daemon is told to end
		<-ctx.Done()
		return nil
	})
	_, leads := e.Term()
	fmt.Println(leads, err)
	// Output:
	// leads in term 1 true
	// false <nil>
}
