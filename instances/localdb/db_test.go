package localdb_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"
	_ "modernc.org/sqlite" // to look at the files from outside

	"github.com/berth-cloud/berth/instances/localdb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var epoch = time.Date(2026, 4, 1, 12, 0, 0, 123456789, time.UTC)

func newPath(t testing.TB) string { return filepath.Join(t.TempDir(), "cache", "machines.db") }

func openAt(t testing.TB, path string) *localdb.DB {
	t.Helper()
	d, err := localdb.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func openNew(t testing.TB) *localdb.DB { return openAt(t, newPath(t)) }

func instance(id, tenant, group string) localdb.Instance {
	return localdb.Instance{ID: id, Tenant: tenant, Group: group, NonceHash: "sha256:" + id, CreatedAt: epoch, UpdatedAt: epoch}
}

func save(t testing.TB, d *localdb.DB, i localdb.Instance) {
	t.Helper()
	if err := d.SaveInstance(t.Context(), i); err != nil {
		t.Fatal(err)
	}
}

func get(t testing.TB, d *localdb.DB, id string) localdb.Instance {
	t.Helper()
	i, err := d.Instance(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func ids(t testing.TB, d *localdb.DB, q localdb.Query) []string {
	t.Helper()
	all, err := d.Instances(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, i := range all {
		out = append(out, i.ID)
	}
	return out
}

func TestWhatIsCachedIsThereAfterAReopen(t *testing.T) {
	path := newPath(t)
	d := openAt(t, path)
	save(t, d, instance("a", "acme", "web"))
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	get(t, openAt(t, path), "a")
	for _, end := range []string{"", "-wal", "-shm"} {
		if info, err := os.Stat(path + end); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", path+end, info, err)
		}
	}
}

func TestADeletedCacheIsBegunAnew(t *testing.T) {
	path := newPath(t)
	d := openAt(t, path)
	save(t, d, instance("a", "acme", "web"))
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Dir(path)); err != nil {
		t.Fatal(err)
	}
	if got := ids(t, openAt(t, path), localdb.Query{}); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

// What answers after the deletion answers from the file that was opened, or says
// that it is lost: never from an empty one.
func TestACacheDeletedWhileOpenNeverAnswersFromAnother(t *testing.T) {
	path := newPath(t)
	d := openAt(t, path)
	save(t, d, instance("a", "acme", "web"))
	if err := os.RemoveAll(filepath.Dir(path)); err != nil {
		t.Fatal(err)
	}
	check := func() {
		t.Helper()
		// More at once than there are connections, so that new ones are made.
		answers := make(chan error, 32)
		for range cap(answers) {
			go func() {
				i, err := d.Instance(t.Context(), "a")
				if err == nil && i.ID != "a" {
					err = errors.New("another instance")
				}
				answers <- err
			}()
		}
		for range cap(answers) {
			if err := <-answers; err != nil && !errors.Is(err, localdb.ErrLost) {
				t.Errorf("%v", err)
			}
		}
		if err := d.SaveInstance(t.Context(), instance("b", "acme", "web")); err != nil && !errors.Is(err, localdb.ErrLost) {
			t.Error(err)
		}
	}
	check()
	second := openAt(t, path)
	check()
	if got := ids(t, second, localdb.Query{}); len(got) != 0 {
		t.Errorf("the new file has %v of the old one", got)
	}
}

func TestAFileThatIsNoCacheIsBegunAnew(t *testing.T) {
	write := func(text []byte) func(t *testing.T, path string) {
		return func(t *testing.T, path string) {
			if err := os.WriteFile(path, text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	outside := func(statements ...string) func(t *testing.T, path string) {
		return func(t *testing.T, path string) {
			db, err := sql.Open("sqlite", path)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			for _, s := range statements {
				if _, err := db.ExecContext(t.Context(), s); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	for name, damage := range map[string]func(t *testing.T, path string){
		"text":    write([]byte("not a database, and longer than a header of one hundred bytes; not a database, and longer than that")),
		"zeros":   write(make([]byte, 8192)),
		"empty":   write(nil),
		"foreign": outside(`CREATE TABLE instances (name TEXT)`),
		"newer":   outside(`CREATE TABLE x (y)`, `CREATE TABLE schema_versions (id INTEGER PRIMARY KEY AUTOINCREMENT, version_id INTEGER NOT NULL, is_applied INTEGER NOT NULL, tstamp TIMESTAMP DEFAULT (datetime('now')))`, `INSERT INTO schema_versions (version_id, is_applied) VALUES (99990101000000, 1)`),
		"torn": func(t *testing.T, path string) {
			d := openAt(t, path)
			for _, id := range []string{"a", "b", "c"} {
				i := instance(id, "acme", "web")
				i.ProviderState = bytes.Repeat([]byte("x"), 100_000)
				save(t, d, i)
			}
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
			whole, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for i := len(whole) / 4; i < len(whole)/2; i++ {
				whole[i] ^= 0x55
			}
			write(whole)(t, path)
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := newPath(t)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			damage(t, path)
			d := openAt(t, path)
			if got := ids(t, d, localdb.Query{}); len(got) != 0 {
				t.Errorf("%v", got)
			}
			save(t, d, instance("a", "acme", "web"))
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%v, %v", info, err)
			}
		})
	}
}

func TestAFileThatIsInUseIsNotRemoved(t *testing.T) {
	path := newPath(t)
	save(t, openAt(t, path), instance("a", "acme", "web"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if d, err := localdb.Open(ctx, path); err == nil {
		t.Fatal(d.Close())
	}
	if err := os.Mkdir(path+".dir", 0o700); err != nil {
		t.Fatal(err)
	}
	if d, err := localdb.Open(t.Context(), path+".dir"); err == nil {
		t.Fatal(d.Close())
	}
	get(t, openAt(t, path), "a")
}

func TestEndedContextIsRefused(t *testing.T) {
	d := openNew(t)
	save(t, d, instance("a", "acme", "web"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, claim := d.ClaimRegistration(ctx, "a", "key", epoch)
	_, look := d.Instance(ctx, "a")
	for name, err := range map[string]error{
		"save": d.SaveInstance(ctx, instance("b", "acme", "web")), "claim": claim, "look": look,
		"replace": d.ReplaceInstances(ctx, nil), "delete": d.DeleteInstance(ctx, "a", epoch),
	} {
		if !errors.Is(err, context.Canceled) || errors.Is(err, localdb.ErrNotFound) || errors.Is(err, localdb.ErrLost) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if i := get(t, d, "a"); !i.RegisteredAt.IsZero() || !i.DeletedAt.IsZero() {
		t.Errorf("%+v", i)
	}
}
