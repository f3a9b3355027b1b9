package fake_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-cloud/berth/instances/infra"
	"github.com/berth-cloud/berth/instances/infra/fake"
	"github.com/berth-cloud/berth/secrets"
)

const instanceID = "knc06bgm7733st2576nx5jht4ecjw"

func request() infra.CreateInstanceRequest {
	return infra.CreateInstanceRequest{
		ClusterID: owner.ClusterID, Shard: owner.Shard, Group: "g", Template: "t", InstanceKind: "knc",
		InstanceID: instanceID, UserData: secrets.NewSecretString("x"),
	}
}

// rig is a cloud, its clock and its owner's provider.
func rig(opts fake.Options) (*fake.Cloud, *fake.Clock, *fake.Provider) {
	clock := fake.NewClock(time.Time{})
	opts.Now = clock.Now
	cloud := fake.NewCloud(opts)
	return cloud, clock, cloud.Provider(owner)
}

func TestEachFaultDoesWhatItSays(t *testing.T) {
	own := errors.New("own")
	for name, row := range map[string]struct {
		fault fake.Fault
		want  error
		alive int
	}{
		"fail":            {fake.Fault{Do: fake.Fail}, infra.ErrUnavailable, 0},
		"fail, own error": {fake.Fault{Do: fake.Fail, Err: own}, own, 0},
		"fail after":      {fake.Fault{Do: fake.FailAfter}, infra.ErrAmbiguous, 1},
		"hang":            {fake.Fault{Do: fake.Hang}, context.DeadlineExceeded, 0},
		"hang after":      {fake.Fault{Do: fake.HangAfter}, context.DeadlineExceeded, 1},
		"throttle":        {fake.Fault{Do: fake.Throttle, For: time.Minute}, infra.ErrThrottled, 0},
		"no capacity":     {fake.Fault{Do: fake.NoCapacity}, infra.ErrNoCapacity, 0},
		"another method":  {fake.Fault{Method: "ListInstances", Do: fake.Fail}, nil, 1},
		"another id":      {fake.Fault{Instance: "x", Do: fake.Fail}, nil, 1},
		"the second call": {fake.Fault{From: 2, Do: fake.Fail}, nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cloud, _, p := rig(fake.Options{})
				cloud.Script(row.fault)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				if inst, err := p.CreateInstance(ctx, request()); !errors.Is(err, row.want) || (inst == nil) != (row.want != nil) {
					t.Errorf("%v, %v; want %v", inst, err, row.want)
				}
				if n := len(cloud.Alive()); n != row.alive {
					t.Errorf("%d machines, want %d", n, row.alive)
				}
			})
		})
	}
}

func TestAMachineBootsAndGoesInItsTime(t *testing.T) {
	cloud, clock, p := rig(fake.Options{BootTime: time.Minute, StopTime: time.Minute, Lingers: time.Minute, ListLag: time.Minute})
	cloud.Script(fake.Fault{Method: "CreateInstance", Do: fake.SlowBoot, For: time.Minute})
	if _, err := p.CreateInstance(t.Context(), request()); err != nil {
		t.Fatal(err)
	}
	var seen []string
	look := func() {
		status := infra.Status("not found")
		if inst, err := p.GetInstanceStatus(t.Context(), instanceID, ""); err == nil {
			status = inst.Status
		}
		all, err := infra.ListAll(t.Context(), p, owner)
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, fmt.Sprintf("%s/%d/%d", status, len(all), len(cloud.Alive())))
		clock.Advance(time.Minute)
	}
	for range 3 {
		look()
	}
	if err := p.DeleteInstance(t.Context(), instanceID, ""); err != nil {
		t.Fatal(err)
	}
	for range 4 {
		look()
	}
	want := []string{"pending/0/1", "pending/1/1", "running/1/1", "deleting/1/1", "deleted/1/0", "not found/1/0", "not found/0/0"}
	if !reflect.DeepEqual(seen, want) {
		t.Errorf("status/listed/alive\n%v, want\n%v", seen, want)
	}
	if h := cloud.History(); len(h) != 2 || h[0].What != "created" || h[1].What != "deleting" {
		t.Errorf("history %v", h)
	}
}

func TestAPartialDeleteLeavesAMachineUntilTheNextOne(t *testing.T) {
	cloud, clock, p := rig(fake.Options{})
	if _, err := p.CreateInstance(t.Context(), request()); err != nil {
		t.Fatal(err)
	}
	cloud.Script(fake.Fault{Method: "DeleteInstance", Do: fake.PartialDelete})
	for _, want := range []int{1, 0} {
		if err := p.DeleteInstance(t.Context(), instanceID, ""); err != nil {
			t.Fatal(err)
		}
		clock.Advance(time.Hour)
		if n := len(cloud.Alive()); n != want {
			t.Errorf("%d machines, want %d", n, want)
		}
	}
}

func TestLiesAreToldOnce(t *testing.T) {
	cloud, _, p := rig(fake.Options{})
	if _, err := p.CreateInstance(t.Context(), request()); err != nil {
		t.Fatal(err)
	}
	cloud.Script(fake.Fault{Method: "ListInstances", Do: fake.LieEmpty}, fake.Fault{Method: "GetInstanceStatus", Do: fake.LieNotFound})
	for _, want := range []int{0, 1} {
		if all, err := infra.ListAll(t.Context(), p, owner); err != nil || len(all) != want {
			t.Errorf("%v, %v", all, err)
		}
		if _, err := p.GetInstanceStatus(t.Context(), instanceID, ""); infra.IsNotFound(err) != (want == 0) {
			t.Errorf("status: %v", err)
		}
	}
}

func TestEveryCallIsSeenBeforeAndAfterItsEffect(t *testing.T) {
	cut := errors.New("cut")
	for _, after := range []bool{false, true} {
		cloud, _, p := rig(fake.Options{})
		cloud.OnCall(func(_ context.Context, c fake.Call) error {
			if c.After == after {
				return cut
			}
			return nil
		})
		if _, err := p.CreateInstance(t.Context(), request()); !errors.Is(err, cut) {
			t.Errorf("%v", err)
		}
		if made := cloud.Made(instanceID); (made == 1) != after {
			t.Errorf("cut after %t: %d machines", after, made)
		}
		if cloud.Calls("CreateInstance") != 1 {
			t.Error("the call was not counted")
		}
	}
}

func TestASubnetIsFullWhenItIs(t *testing.T) {
	_, _, p := rig(fake.Options{Subnets: map[string]int{"a": 1}})
	req := request()
	req.SubnetID = "a"
	if _, err := p.CreateInstance(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	if room, err := p.CheckSubnetCapacity(t.Context(), "a"); room || err != nil {
		t.Errorf("room %t, %v", room, err)
	}
	req.InstanceID = "knc06awcb4f5hzmfey7qwt7s8a6q4"
	if _, err := p.CreateInstance(t.Context(), req); !errors.Is(err, infra.ErrNoCapacity) {
		t.Errorf("%v", err)
	}
}

func TestWhatIsDoneByHandIsSeen(t *testing.T) {
	cloud, _, p := rig(fake.Options{})
	if _, err := p.CreateInstance(t.Context(), request()); err != nil {
		t.Fatal(err)
	}
	cloud.SetStatus(instanceID, infra.StatusStopped)
	if inst, err := p.GetInstanceStatus(t.Context(), instanceID, ""); err != nil || inst.Status != infra.StatusStopped {
		t.Errorf("%v, %v", inst, err)
	}
	cloud.Vanish(instanceID)
	if _, err := p.GetInstanceStatus(t.Context(), instanceID, ""); !infra.IsNotFound(err) {
		t.Errorf("%v", err)
	}
}

func TestTheSameRunIsTheSameTwice(t *testing.T) {
	run := func() string {
		cloud, clock, p := rig(fake.Options{BootTime: time.Second})
		for range 3 {
			_, _ = p.CreateInstance(t.Context(), request())
			cloud.Place(map[string]string{"a": "b"})
			clock.Advance(time.Second)
		}
		return fmt.Sprintf("%+v %+v", cloud.History(), cloud.Alive())
	}
	if one, two := run(), run(); one != two {
		t.Errorf("%s\n%s", one, two)
	}
}
