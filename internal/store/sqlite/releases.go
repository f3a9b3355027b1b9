package sqlite

import (
	"context"
	"fmt"

	"github.com/berth-cloud/berth/internal/store"
)

const releaseColumns = `id, service, app_id, version, image, resolved, image_id, local, members, spec, spec_hash,
	restart_nonce, nonce, attempt_id, created_at`

func scanRelease(r rowScanner) (v store.Release, err error) {
	err = r.Scan(&v.ID, &v.Service, &v.AppID, &v.Version, &v.Image, &v.Resolved, &v.ImageID, &v.Local, asJSON(&v.Members), asJSON(&v.Spec),
		&v.SpecHash, &v.RestartNonce, &v.Nonce, &v.AttemptID, asTime(&v.CreatedAt))
	return v, err
}

// CreateRelease implements store.Store. The image identity is Resolved, or
// ImageID where that is empty. ID and Version of r are not read.
func (s *Store) CreateRelease(ctx context.Context, r store.Release) (out store.Release, err error) {
	if r.Service == "" {
		return out, fmt.Errorf("a release names its service")
	}
	if r.CreatedAt.IsZero() {
		r.CreatedAt = s.now()
	}
	err = s.writer.do(ctx, func(t *tx) error {
		out, err = t.createRelease(r)
		return err
	})
	if err != nil {
		return store.Release{}, fmt.Errorf("create a release of %s: %w", r.Service, err)
	}
	return out, nil
}

func (t *tx) createRelease(r store.Release) (store.Release, error) {
	newest, ok, err := one(t.ctx, t, scanRelease,
		`SELECT `+releaseColumns+` FROM releases WHERE service = ? ORDER BY version DESC LIMIT 1`, r.Service)
	if err != nil {
		return r, err
	}
	if ok && newest.Nonce == r.Nonce && imageIdentity(&newest) == imageIdentity(&r) {
		return newest, nil
	}
	r.Version = newest.Version + 1
	r.ID = fmt.Sprintf("%s-v%d", r.Service, r.Version)
	text, err := toJSON(r.Spec)
	if err != nil {
		return r, err
	}
	members, err := toJSON(r.Members)
	if err != nil {
		return r, err
	}
	err = t.do(`INSERT INTO releases (`+releaseColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		r.ID, r.Service, r.AppID, r.Version, r.Image, r.Resolved, r.ImageID, r.Local, members, text, r.SpecHash,
		r.RestartNonce, r.Nonce, r.AttemptID, stamp(r.CreatedAt))
	if err != nil {
		return r, err
	}
	r, _, err = one(t.ctx, t, scanRelease, `SELECT `+releaseColumns+` FROM releases WHERE id = ?`, r.ID)
	return r, err
}

func imageIdentity(r *store.Release) [2]string {
	if r.Resolved != "" {
		return [2]string{r.Resolved}
	}
	return [2]string{"", r.ImageID}
}

// GetRelease implements store.Store.
func (s *Store) GetRelease(ctx context.Context, id string) (store.Release, error) {
	r, ok, err := one(ctx, s, scanRelease, `SELECT `+releaseColumns+` FROM releases WHERE id = ?`, id)
	if err != nil {
		return r, fmt.Errorf("read release %s: %w", id, err)
	}
	if !ok {
		return r, fmt.Errorf("release %s: %w", id, store.ErrNotFound)
	}
	return r, nil
}

// ListReleases implements store.Store.
func (s *Store) ListReleases(ctx context.Context, service string, limit int) ([]store.Release, error) {
	all, err := list(ctx, s, scanRelease,
		`SELECT `+releaseColumns+` FROM releases WHERE service = ? ORDER BY version DESC LIMIT ?`, service, atMost(limit))
	if err != nil {
		return nil, fmt.Errorf("list the releases of %s: %w", service, err)
	}
	return all, nil
}
