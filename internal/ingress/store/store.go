package store

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/berth-cloud/berth/internal/ingress/table"
)

// ErrDamaged says that a table file is there but cannot be used.
var ErrDamaged = errors.New("damaged table file")

// format is the layout of a file; another one is not read.
const format = 1

type envelope struct {
	Format int             `json:"format"`
	SHA256 string          `json:"sha256"` // of Table's bytes
	Table  json.RawMessage `json:"table"`
}

// seal puts a body into an envelope.
func seal(body []byte) ([]byte, error) {
	sum := sha256.Sum256(body)
	return json.Marshal(envelope{Format: format, SHA256: hex.EncodeToString(sum[:]), Table: body})
}

// unseal is the body of an envelope that is whole.
func unseal(data []byte) ([]byte, error) {
	var e envelope
	if err := json.Unmarshal(data, &e); err != nil {
		return nil, err
	}
	if e.Format != format {
		return nil, fmt.Errorf("format %d, this build reads %d", e.Format, format)
	}
	if sum := sha256.Sum256(e.Table); hex.EncodeToString(sum[:]) != e.SHA256 {
		return nil, errors.New("checksum differs")
	}
	return e.Table, nil
}

// Store keeps one table per owner, and one cluster, in a directory. It has no lock: one goroutine
// at a time may use it.
type Store struct{ fs FS }

// New is a store over an open directory.
func New(fs FS) *Store { return &Store{fs: fs} }

func fileName(o table.Owner) string { return "table-" + string(o) + ".json" }

// Save makes t the owner's table. When it returns nil, t survives a power
// failure; when it fails, either the old or the new table does, whole.
func (s *Store) Save(t table.Table) error {
	body, err := json.Marshal(t)
	if err != nil {
		return fmt.Errorf("encode the table: %w", err)
	}
	data, err := seal(body)
	if err != nil {
		return fmt.Errorf("encode the table file: %w", err)
	}
	name := fileName(t.Owner)
	if err := s.replace(name, data); err != nil {
		return fmt.Errorf("save %s: %w", name, err)
	}
	return nil
}

func (s *Store) replace(name string, data []byte) error {
	tmp := name + ".tmp"
	f, err := s.fs.Create(tmp)
	if err != nil {
		return err
	}
	if _, err := f.Write(data); err != nil {
		_ = f.Close()
		return err
	}
	if err := f.Sync(); err != nil {
		_ = f.Close()
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := s.fs.Rename(tmp, name); err != nil {
		return err
	}
	return s.fs.SyncDir()
}

// Load reads the tables of the given owners. A missing file is no error. A
// damaged one is moved aside to "<name>.damaged" and reported in the error,
// which wraps [ErrDamaged]; the tables that could be read are returned all the
// same.
func (s *Store) Load(owners ...table.Owner) ([]table.Table, error) {
	var tables []table.Table
	var errs []error
	for _, o := range owners {
		name := fileName(o)
		data, err := s.fs.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("read %s: %w", name, err))
			continue
		}
		t, err := decode(data, o)
		if err != nil {
			err = fmt.Errorf("%w: %s: %w", ErrDamaged, name, err)
			errs = append(errs, errors.Join(err, s.fs.Rename(name, name+".damaged")))
			continue
		}
		tables = append(tables, t)
	}
	return tables, errors.Join(errs...)
}

func decode(data []byte, o table.Owner) (table.Table, error) {
	var t table.Table
	body, err := unseal(data)
	if err != nil {
		return t, err
	}
	if err := json.Unmarshal(body, &t); err != nil {
		return t, err
	}
	t.Normalize()
	if err := t.Validate(); err != nil {
		return t, err
	}
	if t.Owner != o {
		return t, fmt.Errorf("it is the table of owner %q", t.Owner)
	}
	return t, nil
}
