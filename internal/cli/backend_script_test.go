package cli_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/internal/api/apitest"
	"github.com/berth-cloud/berth/internal/api/backendadmin/admintest"
)

func TestBackendScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/backend",
		RequireExplicitExec: true,
		UpdateScripts:       os.Getenv("UPDATE") != "",
		Setup: func(env *testscript.Env) error {
			d, err := admintest.Start()
			if err != nil {
				return err
			}
			env.Defer(func() {
				if err := d.Close(); err != nil {
					t.Error(err)
				}
			})
			env.Values["backend"] = d
			env.Setenv("BERTH_BACKEND_SOCKET", d.Socket)
			env.Setenv("BERTH_SOCKET", "nowhere.sock") // no server is needed
			server, err := apitest.Start(nil)
			if err != nil {
				return err
			}
			env.Defer(func() {
				if err := server.Close(); err != nil {
					t.Error(err)
				}
			})
			env.Setenv("SERVER_SOCKET", server.Socket)
			env.Setenv("GORACE", os.Getenv("GORACE"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"code": wantCode, "lease": takeLease, "update": updateLease, "deprovision": giveUpLease, "restore": restoreLease, "domain": wishDomain},
	})
}

// takeLease is `lease UUID TENANT MANIFEST STATUS [QUANTITY [SKU]]`: it is provisioned, or
// refused, or waited for until it has the status.
func takeLease(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 4 {
		ts.Fatalf("usage: lease UUID TENANT MANIFEST STATUS [QUANTITY [SKU]]")
	}
	quantity, sku := 1, "micro"
	if len(args) > 4 {
		var err error
		quantity, err = strconv.Atoi(args[4])
		ts.Check(err)
	}
	if len(args) > 5 {
		sku = args[5]
	}
	d := ts.Value("backend").(*admintest.Daemon)
	err := d.Hosting.Provision(context.Background(), backend.ProvisionRequest{
		LeaseUUID: args[0], Tenant: args[1], ProviderUUID: "018f3c1e-7b2a-7c4d-9e5f-0000000000ee", CallbackURL: admintest.CallbackURL,
		Items: []backend.LeaseItem{{SKU: sku, Quantity: quantity}}, Payload: []byte(ts.ReadFile(args[2])),
	})
	if neg {
		if err == nil {
			ts.Fatalf("it was taken")
		}
		ts.Check(os.WriteFile(ts.MkAbs("refused"), []byte(err.Error()+"\n"), 0o600))
		return
	}
	ts.Check(err)
	ts.Check(d.Await(args[0], backend.ProvisionStatus(args[3])))
}

// restoreLease is `restore UUID FROM TENANT QUANTITY SKU STATUS`.
func restoreLease(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 6 {
		ts.Fatalf("usage: restore UUID FROM TENANT QUANTITY SKU STATUS")
	}
	quantity, err := strconv.Atoi(args[3])
	ts.Check(err)
	d := ts.Value("backend").(*admintest.Daemon)
	ts.Check(d.Hosting.Restore(context.Background(), backend.RestoreRequest{
		LeaseUUID: args[0], FromLeaseUUID: args[1], Tenant: args[2], CallbackURL: admintest.CallbackURL,
		Items: []backend.LeaseItem{{SKU: args[4], Quantity: quantity}},
	}))
	ts.Check(d.Await(args[0], backend.ProvisionStatus(args[5])))
}

// wishDomain is `domain UUID DOMAIN STATE`.
func wishDomain(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: domain UUID DOMAIN STATE")
	}
	d := ts.Value("backend").(*admintest.Daemon)
	ts.Check(d.Hosting.ReconcileCustomDomain(context.Background(), args[0], []backend.LeaseItem{{SKU: "micro", Quantity: 1, CustomDomain: args[1]}}))
	ts.Check(d.AwaitDomain(args[0], args[1], args[2]))
}

// updateLease is `update UUID MANIFEST STATUS`.
func updateLease(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: update UUID MANIFEST STATUS")
	}
	d := ts.Value("backend").(*admintest.Daemon)
	ts.Check(d.Hosting.Update(context.Background(), backend.UpdateRequest{
		LeaseUUID: args[0], CallbackURL: admintest.CallbackURL, Payload: []byte(ts.ReadFile(args[1])),
	}))
	ts.Check(d.Await(args[0], backend.ProvisionStatus(args[2])))
}

// giveUpLease is `deprovision UUID`: it returns once nothing of it is listed.
func giveUpLease(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: deprovision UUID")
	}
	d := ts.Value("backend").(*admintest.Daemon)
	ts.Check(d.Hosting.Deprovision(context.Background(), args[0]))
	if err := d.AwaitGone(args[0]); err != nil {
		ts.Fatalf("%s", strings.TrimSpace(fmt.Sprint(err)))
	}
}
