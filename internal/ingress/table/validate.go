package table

import (
	"cmp"
	"fmt"
	"net/netip"
	"strings"
	"time"
)

// Bounds of a table. They are far above what one machine serves and keep a
// wrong push from exhausting the data plane.
const (
	MaxRoutes          = 20_000
	MaxTargetsPerRoute = 1_000
	MaxTimeout         = 24 * time.Hour
)

// Normalize brings a table into the one form that is compared and stored: a
// path prefix has no trailing slash (but "/" itself) and an empty one is "/",
// a weight of 0 is 1, and lists are never nil.
func (t *Table) Normalize() {
	if t.Routes == nil {
		t.Routes = []Route{}
	}
	for i := range t.Routes {
		r := &t.Routes[i]
		r.Path = CleanPrefix(r.Path)
		if r.Hosts == nil {
			r.Hosts = []string{}
		}
		if r.Targets == nil {
			r.Targets = []Target{}
		}
		for j := range r.Targets {
			if r.Targets[j].Weight == 0 {
				r.Targets[j].Weight = 1
			}
		}
	}
}

// CleanPrefix is a path prefix without its trailing slashes; "/" for none.
func CleanPrefix(p string) string {
	p = strings.TrimRight(p, "/")
	if p == "" {
		return "/"
	}
	return p
}

// Validate checks a normalized table by itself. Errors wrap [ErrProtocol] or
// [ErrInvalid] and name the route.
func (t *Table) Validate() error {
	if t.Protocol != Protocol {
		return fmt.Errorf("%w: the table speaks protocol %d, this data plane %d", ErrProtocol, t.Protocol, Protocol)
	}
	if t.Owner != OwnerServer && t.Owner != OwnerBackend {
		return fmt.Errorf("%w: unknown owner %q", ErrInvalid, t.Owner)
	}
	if t.Version < 1 {
		return fmt.Errorf("%w: version %d; versions start at 1", ErrInvalid, t.Version)
	}
	if len(t.Routes) > MaxRoutes {
		return fmt.Errorf("%w: %d routes; at most %d", ErrInvalid, len(t.Routes), MaxRoutes)
	}
	services := make(map[string]bool, len(t.Routes))
	claims := make(map[Claim]string, len(t.Routes))
	ids := make(map[string]string, len(t.Routes))
	for i := range t.Routes {
		r := &t.Routes[i]
		if err := r.validate(); err != nil {
			return fmt.Errorf("%w: route %d (%q): %w", ErrInvalid, i, r.Service, err)
		}
		if services[r.Service] {
			return fmt.Errorf("%w: service %q has two routes", ErrInvalid, r.Service)
		}
		services[r.Service] = true
		for _, c := range r.Claims() {
			if other, taken := claims[c]; taken {
				return fmt.Errorf("%w: %s is claimed by %q and %q", ErrInvalid, c, other, r.Service)
			}
			claims[c] = r.Service
		}
		for _, tg := range r.Targets {
			if other, taken := ids[tg.ID]; taken {
				return fmt.Errorf("%w: target %q is listed by %q and %q", ErrInvalid, tg.ID, other, r.Service)
			}
			ids[tg.ID] = r.Service
		}
	}
	return nil
}

func (r *Route) validate() error {
	if r.Service == "" {
		return fmt.Errorf("a route needs a service name")
	}
	if len(r.Hosts) == 0 {
		return fmt.Errorf("a route needs a host")
	}
	for _, h := range r.Hosts {
		if err := validHost(h); err != nil {
			return err
		}
	}
	if !strings.HasPrefix(r.Path, "/") || strings.ContainsAny(r.Path, "?#\x00") {
		return fmt.Errorf("path %q; a prefix starts with / and has no query", r.Path)
	}
	if r.HoldTimeout < 0 || r.HoldTimeout > MaxTimeout || r.DrainTimeout < 0 || r.DrainTimeout > MaxTimeout {
		return fmt.Errorf("hold timeout %s, drain timeout %s; each is between 0 and %s", r.HoldTimeout, r.DrainTimeout, MaxTimeout)
	}
	if r.MaxBodyBytes < 0 {
		return fmt.Errorf("max_body_bytes %d is negative", r.MaxBodyBytes)
	}
	if len(r.Targets) > MaxTargetsPerRoute {
		return fmt.Errorf("%d targets; at most %d", len(r.Targets), MaxTargetsPerRoute)
	}
	for _, tg := range r.Targets {
		if tg.ID == "" {
			return fmt.Errorf("a target needs an id")
		}
		if ap, err := netip.ParseAddrPort(tg.Address); err != nil || ap.Port() == 0 {
			return fmt.Errorf("target %q: address %q is not IP:port", tg.ID, tg.Address)
		}
		if tg.Node != "" && !ValidNode(tg.Node) {
			return fmt.Errorf("target %q: node %.80q is no id of a node", tg.ID, tg.Node)
		}
		if tg.Weight < 0 || tg.Weight > 1000 {
			return fmt.Errorf("target %q: weight %d; it is between 0 and 1000", tg.ID, tg.Weight)
		}
	}
	return nil
}

// maxNode bounds the id of a node, in bytes: it is the common name of a certificate.
const maxNode = 64

// ValidNode says that a text may be the id of a node: lower-case letters, digits and
// dashes between them.
func ValidNode(id string) bool {
	if id == "" || len(id) > maxNode || id[0] == '-' || id[len(id)-1] == '-' {
		return false
	}
	for i := range len(id) {
		if c := id[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return true
}

func validHost(h string) error {
	if h == "" || len(h) > 253 {
		return fmt.Errorf("host %q is empty or longer than 253 bytes", h)
	}
	for i := 0; i < len(h); i++ {
		switch c := h[i]; {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '-', c == '.', c == '_':
		case 'A' <= c && c <= 'Z':
			return fmt.Errorf("host %q is not lower case", h)
		case c == ':':
			return fmt.Errorf("host %q has a port; routes go by host alone", h)
		default:
			return fmt.Errorf("host %q has the character %q", h, c)
		}
	}
	if strings.HasSuffix(h, ".") || strings.HasPrefix(h, ".") {
		return fmt.Errorf("host %q starts or ends with a dot", h)
	}
	return nil
}

// Claim is one host and path prefix; no two services may have the same.
type Claim struct {
	Host string `json:"host"`
	Path string `json:"path"`
}

func (c Claim) String() string { return c.Host + c.Path }

// Claims are the route's hosts, each with the route's path.
func (r *Route) Claims() []Claim {
	cs := make([]Claim, 0, len(r.Hosts))
	for _, h := range r.Hosts {
		cs = append(cs, Claim{Host: h, Path: r.Path})
	}
	return cs
}

// CheckMerge refuses t when a table of another owner has some of its claims
// ([ClaimedError], with all of them) or one of its target ids or services ([ErrInvalid]).
func (t *Table) CheckMerge(others ...Table) error {
	claims := make(map[Claim]string)
	ids := make(map[string]Owner)
	services := make(map[string]Owner)
	for _, o := range others {
		if o.Owner == t.Owner {
			continue
		}
		for i := range o.Routes {
			r := &o.Routes[i]
			services[r.Service] = o.Owner
			for _, c := range r.Claims() {
				claims[c] = fmt.Sprintf("%q of owner %q", r.Service, o.Owner)
			}
			for _, tg := range r.Targets {
				ids[tg.ID] = o.Owner
			}
		}
	}
	var refused ClaimedError
	for i := range t.Routes {
		r := &t.Routes[i]
		for _, c := range r.Claims() {
			if other, taken := claims[c]; taken {
				refused.Claims = append(refused.Claims, c)
				refused.Message = cmp.Or(refused.Message, fmt.Sprintf("%s, wanted by %q, belongs to %s", c, r.Service, other))
			}
		}
		if o, taken := services[r.Service]; taken {
			return fmt.Errorf("%w: service %q is in the table of owner %q too", ErrInvalid, r.Service, o)
		}
		for _, tg := range r.Targets {
			if o, taken := ids[tg.ID]; taken {
				return fmt.Errorf("%w: target %q is in the table of owner %q too", ErrInvalid, tg.ID, o)
			}
		}
	}
	if len(refused.Claims) > 0 {
		return &refused
	}
	return nil
}
