package sqlite

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/berth-cloud/berth/internal/store"
)

// reasonSuperseded is the reason of an attempt's service that a later attempt
// took over.
const reasonSuperseded = "Superseded"

// ApplyChange implements store.Store.
//
// Deleting a service that the app does not have is store.ErrServiceNotFound,
// unless its teardown is still pending; deleting an app that is not there is
// store.ErrNotFound. A put cancels a pending teardown of the same service, and
// a name whose teardown is pending for another app is still that app's.
func (s *Store) ApplyChange(ctx context.Context, c store.Change) (a store.Attempt, err error) {
	if err := checkChange(&c); err != nil {
		return a, err
	}
	if c.Now.IsZero() {
		c.Now = s.now()
	}
	err = s.writer.do(ctx, func(t *tx) error {
		a, err = t.change(&c)
		return err
	})
	if err != nil {
		return store.Attempt{}, fmt.Errorf("change app %s: %w", c.AppID, err)
	}
	return a, nil
}

// checkChange refuses what no caller may ask for.
func checkChange(c *store.Change) error {
	if c.AppID == "" {
		return fmt.Errorf("a change names its app")
	}
	named := map[string]bool{}
	for i := range c.Put {
		d := &c.Put[i]
		if d.Name == "" || cmp.Or(d.AppID, c.AppID) != c.AppID {
			return fmt.Errorf("change of app %s puts service %q of app %q", c.AppID, d.Name, d.AppID)
		}
		if named[d.Name] {
			return fmt.Errorf("change of app %s names service %s twice", c.AppID, d.Name)
		}
		named[d.Name] = true
	}
	for _, name := range c.Delete {
		if name == "" || named[name] {
			return fmt.Errorf("change of app %s names service %q twice or not at all", c.AppID, name)
		}
		named[name] = true
	}
	for name := range c.Actions {
		if !named[name] {
			return fmt.Errorf("change of app %s has an action for %s, which it does not change", c.AppID, name)
		}
	}
	return nil
}

// change does the work of ApplyChange. Its order is: refuse, record the
// attempt, take services out, put services in.
func (t *tx) change(c *store.Change) (store.Attempt, error) {
	var none store.Attempt
	if err := t.refuse(c); err != nil {
		return none, err
	}
	if err := t.putApp(c); err != nil {
		return none, err
	}
	id, _, err := one(t.ctx, t, scanAs[int64],
		`INSERT INTO attempts (app_id, kind, state, created_at) VALUES (?, ?, ?, ?) RETURNING id`,
		c.AppID, string(c.Kind), string(store.AttemptRunning), stamp(c.Now))
	if err != nil {
		return none, err
	}
	for _, name := range c.Delete {
		if err := t.deleteService(c, id, name); err != nil {
			return none, fmt.Errorf("delete %s: %w", name, err)
		}
	}
	if err := t.putServices(c, id); err != nil {
		return none, err
	}
	if err := t.settle(id, c.Now); err != nil {
		return none, err
	}
	if c.DeleteApp && len(c.Put) == 0 {
		if err := t.dropApp(c.AppID); err != nil { // it had no services
			return none, err
		}
	}
	t.note.attempt(id)
	return attempt(t.ctx, t, id)
}

func (t *tx) deleteService(c *store.Change, id int64, name string) error {
	err := t.do(`INSERT INTO pending_teardowns (`+teardownColumns+`) VALUES (?, ?, '', ?, ?, 0, '')
		ON CONFLICT (name) DO UPDATE SET app_id = excluded.app_id, attempt_id = excluded.attempt_id`,
		name, c.AppID, id, stamp(c.Now))
	if err != nil {
		return err
	}
	if err := t.do(`DELETE FROM services WHERE name = ?`, name); err != nil {
		return err
	}
	t.note.service(name)
	return t.joinAttempt(c, id, name, cmp.Or(c.Actions[name], "delete"))
}

func (t *tx) putServices(c *store.Change, id int64) error {
	for i := range c.Put {
		if err := t.releaseDomains(c.Put[i].Name); err != nil {
			return err
		}
	}
	for i := range c.Put {
		d := c.Put[i]
		d.AppID, d.AttemptID, d.UpdatedAt = c.AppID, id, c.Now
		if err := t.putOne(c, &d); err != nil {
			return fmt.Errorf("put %s: %w", d.Name, err)
		}
	}
	return nil
}

func (t *tx) putOne(c *store.Change, d *store.DesiredService) error {
	if err := t.putService(d); err != nil {
		return err
	}
	if err := t.claimDomains(d); err != nil {
		return err
	}
	t.note.service(d.Name)
	cancelled, err := t.count(`DELETE FROM pending_teardowns WHERE name = ?`, d.Name)
	if err != nil {
		return err
	}
	action, part := c.Actions[d.Name]
	if part {
		return t.joinAttempt(c, d.AttemptID, d.Name, action)
	}
	if cancelled > 0 {
		return t.supersede(c, d.AttemptID, d.Name)
	}
	return nil
}

// joinAttempt makes the service part of the attempt and ends its part in
// earlier ones.
func (t *tx) joinAttempt(c *store.Change, id int64, service, action string) error {
	if err := t.supersede(c, id, service); err != nil {
		return err
	}
	return t.do(`INSERT INTO attempt_services (`+attemptServiceColumns+`) VALUES (?, ?, ?, ?, '', '', '', ?, NULL)`,
		id, service, action, string(store.AttemptQueued), stamp(c.Now))
}

func (t *tx) supersede(c *store.Change, id int64, service string) error {
	earlier, err := list(t.ctx, t, scanAs[int64],
		`UPDATE attempt_services SET state = 'superseded', reason = ?, message = ?, updated_at = ?
		WHERE service = ? AND attempt_id <> ? AND state IN ('queued', 'running') RETURNING attempt_id`,
		reasonSuperseded, fmt.Sprintf("attempt %d took over", id), stamp(c.Now), service, id)
	if err != nil {
		return err
	}
	slices.Sort(earlier)
	for _, e := range earlier {
		if err := t.settle(e, c.Now); err != nil {
			return err
		}
		t.note.attempt(e)
	}
	return nil
}
