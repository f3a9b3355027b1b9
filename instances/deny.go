package instances

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/berth-cloud/berth/instances/storage"
)

// denial is an object of a certificate that holds no more.
type denial struct {
	InstanceID string    `json:"instance_id"`
	ExpiresAt  time.Time `json:"expires_at"`
	DeniedAt   time.Time `json:"denied_at"`
}

// denyList are the serials that are denied, as far as this process has heard.
type denyList struct {
	mu  sync.RWMutex
	all map[string]time.Time // until when each counts; the zero time is not known yet
}

func (d *denyList) has(serial string) bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	_, ok := d.all[serial]
	return ok
}

// add reports whether it was not denied before.
func (d *denyList) add(serial string, until time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.all == nil {
		d.all = map[string]time.Time{}
	}
	old, ok := d.all[serial]
	if !ok || old.IsZero() {
		d.all[serial] = until
	}
	return !ok
}

func (d *denyList) remove(serial string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.all, serial)
}

func (d *denyList) until(serial string) time.Time {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.all[serial]
}

func deniedKey(serial string) string { return deniedPrefix + serial + ".json" }

var serialForm = regexp.MustCompile(`^[0-9a-f]{1,64}$`)

// Denied reports whether a certificate with this serial, as wire.SerialText writes it,
// holds no more. It answers from memory: RefreshDenied brings what others denied.
func (m *Manager) Denied(serial string) bool { return m.denied.has(serial) }

// RefreshDenied reads which certificates are denied. RebuildCache and Collect do it too;
// a process that only serves connections calls it now and then.
func (m *Manager) RefreshDenied(ctx context.Context) error {
	_, err := m.deniedSerials(ctx)
	return err
}

func (m *Manager) deniedSerials(ctx context.Context) ([]string, error) {
	all, err := m.objects.List(ctx, deniedPrefix)
	if err != nil {
		return nil, fmt.Errorf("read the denied certificates: %w", err)
	}
	var found []string
	more := false
	for _, object := range all {
		serial, ok := strings.CutSuffix(strings.TrimPrefix(object.Key, deniedPrefix), ".json")
		if ok && serialForm.MatchString(serial) {
			more = m.denied.add(serial, time.Time{}) || more
			found = append(found, serial)
		}
	}
	if more {
		m.opts.DenyChanged()
	}
	return found, nil
}

// denyAll denies every certificate that an instance may have, in memory at once and in
// the store. The record says by now that it is to go, so there will be no more.
func (m *Manager) denyAll(ctx context.Context, r *InstanceRecord) error {
	c, err := m.readClaim(ctx, r.RegistrationJWT)
	if err != nil {
		return err
	}
	now := m.now()
	all := slices.DeleteFunc(serials(r, c), func(one IssuedCertificate) bool { return !serialForm.MatchString(one.Serial) })
	more := false
	for _, one := range all {
		more = m.denied.add(one.Serial, one.ExpiresAt) || more
	}
	if more {
		m.opts.DenyChanged()
	}
	for _, one := range all {
		if now.After(one.ExpiresAt.Add(m.skew())) {
			continue
		}
		if _, err := m.term(); err != nil {
			return err
		}
		data, err := json.Marshal(denial{r.InstanceID, one.ExpiresAt, now})
		if err != nil {
			return err
		}
		_, err = m.objects.PutIfMatch(ctx, deniedKey(one.Serial), data, "")
		if err != nil && !errors.Is(err, storage.ErrPrecondition) {
			return fmt.Errorf("deny a certificate: %w", err)
		}
	}
	return nil
}

// pardon removes denials of certificates that have ended.
func (m *Manager) pardon(ctx context.Context) error {
	found, err := m.deniedSerials(ctx)
	if err != nil {
		return err
	}
	for _, serial := range found {
		until := m.denied.until(serial)
		if until.IsZero() {
			data, _, err := m.objects.Get(ctx, deniedKey(serial))
			if errors.Is(err, storage.ErrNotFound) {
				continue
			}
			if err != nil {
				return fmt.Errorf("read a denied certificate: %w", err)
			}
			var d denial
			if json.Unmarshal(data, &d) != nil || d.ExpiresAt.IsZero() {
				m.opts.Logger.WarnContext(ctx, "a denial is not readable, and stays", "serial", serial)
				continue
			}
			until = d.ExpiresAt
			m.denied.add(serial, until)
		}
		if !m.now().After(until.Add(m.skew())) {
			continue
		}
		if _, err := m.term(); err != nil {
			return err
		}
		if err := m.objects.Delete(ctx, deniedKey(serial)); err != nil {
			return fmt.Errorf("remove a denial: %w", err)
		}
		m.denied.remove(serial)
	}
	return nil
}
