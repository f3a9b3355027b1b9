package spec

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// changed is a copy of the sample with one change.
func changed(change func(*Service)) *Service {
	s := sampleService()
	change(s)
	return s
}

func TestDiffSpeaksTheWordsOfTheFile(t *testing.T) {
	long := strings.Repeat("x", 100)
	for name, c := range map[string]struct {
		change func(*Service)
		want   string
	}{
		"image":              {func(s *Service) { s.Image = "web:2" }, `image: web:1 → web:2 (roll)`},
		"command":            {func(s *Service) { s.Command = []string{"serve", "-v", "a b"} }, `command: ["serve"] → ["serve", "-v", "a b"] (roll)`},
		"command gone":       {func(s *Service) { s.Command = nil }, `command: removed ["serve"] (roll)`},
		"variable":           {func(s *Service) { s.Env[0].Value = "c" }, `env.A: changed (roll)`},
		"variable added":     {func(s *Service) { s.Env = append(s.Env, EnvVar{Name: "B", Value: ""}) }, `env.B: added (roll)`},
		"variable gone":      {func(s *Service) { s.Env = nil }, `env.A: removed (roll)`},
		"port":               {func(s *Service) { s.Port = 80 }, `port: 8080 → 80 (roll)`},
		"domains":            {func(s *Service) { s.Domains = []string{"a.example", "b.example"} }, `domains: shop.example → a.example, b.example (route)`},
		"path":               {func(s *Service) { s.Path = "" }, `path: /app → / (route)`},
		"replicas":           {func(s *Service) { s.Replicas = 5 }, `replicas: 2 → 5 (scale)`},
		"strategy":           {func(s *Service) { s.Strategy = Recreate }, `strategy: blue-green → recreate (settings)`},
		"probe gone":         {func(s *Service) { s.Readiness = nil }, `health.readiness: removed GET /ready on port 81 every 1s within 1s, expecting 200 (roll)`},
		"probe path":         {func(s *Service) { s.Readiness.Path = "/" }, `health.readiness.path: /ready → / (roll)`},
		"probe port":         {func(s *Service) { s.Readiness.Port = 0 }, `health.readiness.port: removed 81 (roll)`},
		"probe interval":     {func(s *Service) { s.Readiness.Interval = 500 * time.Millisecond }, `health.readiness.interval: 1s → 500ms (roll)`},
		"ready timeout":      {func(s *Service) { s.ReadyTimeout = 90 * time.Second }, `health.ready_timeout: 1m → 90s (settings)`},
		"drain timeout":      {func(s *Service) { s.DrainTimeout = 0 }, `drain_timeout: 1s → 0s (route)`},
		"stop grace":         {func(s *Service) { s.StopGrace = time.Hour }, `stop_grace: 1s → 1h (settings)`},
		"hold timeout":       {func(s *Service) { s.HoldTimeout = 2 * time.Second }, `hold_timeout: 1s → 2s (route)`},
		"memory":             {func(s *Service) { s.Resources.MemoryBytes = 3 << 29 }, `resources.memory: 1Gi → 1536Mi (roll)`},
		"no memory limit":    {func(s *Service) { s.Resources.MemoryBytes = 0 }, `resources.memory: removed 1Gi (roll)`},
		"processor":          {func(s *Service) { s.Resources.MilliCPU = 2000 }, `resources.cpu: 500m → 2 (roll)`},
		"volume":             {func(s *Service) { s.Volumes[0] = Volume{Name: "other", Path: "/data", ReadOnly: true} }, `volumes[/data]: volume data as a → volume other, read-only (roll)`},
		"volume shared":      {func(s *Service) { s.Volumes[0].Shared = true }, `volumes[/data]: volume data as a → volume data as a, shared (settings)`},
		"volume added":       {func(s *Service) { s.Volumes = append(s.Volumes, Volume{HostPath: "/srv", Path: "/srv"}) }, `volumes[/srv]: added host path /srv (roll)`},
		"published":          {func(s *Service) { s.Publish[0].Public = true }, `publish[8080]: port 80 on loopback → port 80 to everyone (roll)`},
		"published on":       {func(s *Service) { s.Publish[0].HostPort = 9 }, "publish[9]: added port 80 on loopback (roll)\npublish[8080]: removed port 80 on loopback (roll)"},
		"label":              {func(s *Service) { s.Labels["team"] = "x" }, `labels.team: "shop" → "x" (settings)`},
		"label with a dot":   {func(s *Service) { s.Labels["a.b"] = "" }, `labels."a.b": added "" (settings)`},
		"nothing":            {func(s *Service) {}, ``},
		"stable window":      {func(s *Service) { s.StableWindow = 0 }, `stable_window: 1s → 0s (settings)`},
		"previous":           {func(s *Service) { s.KeepPrevious = 0 }, `keep_previous: 1m → 0s (settings)`},
		"expected status":    {func(s *Service) { s.Readiness.ExpectedStatus = "204" }, `health.readiness.expected_status: 200 → 204 (roll)`},
		"a long word":        {func(s *Service) { s.Command = []string{long} }, `command: ["serve"] → ["` + long[:60] + `…" (100 bytes, sha256 09ecb6eb)] (roll)`},
		"two at once":        {func(s *Service) { s.Port, s.Replicas = 80, 1 }, "port: 8080 → 80 (roll)\nreplicas: 2 → 1 (scale)"},
		"bounds":             {func(s *Service) { s.MaxSurge, s.MaxUnavailable = "2", "" }, "max_surge: 25% → 2 (settings)\nmax_unavailable: removed 1 (settings)"},
		"restart":            {func(s *Service) { s.Restart = RestartAlways }, `restart: on-failure → always (roll)`},
		"completion":         {func(s *Service) { s.CompletionTimeout = 0 }, `completion_timeout: 1m → 0s (settings)`},
		"dependency":         {func(s *Service) { s.DependsOn[0].Condition = DependsStarted }, `depends_on[db]: ready → started (settings)`},
		"dependencies":       {func(s *Service) { s.DependsOn[0].Service = "api" }, "depends_on[api]: added ready (settings)\ndepends_on[db]: removed ready (settings)"},
		"liveness gone":      {func(s *Service) { s.Liveness = nil }, `health.liveness: removed run ["check"] every 1s within 1s, up to 5 failures in a row (roll)`},
		"liveness failures":  {func(s *Service) { s.Liveness.Failures = 0 }, `health.liveness.failures: 5 → 3 (roll)`},
		"another way to ask": {func(s *Service) { s.Readiness.Path, s.Readiness.GRPC = "", true }, "health.readiness.path: removed /ready (roll)\nhealth.readiness.grpc: added the server (roll)"},
		"a probe of gRPC": {func(s *Service) {
			s.Liveness = &Probe{GRPC: true, GRPCService: "a", Interval: time.Second, Timeout: time.Second}
		}, "health.liveness.exec: removed [\"check\"] (roll)\nhealth.liveness.grpc: added the service \"a\" (roll)\nhealth.liveness.failures: 5 → 3 (roll)"},
		"process":         {func(s *Service) { s.User, s.Init, s.StopSignal = "0", false, "" }, "user: 1000 → 0 (roll)\nstop_signal: removed SIGINT (roll)\ninit: removed true (roll)"},
		"entrypoint":      {func(s *Service) { s.Entrypoint = nil }, `entrypoint: removed ["/entry"] (roll)`},
		"tmpfs":           {func(s *Service) { s.Tmpfs = []Tmpfs{{Path: "/tmp"}, {Path: "/run", SizeBytes: 1 << 20}} }, "tmpfs[/run]: added in memory, at most 1Mi (roll)\ntmpfs[/tmp]: in memory, at most 1Mi → in memory (roll)"},
		"a file":          {func(s *Service) { s.Files[0].Secret.Version = 2 }, `files[/etc/app/key]: secret shop/KEY (version 1) → secret shop/KEY (version 2) (roll)`},
		"value to secret": {func(s *Service) { s.Env[0] = EnvVar{Name: "A", Secret: SecretRef{Key: "shop/A"}} }, `env.A: changed (roll)`},
		"secret of a member": {func(s *Service) {
			s.Sidecars[0].Env[0].Secret = SecretRef{Key: "shop/TOKEN", Optional: true, Version: 3}
		}, `sidecars[proxy].env.TOKEN: secret shop/TOKEN (version 2) → secret shop/TOKEN (version 3), not required (roll)`},
		"image of an init": {func(s *Service) { s.Inits[0].Image = "migrate:2" }, `inits[migrate].image: migrate:1 → migrate:2 (roll)`},
		"a member more": {func(s *Service) {
			s.Inits = append(s.Inits, Member{Name: "seed", Image: "seed:1", Process: Process{User: "7"}})
		}, "inits[seed].image: added seed:1 (roll)\ninits[seed].user: added 7 (roll)"},
		"labels of a member":            {func(s *Service) { s.Sidecars[0].Labels = nil }, `sidecars[proxy].labels.team: removed "shop" (settings)`},
		"volume of a member":            {func(s *Service) { s.Sidecars[0].Volumes[0].Shared = true }, `sidecars[proxy].volumes[/data]: volume data as a → volume data as a, shared (settings)`},
		"after":                         {func(s *Service) { s.SidecarsFirst = nil }, `after: removed ["proxy"] (roll)`},
		"a port of the engine's choice": {func(s *Service) { s.Publish[0] = PublishedPort{Port: 80, Protocol: "udp", Address: "10.0.0.1"} }, "publish[10.0.0.1:any, to 80/udp]: added port 80 on 10.0.0.1 (roll)\npublish[8080]: removed port 80 on loopback (roll)"},
		"the node":                      {func(s *Service) { s.Placement = Placement{Node: "two"} }, "node: one, labels {disk: \"ssd\"} → two (place)\nspread: removed true (place)\non_disconnect: removed move_after 1m (settings)"},
		"the default, said":             {func(s *Service) { s.Placement.MoveAfter = DefaultMoveAfter }, "on_disconnect: removed move_after 1m (settings)"},
		"stay":                          {func(s *Service) { s.Placement.Keep = true }, "on_disconnect: move_after 1m → keep (settings)"},
		"control character":             {func(s *Service) { s.Command = []string{"\x1b[31m"} }, `command: ["serve"] → ["\x1b[31m"] (roll)`},
	} {
		t.Run(name, func(t *testing.T) {
			var lines []string
			for _, change := range Diff(sampleService(), changed(c.change)) {
				lines = append(lines, change.String()+" ("+string(change.Effect)+")")
			}
			if got := strings.Join(lines, "\n"); got != c.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, c.want)
			}
		})
	}
}

func TestValuesOfVariablesAreInNoLine(t *testing.T) {
	old, changed := sampleService(), sampleService()
	old.Env = []EnvVar{{Name: "DB", Value: "postgres://me:hunter2@db"}, {Name: "GONE", Value: "hunter2"}}
	changed.Env = []EnvVar{{Name: "DB", Value: "postgres://me:hunter3@db"}, {Name: "NEW", Value: "hunter2"}}
	changes := Diff(old, changed)
	if len(changes) != 3 {
		t.Fatalf("%d changes, want 3", len(changes))
	}
	for _, c := range changes {
		if !c.Private || strings.Contains(c.String(), "hunter") {
			t.Errorf("%s (private: %v)", c, c.Private)
		}
	}
}

func TestTheOrderOfMembersIsADifference(t *testing.T) {
	old, changed := sampleService(), sampleService()
	old.Inits = []Member{{Name: "a", Image: "a"}, {Name: "b", Image: "b"}, {Name: "gone", Image: "c"}}
	changed.Inits = []Member{{Name: "b", Image: "b"}, {Name: "a", Image: "a"}}
	var lines []string
	for _, c := range Diff(old, changed) {
		lines = append(lines, c.String())
	}
	if got := strings.Join(lines, "\n"); got != "inits: a, b → b, a\ninits[gone].image: removed c" {
		t.Errorf("got:\n%s", got)
	}
}

func TestANewServiceIsADiffFromNothing(t *testing.T) {
	s := newService("web")
	s.Image, s.Strategy = "web:1", BlueGreen
	created, removed := Diff(nil, &s), Diff(&s, nil)
	if len(created) != 2 || created[0].String() != "image: added web:1" || Heaviest(created) != EffectRoll {
		t.Errorf("created: %v", created)
	}
	if len(removed) != 2 || removed[0].String() != "image: removed web:1" {
		t.Errorf("removed: %v", removed)
	}
}

func TestTheHeaviestEffectWins(t *testing.T) {
	all := []FieldChange{{Effect: EffectSettings}, {Effect: EffectRoute}, {Effect: EffectScale}, {Effect: EffectRoll}}
	for i := range all {
		if got := Heaviest(all[:i+1]); got != all[i].Effect {
			t.Errorf("Heaviest(%v) = %s, want %s", all[:i+1], got, all[i].Effect)
		}
	}
	if got := Heaviest(nil); got != "" {
		t.Errorf("Heaviest of none = %q", got)
	}
}

func TestInterruptionsAreNamedWithTheirCause(t *testing.T) {
	plain := newService("web")
	plain.Image, plain.Port, plain.Domains, plain.Strategy = "web:1", 80, []string{"shop.example"}, BlueGreen
	with := func(changes ...func(*Service)) *Service {
		s := plain
		s.Domains = slices.Clone(plain.Domains)
		for _, change := range changes {
			change(&s)
		}
		return &s
	}
	image := func(s *Service) { s.Image = "web:2" }
	writes := func(s *Service) { s.Volumes, s.Strategy = []Volume{{Name: "data", Path: "/data"}}, Recreate }
	reads := func(s *Service) { s.Volumes = []Volume{{Name: "data", Path: "/data", ReadOnly: true}} }
	shares := func(s *Service) { s.Volumes = []Volume{{Name: "data", Path: "/data", Shared: true}} }
	publishes := func(s *Service) {
		s.Publish, s.Strategy = []PublishedPort{{Port: 80, HostPort: 8080, Public: true}}, Recreate
	}
	recreates := func(s *Service) { s.Strategy = Recreate }
	memberWrites := func(s *Service) {
		s.Sidecars, s.Strategy = []Member{{Name: "log", Image: "log:1", Volumes: []Volume{{Name: "data", Path: "/data"}}}}, Recreate
	}
	memberPublishes := func(s *Service) {
		s.Sidecars, s.Strategy = []Member{{Name: "log", Image: "log:1", Publish: []PublishedPort{{Port: 80, HostPort: 8080}}}}, Recreate
	}
	rolls := func(surge, unavailable Amount, replicas int) func(*Service) {
		return func(s *Service) {
			s.Strategy, s.MaxSurge, s.MaxUnavailable, s.Replicas = Rolling, surge, unavailable, replicas
		}
	}
	stateful := func(s *Service) { s.Stateful = true }
	job := func(s *Service) { s.Restart, s.Strategy, s.Domains = RestartNo, Recreate, nil }
	at := func(path string) func(*Service) { return func(s *Service) { s.Path = path } }
	for name, c := range map[string]struct {
		old, new *Service
		want     string
	}{
		"a new service":              {nil, with(writes), ""},
		"nothing":                    {with(writes), with(writes), ""},
		"a deletion":                 {with(), nil, "delete: the service is removed"},
		"blue-green":                 {with(), with(image), ""},
		"recreate":                   {with(recreates), with(recreates, image), "handover: its strategy is recreate"},
		"a writer":                   {with(writes), with(writes, image), "handover: the volume data may have one writer only"},
		"a reader":                   {with(reads), with(reads, image), ""},
		"a sharer":                   {with(shares), with(shares, image), ""},
		"becomes a writer":           {with(), with(writes), "handover: the volume data may have one writer only"},
		"gives its volume up":        {with(writes), with(), ""},
		"a port of the host":         {with(publishes), with(publishes, image), "handover: the host's port 8080 can be held once"},
		"volume and port":            {with(writes, publishes), with(writes, publishes, image), "handover: the volume data may have one writer only and the host's port 8080 can be held once"},
		"a port closed":              {with(publishes), with(), "port: the host's port 8080 is closed"},
		"a port hidden":              {with(publishes), with(publishes, func(s *Service) { s.Publish[0].Public = false }), "handover: the host's port 8080 can be held once\nport: the host's port 8080 is open on loopback only"},
		"a port turned":              {with(publishes), with(publishes, func(s *Service) { s.Publish[0].Port = 81 }), "handover: the host's port 8080 can be held once\nport: the host's port 8080 leads to port 81"},
		"a scale of a recreated one": {with(recreates), with(recreates, func(s *Service) { s.Replicas = 3 }), ""},
		"a domain more":              {with(), with(func(s *Service) { s.Domains = append(s.Domains, "www.shop.example") }), ""},
		"a domain less":              {with(), with(func(s *Service) { s.Domains = nil }), "route: shop.example no longer leads here"},
		"a path less":                {with(), with(at("/app")), "route: shop.example/ becomes shop.example/app"},
		"a path more":                {with(at("/app")), with(), ""},
		"a path turned":              {with(at("/app")), with(at("/apple")), "route: shop.example/app becomes shop.example/apple"},
		"a member writes":            {with(memberWrites), with(memberWrites, image), "handover: the volume data may have one writer only"},
		"main and member write":      {with(memberWrites, writes), with(memberWrites, writes, image), "handover: the volume data may have one writer only"},
		"a member publishes":         {with(memberPublishes), with(), "port: the host's port 8080 is closed"},
		"a port moves to a member":   {with(publishes), with(memberPublishes), "handover: the host's port 8080 can be held once\nport: the host's port 8080 is open on loopback only"},
		"rolling":                    {with(), with(rolls("1", "0", 1), image), ""},
		"rolling of some":            {with(), with(rolls("0", "1", 2), image), ""},
		"rolling of the only one":    {with(), with(rolls("0", "1", 1), image), "handover: max_unavailable lets every replica stop at once"},
		"rolling of all":             {with(), with(rolls("1", "100%", 3), image), "handover: max_unavailable lets every replica stop at once"},
		"rolling with state":         {with(), with(writes, stateful, rolls("1", "0", 2), image), ""},
		"rolling with its state":     {with(), with(writes, stateful, rolls("1", "0", 1), image), "handover: the volumes of its only replica may have one writer only"},
		"a job":                      {with(job, writes), with(job, writes, image), ""},
		"strategy alone":             {with(), with(recreates), ""},
	} {
		t.Run(name, func(t *testing.T) {
			var lines []string
			for _, i := range Interrupts(c.old, c.new) {
				lines = append(lines, string(i.Kind)+": "+i.Why)
			}
			if got := strings.Join(lines, "\n"); got != c.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, c.want)
			}
		})
	}
}
