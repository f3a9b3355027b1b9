package sku

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/berth-cloud/berth/backend"
)

// Tier is a profile that was checked.
type Tier struct {
	Name string
	Size Size // of one instance
}

// Catalog finds the tier of a SKU. It does not change, and many may use it at once.
type Catalog struct {
	byName map[string]Tier
	bySKU  map[string]string // the name of the tier, by the UUID in lower case
	disk   DiskEnforcement
}

// New checks a configuration and makes the catalogue of it. What is wrong is one
// ErrConfig that lists all of it, a line each.
func New(cfg Config) (*Catalog, error) {
	c := &Catalog{byName: map[string]Tier{}, bySKU: map[string]string{}, disk: cfg.DiskEnforcement}
	var wrong problems
	if cfg.DiskEnforcement != DiskRefused && cfg.DiskEnforcement != DiskUnenforced {
		wrong.add("disk_enforcement", "is %s: leave it out, or write none", quote(string(cfg.DiskEnforcement)))
	}
	switch {
	case len(cfg.Profiles) == 0:
		wrong.add("sku_profiles", "has no profile: write at least one with cpu_cores and memory_mb")
	case len(cfg.Profiles) > MaxProfiles || len(cfg.Mapping) > MaxMappings:
		wrong.add("sku_profiles", "and sku_mapping have at most %d and %d entries", MaxProfiles, MaxMappings)
		return nil, wrong.err()
	}
	for _, p := range cfg.Profiles {
		c.addProfile(p, &wrong)
	}
	c.addMapping(cfg, &wrong)
	if err := wrong.err(); err != nil {
		return nil, err
	}
	return c, nil
}

// addProfile enters a tier even where something is wrong with it, so that what names
// it is not wrong for that.
func (c *Catalog) addProfile(p Profile, wrong *problems) {
	path := "sku_profiles." + quote(p.Name)
	if !isName(p.Name) {
		wrong.add(path, "is not a name: write up to %d letters, digits and any of . _ -, with a letter or digit first", MaxNameBytes)
	}
	if _, twice := c.byName[p.Name]; twice {
		wrong.add(path, "is there twice: keep one")
	}
	milli, err := MilliCPU(p.CPUCores)
	switch {
	case err != nil:
		wrong.add(path+".cpu_cores", "%v", err)
	case milli < MinMilliCPU || milli > MaxMilliCPU:
		wrong.add(path+".cpu_cores", "is %s, and must be from %s to %s", FormatCores(milli), FormatCores(MinMilliCPU), FormatCores(MaxMilliCPU))
	}
	if p.MemoryMB < MinMemoryMB || p.MemoryMB > MaxMemoryMB {
		wrong.add(path+".memory_mb", "is %d, and must be from %d to %d", p.MemoryMB, MinMemoryMB, MaxMemoryMB)
	}
	if p.DiskMB < 0 || p.DiskMB > MaxDiskMB {
		wrong.add(path+".disk_mb", "is %d, and must be from 0 to %d", p.DiskMB, MaxDiskMB)
	} else if p.DiskMB > 0 && c.disk != DiskUnenforced {
		wrong.add(path+".disk_mb", "promises a disk, and nothing here keeps a tenant to its size: write 0, or disk_enforcement: none to sell it all the same")
	}
	c.byName[p.Name] = Tier{Name: p.Name, Size: Size{MilliCPU: milli, MemoryMB: p.MemoryMB, DiskMB: p.DiskMB}}
}

func (c *Catalog) addMapping(cfg Config, wrong *problems) {
	mapped := map[string]bool{}
	for _, m := range cfg.Mapping {
		path := "sku_mapping." + quote(m.SKU)
		mapped[m.Profile] = true
		if _, there := c.byName[m.Profile]; !there {
			wrong.add(path, "stands for %s, which is no profile", quote(m.Profile))
		}
		id, ok := canonical(m.SKU)
		if !ok {
			wrong.add(path, "is not a UUID")
			continue
		}
		if _, twice := c.bySKU[id]; twice {
			wrong.add(path, "is there twice: keep one")
		}
		c.bySKU[id] = m.Profile
	}
	seen := map[string]bool{}
	for _, p := range cfg.Profiles {
		if !mapped[p.Name] && !seen[p.Name] {
			wrong.add("sku_profiles."+quote(p.Name), "has no SKU: give it one in sku_mapping, or remove it")
		}
		seen[p.Name] = true
	}
}

// Resolve is the tier of a SKU: by the mapping, where a UUID may be written in
// capitals, else by the tier's own name, letter by letter. A SKU that is neither is
// backend.ErrUnknownSKU.
func (c *Catalog) Resolve(sku string) (Tier, error) {
	if id, ok := canonical(sku); ok {
		if name, mapped := c.bySKU[id]; mapped {
			return c.byName[name], nil
		}
	}
	if tier, ok := c.byName[sku]; ok {
		return tier, nil
	}
	return Tier{}, fmt.Errorf("%w: %s is neither in the mapping nor the name of a profile", backend.ErrUnknownSKU, quote(sku))
}

// Tiers are all tiers, by name.
func (c *Catalog) Tiers() []Tier {
	out := make([]Tier, 0, len(c.byName))
	for _, t := range c.byName {
		out = append(out, t)
	}
	slices.SortFunc(out, func(a, b Tier) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// UnenforcedDisk says that a tier promises a disk whose size nothing enforces, for
// whoever shows the health of a backend.
func (c *Catalog) UnenforcedDisk() bool {
	return slices.ContainsFunc(c.Tiers(), func(t Tier) bool { return t.Size.DiskMB > 0 })
}

// canonical is a UUID in lower case. uuid.Parse knows other lengths too, which would
// give one SKU several names.
func canonical(text string) (string, bool) {
	id, err := uuid.Parse(text)
	if err != nil || len(text) != len(uuid.UUID{}.String()) {
		return "", false
	}
	return id.String(), true
}

func isName(text string) bool {
	if text == "" || len(text) > MaxNameBytes || !isAlphanumeric(text[0]) {
		return false
	}
	for i := range len(text) {
		if !isAlphanumeric(text[i]) && !strings.ContainsRune("._-", rune(text[i])) {
			return false
		}
	}
	return true
}

func isAlphanumeric(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9'
}

// quote bounds what others wrote, and shows what no eye can see.
func quote(text string) string {
	const most = 64
	if len(text) > most {
		text = text[:most] + "..."
	}
	return fmt.Sprintf("%q", text)
}
