package registration_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/berth-cloud/berth/instances"
	"github.com/berth-cloud/berth/instances/ca"
	"github.com/berth-cloud/berth/instances/registration"
	"github.com/berth-cloud/berth/instances/secrets"
	"github.com/berth-cloud/berth/instances/storage"
	"github.com/berth-cloud/berth/instances/wire"
)

// nobody lets nobody in.
type nobody struct{}

func (nobody) Register(context.Context, instances.RegisterRequest) (*instances.Registration, error) {
	return nil, instances.ErrTokenInvalid
}

func (nobody) Renew(context.Context, instances.RenewRequest) (*instances.Registration, error) {
	return nil, instances.ErrInstanceNotFound
}

func (nobody) Denied(string) bool { return false }

// Without TLS there is nothing that a proof could be bound to.
func Example() {
	authority, err := ca.Open(context.Background(), ca.Options{Storage: storage.NewMemory(), Secrets: secrets.NewMemory(), ClusterID: "prod"})
	if err != nil {
		panic(err)
	}
	handler, err := registration.New(registration.Options{Registrar: nobody{}, Verifier: authority})
	if err != nil {
		panic(err)
	}
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, httptest.NewRequest(http.MethodPost, wire.RegisterPath, strings.NewReader("{}")))
	fmt.Println(answer.Code, answer.Body)
	// Output: 426 {"code":"proof_invalid","error":"registration is spoken over TLS 1.3"}
}
