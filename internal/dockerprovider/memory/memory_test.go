package memory_test

import (
	"testing"

	"github.com/berth-cloud/berth/internal/dockerprovider/memory"
	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/provider/statestoretest"
)

func TestStoreKeepsTheContract(t *testing.T) {
	statestoretest.Run(t, func(*testing.T) provider.StateStore { return memory.New() })
}
