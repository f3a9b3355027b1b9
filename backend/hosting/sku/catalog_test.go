package sku

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/berth-cloud/berth/backend"
)

const (
	uuidA = "a1b2c3d4-e5f6-7890-abcd-1234567890ab"
	uuidB = "b1b2c3d4-e5f6-7890-abcd-1234567890ab"
)

// valid is a configuration in which nothing is wrong.
func valid() Config {
	return Config{
		Profiles: []Profile{{Name: "micro", CPUCores: 0.25, MemoryMB: 256}},
		Mapping:  []Mapping{{SKU: uuidA, Profile: "micro"}},
	}
}

func TestASKUIsFoundByItsMappingAndThenByName(t *testing.T) {
	cfg := valid()
	cfg.Profiles = append(cfg.Profiles, Profile{Name: uuidA, CPUCores: 1, MemoryMB: 64})
	cfg.Mapping = append(cfg.Mapping, Mapping{SKU: uuidB, Profile: uuidA})
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for sku, want := range map[string]string{
		uuidA: "micro", strings.ToUpper(uuidA): "micro", uuidB: uuidA, "micro": "micro",
	} {
		tier, err := c.Resolve(sku)
		if err != nil || tier.Name != want {
			t.Errorf("Resolve(%q) = %q, %v; want %q", sku, tier.Name, err, want)
		}
	}
	for _, sku := range []string{
		"", "Micro", " micro", "c1b2c3d4-e5f6-7890-abcd-1234567890ab", strings.ReplaceAll(uuidB, "-", ""), "{" + uuidB + "}",
		"urn:uuid:" + uuidB, strings.Repeat("x", 10_000), "a\nb",
	} {
		tier, err := c.Resolve(sku)
		if !errors.Is(err, backend.ErrUnknownSKU) || !errors.Is(err, backend.ErrValidation) || tier != (Tier{}) {
			t.Errorf("Resolve(%.20q) = %v, %v; want ErrUnknownSKU", sku, tier, err)
		} else if len(err.Error()) > 256 || strings.Contains(err.Error(), "\n") {
			t.Errorf("the error has the SKU as it came: %v", err)
		}
	}
}

func TestSizesAreWholeNumbers(t *testing.T) {
	cfg := Config{Profiles: Starter(), DiskEnforcement: DiskUnenforced}
	for i, p := range cfg.Profiles {
		cfg.Mapping = append(cfg.Mapping, Mapping{SKU: fmt.Sprintf("%08d-0000-4000-8000-000000000000", i), Profile: p.Name})
	}
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	want := []Tier{
		{"large", Size{2000, 2048, 4096}}, {"medium", Size{1000, 1024, 2048}}, {"micro", Size{250, 256, 512}}, {"small", Size{500, 512, 1024}},
	}
	if got := c.Tiers(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("tiers %v; want %v", got, want)
	}
	if !c.UnenforcedDisk() {
		t.Error("it does not say that the disks are not enforced")
	}
}

func TestADiskIsPromisedOnlyWhereTheOperatorTakesTheBlame(t *testing.T) {
	cfg := valid()
	cfg.Profiles[0].DiskMB = 512
	_, err := New(cfg)
	if !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), `sku_profiles."micro".disk_mb promises a disk`) ||
		!strings.Contains(err.Error(), "disk_enforcement: none") {
		t.Errorf("with a disk: %v", err)
	}
	cfg.DiskEnforcement = DiskUnenforced
	if c, err := New(cfg); err != nil || !c.UnenforcedDisk() {
		t.Errorf("with a disk that is not enforced: %v", err)
	}
	if c, err := New(valid()); err != nil || c.UnenforcedDisk() {
		t.Errorf("without a disk: %v", err)
	}
}

func TestWhatIsWrongInAConfiguration(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Config)
		says   string // "" where nothing is wrong
	}{
		"nothing":                {func(*Config) {}, ""},
		"no profile":             {func(c *Config) { *c = Config{} }, "has no profile"},
		"not mapped":             {func(c *Config) { c.Profiles = append(c.Profiles, Profile{Name: "big", CPUCores: 1, MemoryMB: 9}) }, `"big" has no SKU`},
		"profile twice":          {func(c *Config) { c.Profiles = append(c.Profiles, c.Profiles[0]) }, "is there twice"},
		"SKU twice":              {func(c *Config) { c.Mapping = append(c.Mapping, c.Mapping[0]) }, "is there twice"},
		"SKU twice in capitals":  {func(c *Config) { c.Mapping = append(c.Mapping, Mapping{strings.ToUpper(uuidA), "micro"}) }, "is there twice"},
		"two SKUs of a tier":     {func(c *Config) { c.Mapping = append(c.Mapping, Mapping{uuidB, "micro"}) }, ""},
		"SKU of nothing":         {func(c *Config) { c.Mapping = append(c.Mapping, Mapping{uuidB, "huge"}) }, `"huge", which is no profile`},
		"SKU that is no UUID":    {func(c *Config) { c.Mapping[0].SKU = "gold" }, "is not a UUID"},
		"no name":                {func(c *Config) { c.Profiles[0].Name, c.Mapping[0].Profile = "", "" }, "is not a name"},
		"name with a space":      {func(c *Config) { c.Profiles[0].Name, c.Mapping[0].Profile = "a b", "a b" }, "is not a name"},
		"long name":              {func(c *Config) { n := strings.Repeat("n", 64); c.Profiles[0].Name, c.Mapping[0].Profile = n, n }, "is not a name"},
		"negative CPU":           {func(c *Config) { c.Profiles[0].CPUCores = -1 }, "cpu_cores is negative"},
		"no CPU":                 {func(c *Config) { c.Profiles[0].CPUCores = 0 }, "cpu_cores is 0, and must be from 0.01"},
		"CPU that is no number":  {func(c *Config) { c.Profiles[0].CPUCores = math.NaN() }, "cpu_cores is not a number"},
		"too much CPU":           {func(c *Config) { c.Profiles[0].CPUCores = 1000.001 }, "to 1000"},
		"most CPU":               {func(c *Config) { c.Profiles[0].CPUCores = 1000 }, ""},
		"negative memory":        {func(c *Config) { c.Profiles[0].MemoryMB = -1 }, "memory_mb is -1"},
		"no memory":              {func(c *Config) { c.Profiles[0].MemoryMB = 0 }, "memory_mb is 0"},
		"too much memory":        {func(c *Config) { c.Profiles[0].MemoryMB = MaxMemoryMB + 1 }, "memory_mb"},
		"negative disk":          {func(c *Config) { c.Profiles[0].DiskMB = -1 }, "disk_mb is -1"},
		"too much disk":          {func(c *Config) { c.Profiles[0].DiskMB = math.MaxInt64 }, "disk_mb"},
		"unknown enforcement":    {func(c *Config) { c.DiskEnforcement = "xfs" }, `disk_enforcement is "xfs"`},
		"very many profiles":     {func(c *Config) { c.Profiles = make([]Profile, MaxProfiles+1) }, "at most"},
		"very many SKUs":         {func(c *Config) { c.Mapping = make([]Mapping, MaxMappings+1) }, "at most"},
		"a thousand that differ": {func(c *Config) { c.Mapping = append(c.Mapping, make([]Mapping, 1000)...) }, "more"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := valid()
			c.change(&cfg)
			catalog, err := New(cfg)
			switch {
			case c.says == "" && err != nil:
				t.Errorf("refused: %v", err)
			case c.says != "" && (!errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), c.says) || catalog != nil):
				t.Errorf("error %v; want one with %q", err, c.says)
			}
		})
	}
}

func TestEverythingWrongIsSaidAtOnce(t *testing.T) {
	_, err := New(Config{
		Profiles: []Profile{
			{Name: "micro", CPUCores: -1, MemoryMB: -2, DiskMB: -3}, {Name: "disk", CPUCores: 1, MemoryMB: 64, DiskMB: 1}, {Name: "micro", CPUCores: 1, MemoryMB: 64},
		},
		Mapping:         []Mapping{{SKU: "x", Profile: "none"}},
		DiskEnforcement: "maybe",
	})
	if err == nil {
		t.Fatal("accepted")
	}
	// One line says what follows; each of the others is one fault.
	if lines := strings.Split(err.Error(), "\n"); len(lines) != 11 {
		t.Errorf("%d lines; want 11:\n%v", len(lines), err)
	}
}
