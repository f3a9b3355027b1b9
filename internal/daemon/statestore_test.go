package daemon

import (
	"testing"

	"github.com/berth-cloud/berth/internal/store/sqlite"
	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/provider/statestoretest"
)

func TestTheDaemonsStoreKeepsProviderState(t *testing.T) {
	statestoretest.Run(t, func(t *testing.T) provider.StateStore {
		st, err := sqlite.Open(t.Context(), sqlite.Options{Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := st.Close(); err != nil {
				t.Error(err)
			}
		})
		return stateStore{st}
	})
}
