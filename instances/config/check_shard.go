package config

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

func (k *checker) shard(path string, s Shard) {
	k.identifier(path+".name", s.Name)
	k.identifier(path+".provider.kind", s.Provider.Kind)
	k.word(path+".provider.region", s.Provider.Region)
	k.word(path+".provider.zone", s.Provider.Zone)
	k.server(path+".server", s.Server)
	k.subnets(path, s)
	k.within(path+".userdata_urls.timeout", s.UserdataURLs.Timeout, false, time.Second, 5*time.Minute)
	if n := s.UserdataURLs.MaxBytes; n < 1 || n > 16<<20 {
		k.bad(path+".userdata_urls.max_bytes", "%d has to be 1 to %d", n, 16<<20)
	}
	k.timings(path+".timings", s.Timings)
	k.gc(path+".gc", s.GC)
	k.election(path+".election", s.Election)
	k.expiry(path+".expiry", s.Expiry)
}

func (k *checker) server(path string, s Server) {
	met := map[string]string{}
	for _, a := range []struct {
		key, addr string
		needed    bool
	}{{"registration_addr", s.RegistrationAddr, true}, {"agent_addr", s.AgentAddr, true}, {"operator_addr", s.OperatorAddr, false},
		{"ingress_addr", s.IngressAddr, false}} {
		at := path + "." + a.key
		switch {
		case a.addr == "" && a.needed:
			k.bad(at, "this is missing: host:port at which machines reach the server")
		case a.addr == "":
		case met[a.addr] != "":
			k.bad(at, "%s is %s too", clip(a.addr), met[a.addr])
		default:
			met[a.addr] = a.key
			k.address(at, a.addr)
		}
	}
}

func (k *checker) subnets(path string, s Shard) {
	owners := map[string]string{}
	for _, pool := range slices.Sorted(maps.Keys(s.SubnetPools)) {
		at := join(path+".subnet_pools", pool)
		k.identifier(at, pool)
		if len(s.SubnetPools[pool]) == 0 {
			k.bad(at, "a pool without subnets has no room for a machine")
		}
		for i, subnet := range s.SubnetPools[pool] {
			place := fmt.Sprintf("%s[%d]", at, i)
			k.word(place, subnet)
			switch {
			case subnet == "":
				k.bad(place, "a subnet's id is missing")
			case owners[subnet] != "":
				k.bad(place, "subnet %q is in the pool %q already", clip(subnet), owners[subnet])
			}
			owners[subnet] = pool
		}
	}
	for i, pool := range s.DynamicSubnetPools {
		k.pool(fmt.Sprintf("%s.dynamic_subnet_pools[%d]", path, i), pool, s.SubnetPools)
	}
}

func (k *checker) timings(path string, t Timings) {
	k.within(path+".request_timeout", t.RequestTimeout, false, time.Second, 10*time.Minute)
	k.within(path+".create_interval", t.CreateInterval, true, time.Millisecond, time.Hour)
	k.within(path+".health_check_interval", t.HealthCheckInterval, false, 100*time.Millisecond, time.Hour)
	k.within(path+".default_drain_timeout", t.DefaultDrainTimeout, true, time.Millisecond, 24*time.Hour)
	k.within(path+".launch_timeout", t.LaunchTimeout, false, time.Second, 24*time.Hour)
	k.within(path+".clock_skew", t.ClockSkew, true, time.Millisecond, time.Hour)
	k.within(path+".image_refresh", t.ImageRefresh, false, time.Minute, 168*time.Hour)
	k.within(path+".retry_min", t.RetryMin, false, time.Millisecond, time.Hour)
	k.within(path+".retry_max", t.RetryMax, false, time.Millisecond, 24*time.Hour)
	k.within(path+".shutdown_timeout", t.ShutdownTimeout, false, time.Second, 10*time.Minute)
	if t.RetryMax < t.RetryMin {
		k.bad(path+".retry_max", "%v is less than retry_min, %v", t.RetryMax, t.RetryMin)
	}
}

func (k *checker) gc(path string, g GC) {
	k.within(path+".interval", g.Interval, true, 100*time.Millisecond, 24*time.Hour)
	k.within(path+".registration_timeout", g.RegistrationTimeout, true, time.Second, 24*time.Hour)
	k.within(path+".deleted_record_retention", g.DeletedRecordRetention, false, time.Second, 720*time.Hour)
	k.within(path+".min_age", g.MinAge, false, time.Second, 168*time.Hour)
	if g.MaxDeletes < 1 || g.MaxDeletes > maxSize {
		k.bad(path+".max_deletes", "%d has to be 1 to %d", g.MaxDeletes, maxSize)
	}
	switch {
	case (g.Interval == 0) != (g.RegistrationTimeout == 0):
		k.bad(path+".registration_timeout", "interval and registration_timeout are both 0, or neither is")
	case g.Interval != 0 && g.RegistrationTimeout <= g.Interval:
		k.bad(path+".registration_timeout", "%v has to be longer than interval, %v", g.RegistrationTimeout, g.Interval)
	}
}

func (k *checker) election(path string, e Election) {
	k.within(path+".interval", e.Interval, false, 100*time.Millisecond, time.Minute)
	k.within(path+".idle_interval", e.IdleInterval, false, 100*time.Millisecond, 10*time.Minute)
	k.within(path+".timeout", e.Timeout, false, time.Second, 10*time.Minute)
	if e.Timeout <= e.Interval {
		k.bad(path+".timeout", "%v has to be longer than interval, %v", e.Timeout, e.Interval)
	}
	if e.IdleInterval < e.Interval {
		k.bad(path+".idle_interval", "%v is shorter than interval, %v", e.IdleInterval, e.Interval)
	}
}

func (k *checker) expiry(path string, e Expiry) {
	const most = 5 * 8760 * time.Hour
	k.within(path+".eligible_age", e.EligibleAge, true, time.Minute, most)
	k.within(path+".forced_age", e.ForcedAge, true, time.Minute, most)
	k.within(path+".ondemand_age", e.OnDemandAge, true, time.Minute, most)
	if e.EligibleAge != 0 && e.ForcedAge != 0 && e.EligibleAge >= e.ForcedAge {
		k.bad(path+".eligible_age", "%v has to be less than forced_age, %v", e.EligibleAge, e.ForcedAge)
	}
}
