package hosting

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/hosting/fqdn"
)

// domains brings the custom domains of items into their normal form, in place. One
// that cannot be, or that nobody would route, is an error of the kind.
func (h *Hosting) domains(items []backend.LeaseItem, kind error) error {
	for i := range items {
		domain, err := h.domain(items[i], kind)
		if err != nil {
			return err
		}
		items[i].CustomDomain = domain
	}
	return nil
}

func (h *Hosting) domain(item backend.LeaseItem, kind error) (string, error) {
	switch {
	case item.CustomDomain == "":
		return "", nil
	case h.cfg.Ingress == nil:
		return "", fmt.Errorf("%w: backend %s serves no custom domains; take that of service %s away", kind, h.cfg.Name, item.ServiceName)
	}
	domain, err := fqdn.Custom(item.CustomDomain, h.cfg.Ingress.Wildcard)
	if err != nil {
		return "", fmt.Errorf("%w: custom domain of service %s: %w", kind, item.ServiceName, err)
	}
	return domain, nil
}

// ReconcileCustomDomain implements backend.Backend. It notes what is wished and waits
// for nothing: a domain that resolves takes the place of the one before with the next
// routes that the data plane takes, and one that is taken away goes with them. No
// instance is touched. A lease that is not known, or not active, is left alone; a
// domain that cannot be is backend.ErrInvalidState, once the others are noted.
func (h *Hosting) ReconcileCustomDomain(ctx context.Context, lease string, items []backend.LeaseItem) error {
	items, err := backend.NormalizeItems(items)
	if err != nil {
		return err
	}
	var wrong error
	err = h.change(ctx, lease, func(r *row) (*row, error) {
		wrong = nil
		if r == nil || r.Status != backend.ProvisionStatusReady {
			return nil, nil
		}
		changed := false
		for _, item := range items {
			domain, err := h.domain(item, backend.ErrInvalidState)
			if err != nil {
				wrong = errors.Join(wrong, err)
				continue
			}
			changed = r.ask(item.ServiceName, domain, h.cfg.Now()) || changed
		}
		if !changed {
			return nil, nil
		}
		return r, nil
	})
	return errors.Join(err, wrong)
}

// ask notes a domain that a service is to have, and reports whether that is news.
func (r *row) ask(service, domain string, now time.Time) bool {
	item := r.itemOf(service)
	if item == nil {
		return false
	}
	had, wished := r.Names.Wishes[service]
	switch {
	case domain == item.CustomDomain, domain == "":
		news := wished || item.CustomDomain != domain
		item.CustomDomain = domain // what is taken away is gone at once
		delete(r.Names.Wishes, service)
		return news
	case wished && had.Domain == domain && (had.live() || now.Before(had.Again)):
		return false
	}
	r.Names.wish(service, wish{Domain: domain, State: wishWaits, Since: now})
	return true
}

// itemOf is the item of a service, in the row; nil when there is none.
func (r *row) itemOf(service string) *backend.LeaseItem {
	for i := range r.Items {
		if r.Items[i].ServiceName == service {
			return &r.Items[i]
		}
	}
	return nil
}

// hope makes wishes of the domains that a lease is provisioned with, but for those
// that it has.
func (r *row) hope(had []backend.LeaseItem, now time.Time) {
	r.Names.Wishes = nil
	before := map[string]string{}
	for _, item := range had {
		before[item.ServiceName] = item.CustomDomain
	}
	for i := range r.Items {
		item := &r.Items[i]
		if wanted := item.CustomDomain; wanted != before[item.ServiceName] {
			item.CustomDomain = ""
			r.ask(item.ServiceName, wanted, now)
		}
	}
}

// withDomains adds why custom domains are not there, by "custom_domain.{service}".
func (h *Hosting) withDomains(r *row, info *backend.LeaseInfo) *backend.LeaseInfo {
	if h.cfg.Ingress == nil {
		return info
	}
	notes := map[string]string{}
	for _, item := range r.Items {
		w, wished := r.Names.Wishes[item.ServiceName]
		switch name := routeName(r.Lease, item.ServiceName, every); {
		case wished && w.Why != "":
			notes["custom_domain."+item.ServiceName] = w.Domain + " is not served: " + w.Why
		case wished:
			notes["custom_domain."+item.ServiceName] = w.Domain + " is not served yet"
		case item.CustomDomain != "" && h.cfg.Ingress.Router.Host(item.CustomDomain, name) == Refused:
			notes["custom_domain."+item.ServiceName] = item.CustomDomain + " is not served: " + whyTaken
		}
	}
	if len(notes) == 0 {
		return info
	}
	out := *info
	out.Metadata = maps.Clone(info.Metadata)
	if out.Metadata == nil {
		out.Metadata = map[string]string{}
	}
	maps.Copy(out.Metadata, notes)
	return &out
}
