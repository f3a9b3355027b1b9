package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/berth-cloud/berth/internal/store"
)

// Role is what a data directory is for.
type Role string

// The roles, by the command that has them.
const (
	RoleServer  Role = "server"
	RoleBackend Role = "backend"
)

// ErrRole: the data directory is that of another command.
var ErrRole = errors.New("the data directory has another role")

const (
	roleFile    = "berthd.role"
	maxRoleFile = 64
)

// backendRecords begin the keys that only a backend has in its store.
var backendRecords = []string{"leases/", "manifests/", "volumes/", "retained/", "callbacks/"}

// CheckRole is an ErrRole for a directory that is marked with another role. It is asked
// before the store is opened, of which it changes nothing.
func CheckRole(dir string, role Role) error {
	has, err := markedRole(dir)
	if err != nil || has == "" || has == role {
		return err
	}
	return wrongRole(dir, has, role)
}

// SettleRole marks a directory, which the caller holds with its store, with a role. One
// from before there were marks gets that of what it holds, and is an ErrRole where that is
// another.
func SettleRole(ctx context.Context, dir string, role Role, st store.Store, logger *slog.Logger) error {
	has, err := markedRole(dir)
	if err != nil {
		return err
	}
	if has == "" {
		if has, err = heldRole(ctx, dir, role, st, logger); err != nil {
			return err
		}
		if err := markRole(dir, has); err != nil {
			return err
		}
	}
	if has != role {
		return wrongRole(dir, has, role)
	}
	return nil
}

func wrongRole(dir string, has, wanted Role) error {
	return fmt.Errorf("%w: %s belongs to berthd %s, and this is berthd %s; give this one another folder with --data-dir", ErrRole, dir, has, wanted)
}

// markedRole is "" for a directory without a mark, or none.
func markedRole(dir string) (Role, error) {
	file := filepath.Join(dir, roleFile)
	info, err := os.Lstat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	var text []byte
	if err == nil && info.Mode().IsRegular() && info.Size() <= maxRoleFile {
		text, err = os.ReadFile(file)
	}
	if err != nil {
		return "", fmt.Errorf("read the role of the data directory: %w", err)
	}
	role := Role(strings.TrimSpace(string(text)))
	if role != RoleServer && role != RoleBackend {
		return "", fmt.Errorf("%s says neither server nor backend; write the one into it whose data is in the folder", file)
	}
	return role, nil
}

// markRole writes the mark as a whole or not at all.
func markRole(dir string, role Role) error {
	part := filepath.Join(dir, roleFile+".part")
	f, err := os.OpenFile(part, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("mark the data directory: %w", err)
	}
	_, err = f.WriteString(string(role) + "\n")
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(part, filepath.Join(dir, roleFile))
	}
	if err != nil {
		return fmt.Errorf("mark the data directory: %w", err)
	}
	return nil
}

// heldRole is the role of whom the things in a directory are, and the wanted one where
// there are none, or those of both.
func heldRole(ctx context.Context, dir string, wanted Role, st store.Store, logger *slog.Logger) (Role, error) {
	keys, err := st.ListRecords(ctx, "")
	if err != nil {
		return "", err
	}
	apps, err := st.ListApps(ctx)
	if err != nil {
		return "", err
	}
	backend := slices.ContainsFunc(keys, func(key string) bool {
		return slices.ContainsFunc(backendRecords, func(p string) bool { return strings.HasPrefix(key, p) })
	})
	server := len(apps) > 0
	for _, name := range []string{"ingress", "secrets.key"} {
		switch _, err := os.Lstat(filepath.Join(dir, name)); {
		case err == nil:
			server = true
		case !errors.Is(err, fs.ErrNotExist):
			return "", fmt.Errorf("look into the data directory: %w", err)
		}
	}
	switch {
	case backend && server:
		logger.WarnContext(ctx, "the data directory has things of a server and of a backend; from now on it is that of this one alone", "dir", dir, "role", wanted)
		return wanted, nil
	case backend:
		return RoleBackend, nil
	case server:
		return RoleServer, nil
	}
	return wanted, nil
}
