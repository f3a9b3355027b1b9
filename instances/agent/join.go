package agent

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"

	"github.com/berth-cloud/berth/instances/wire"
)

// Joined is what came of a join.
type Joined struct {
	InstanceID string
	Dir        string
	// Registered says that the certificate is there. When it is not, the agent goes on
	// asking; Why says what it met.
	Registered bool
	Why        error
}

// ErrOtherIdentity: the folder is that of another machine, or of one that joined by
// another token.
var ErrOtherIdentity = errors.New("the folder has another identity")

// Join makes this host a machine of the cluster that a join token names: it asks the
// registration address for the cluster's authority, knows it by its fingerprint before
// it says anything, writes the agent's folder, and registers. What begins after it is
// Run, with the same folder.
//
// Killed at any moment, it goes on when it is called again with the same token. Errors:
// wire.ErrJoinToken, wire.ErrAuthority, ErrOtherIdentity, ErrLocked, and a refusal by
// the control plane, after which the folder is as it was before.
func Join(ctx context.Context, cfg Config, text string) (*Joined, error) {
	token, err := wire.ParseJoinToken(text)
	if err != nil {
		return nil, err
	}
	a, err := New(cfg)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(a.cfg.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the agent's folder: %w", err)
	}
	f, err := openFolder(a.cfg.Dir)
	if err != nil {
		return nil, err
	}
	defer f.close()
	done, err := mayJoin(f, token)
	if err != nil {
		return nil, err
	}
	joined := &Joined{InstanceID: token.InstanceID, Dir: a.cfg.Dir, Registered: done}
	if done {
		return joined, nil
	}
	authorities, err := a.pin(ctx, token)
	if err != nil {
		return nil, err
	}
	if err := writeJoined(f, token, authorities); err != nil {
		return nil, err
	}
	err = a.registerJoined(ctx, f, token)
	if final(err) {
		return nil, errors.Join(err, unwrite(f))
	}
	joined.Registered, joined.Why = err == nil, err
	return joined, nil
}

// mayJoin refuses a folder in which somebody else is. done says that this machine has
// joined already.
func mayJoin(f *folder, token *wire.JoinToken) (done bool, err error) {
	text, err := f.read(fileBootstrap)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		for _, name := range []string{fileKey, fileCert} {
			if _, err := f.root.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
				return false, fmt.Errorf("%w: there is %s in %s, and no %s", ErrOtherIdentity, name, f.root.Name(), fileBootstrap)
			}
		}
		return false, nil
	case err != nil:
		return false, err
	}
	boot, err := parseBootstrap(text)
	if err != nil {
		return false, err
	}
	if boot.InstanceID != token.InstanceID || boot.ClusterID != token.ClusterID {
		return false, fmt.Errorf("%w: %s is of instance %s of cluster %s; give another --dir, or remove that machine and its folder first",
			ErrOtherIdentity, f.root.Name(), wire.Clip(boot.InstanceID), wire.Clip(boot.ClusterID))
	}
	_, err = f.root.Lstat(fileCert)
	return err == nil, nil
}

// pin greets the registration address, and comes back with the authorities of the cluster.
// Nothing is sent but the greeting.
func (a *Agent) pin(ctx context.Context, token *wire.JoinToken) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, a.cfg.Timing.Connect)
	defer cancel()
	host, _, err := net.SplitHostPort(token.RegistrationAddr)
	if err != nil {
		return nil, err
	}
	raw, err := a.cfg.Dial(ctx, "tcp", token.RegistrationAddr)
	if err != nil {
		return nil, fmt.Errorf("reach the control plane: %w", err)
	}
	defer raw.Close()
	var authorities []byte
	conn := tls.Client(raw, wire.Pinned(wire.Peer{Role: wire.RoleServer, Now: a.cfg.Now}, host, token.Authorities, func(found []byte) { authorities = found }))
	if err := conn.HandshakeContext(ctx); err != nil {
		if errors.Is(err, wire.ErrAuthority) {
			return nil, fmt.Errorf("%s: %w: its certificates are not those that the token was made with; nothing was sent to it", token.RegistrationAddr, err)
		}
		return nil, fmt.Errorf("greet %s: %w", token.RegistrationAddr, err)
	}
	return authorities, nil
}

// writeJoined puts down all that an agent begins with. The bootstrap is last: until it is
// there, there is no machine.
func writeJoined(f *folder, token *wire.JoinToken, authorities []byte) error {
	boot, err := json.MarshalIndent(Bootstrap{
		ClusterID: token.ClusterID, Shard: token.Shard, InstanceID: token.InstanceID,
		RegistrationAddr: token.RegistrationAddr, AgentAddr: token.AgentAddr, IngressAddr: token.IngressAddr,
	}, "", "  ")
	if err != nil {
		return err
	}
	for _, file := range []struct {
		name string
		data []byte
	}{{fileCA, authorities}, {fileToken, []byte(token.Token)}, {fileBootstrap, append(boot, '\n')}} {
		if err := f.write(file.name, file.data); err != nil {
			return err
		}
	}
	return nil
}

// unwrite takes away what writeJoined wrote, and the key, which nobody certified.
func unwrite(f *folder) error {
	var errs []error
	for _, name := range []string{fileKey, fileBootstrap, fileToken, fileCA} {
		errs = append(errs, f.remove(name))
	}
	return errors.Join(errs...)
}

// registerJoined trades the token for a certificate, once.
func (a *Agent) registerJoined(ctx context.Context, f *folder, token *wire.JoinToken) error {
	text, err := f.read(fileBootstrap)
	if err != nil {
		return err
	}
	if a.boot, err = parseBootstrap(text); err != nil {
		return err
	}
	if a.id, err = openIdentity(f, token.InstanceID, a.cfg.Now()); err != nil {
		return err
	}
	if _, err := a.enrol(ctx, nil); err != nil {
		return fmt.Errorf("register: %w", err)
	}
	return nil
}
