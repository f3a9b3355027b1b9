package hosting_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/provider/memory"
)

// A tenant's program prints what it likes. What is read of it has a bound for each
// container and one for the lease, and says where it was cut.
func TestLogsAreBoundedForAContainerAndForALease(t *testing.T) {
	const ofContainer, ofLease, marker = 5 << 20, 32 << 20, "[the rest is left out]\n"
	line := strings.Repeat("x", 8<<10)
	inWorld(t, func(t *testing.T, w *world) {
		w.cluster.AddImage("docker.io/library/loud:1", memory.Image{Programs: map[string]memory.Program{
			"/loud": func(ctx context.Context, p *memory.Process) int {
				for range 700 { // 5.5 MiB
					if _, err := io.WriteString(p.Stdout(), line+"\n"); err != nil {
						return 1
					}
				}
				<-ctx.Done()
				return 0
			},
		}})
		replicas := 8
		if underRace { // reads so much ten times slower; the bound of a container is enough there
			replicas = 1
		}
		req := provisionRequest(leaseIDs[0], one(replicas), []byte(`{"image":"loud:1","command":["/loud"]}`))
		if err := w.Provision(context.Background(), req); err != nil {
			t.Fatal(err)
		}
		w.ends(t, ready, success)
		logs, err := w.GetLogs(context.Background(), leaseIDs[0], backend.MaxLogTail)
		if err != nil || len(logs) != replicas {
			t.Fatalf("there are %d logs, %v", len(logs), err)
		}
		total := 0
		last := fmt.Sprint("app/", replicas-1)
		for i := range replicas {
			text := logs[fmt.Sprint("app/", i)]
			total += len(text)
			if len(text) > ofContainer+len(marker) || !strings.HasSuffix(text, marker) {
				t.Errorf("the log of container %d has %d bytes and ends with %q", i, len(text), text[max(len(text)-30, 0):])
			}
		}
		if want := min(replicas*ofContainer, ofLease); total > want+replicas*len(marker) || total < want-len(line)*replicas {
			t.Errorf("the logs have %d bytes", total)
		}
		few, err := w.GetLogs(context.Background(), leaseIDs[0], 3)
		if err != nil || few[last] != strings.Repeat(line+"\n", 3) {
			t.Errorf("the last three lines have %d bytes, %v", len(few[last]), err)
		}
	})
}
