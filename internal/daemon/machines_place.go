package daemon

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/berth-cloud/berth/instances/config"
	"github.com/berth-cloud/berth/instances/secrets"
	"github.com/berth-cloud/berth/instances/storage"
	libsecrets "github.com/berth-cloud/berth/secrets"
)

// place is where the records of machines and the cluster's secrets are kept.
type place struct {
	objects storage.Storage
	secrets secrets.Store
	close   func() error
}

// openPlace opens the bucket that the configuration names, or a folder of this server.
func openPlace(ctx context.Context, at config.Storage, dir string) (_ *place, err error) {
	p := &place{close: func() error { return nil }}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.close())
		}
	}()
	keyFile := at.SealKeyFile
	if at.Local() {
		keyFile = filepath.Join(dir, "seal.key")
		err = p.openFolder(filepath.Join(dir, "objects"))
	} else {
		err = p.openBucket(ctx, at)
	}
	if err != nil {
		return nil, err
	}
	if at.Local() {
		if err := makeSealKey(ctx, keyFile, p.objects); err != nil {
			return nil, err
		}
	}
	key, err := readSealKey(keyFile)
	if err != nil {
		return nil, err
	}
	p.secrets, err = secrets.NewObjects(storage.Scoped(p.objects, secretPrefix), secrets.Keys{Primary: key})
	return p, err
}

// secretPrefix is where the secrets of the cluster are among its objects.
const secretPrefix = "cluster/secret"

func (p *place) openFolder(path string) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return err
	}
	folder, err := storage.OpenDirectory(path)
	if err != nil {
		return err
	}
	p.objects, p.close = folder, folder.Close
	return nil
}

func (p *place) openBucket(ctx context.Context, at config.Storage) error {
	access, err := readLine(at.AccessKeyFile)
	if err != nil {
		return fmt.Errorf("access_key_file: %w", err)
	}
	secret, err := readLine(at.SecretKeyFile)
	if err != nil {
		return fmt.Errorf("secret_key_file: %w", err)
	}
	bucket, err := storage.NewS3(storage.S3Options{
		Endpoint: at.Endpoint, Region: at.Region, Bucket: at.Bucket, PathStyle: at.PathStyle,
		AccessKey: access, SecretKey: libsecrets.NewSecret([]byte(secret)),
	})
	if err != nil {
		return err
	}
	p.objects, p.close = bucket, func() error { bucket.Close(); return nil }
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	key := "check/" + hex.EncodeToString([]byte(host))
	if at.Prefix != "" {
		p.objects = storage.Scoped(bucket, at.Prefix)
		key = at.Prefix + "/" + key
	}
	return bucket.CheckConditions(ctx, key)
}

// loader reads the file of machines, and the groups beside it that are made while
// servers run.
func (p *place) loader(conf *config.Config, file *machineFile, log *slog.Logger) (*config.Loader, error) {
	return config.NewLoader(config.LoaderOptions{
		Source: file, Name: file.name, Logger: log,
		Dynamic: &config.Dynamic{
			Objects: storage.Scoped(p.objects, "shard/"+conf.Shard.Name), Key: "groups.jsonc",
			NotFound: storage.ErrNotFound, Precondition: storage.ErrPrecondition,
		},
	})
}

// maxKeyFile bounds a file with a key.
const maxKeyFile = 4096

func readLine(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxKeyFile))
	if err != nil {
		return "", err
	}
	line := strings.TrimSpace(string(raw))
	if line == "" || strings.ContainsAny(line, "\r\n") {
		return "", fmt.Errorf("%s has to have one line", path)
	}
	return line, nil
}

func readSealKey(path string) (secrets.Key, error) {
	line, err := readLine(path)
	if err != nil {
		return secrets.Key{}, fmt.Errorf("the key that seals the secrets: %w", err)
	}
	material, err := hex.DecodeString(line)
	if err != nil {
		return secrets.Key{}, fmt.Errorf("the key that seals the secrets: %s has to have %d hex digits", path, 2*secrets.KeyBytes)
	}
	return secrets.NewKey(libsecrets.NewSecret(material))
}

// makeSealKey makes the key of a new folder. One that is lost is not made again while
// there are secrets that it sealed.
func makeSealKey(ctx context.Context, path string, objects storage.Storage) error {
	_, err := os.Stat(path)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	sealed, err := objects.List(ctx, secretPrefix+"/")
	if err != nil {
		return err
	}
	if len(sealed) > 0 {
		return fmt.Errorf("the key %s is missing, and %d secrets are sealed with it: bring it back", path, len(sealed))
	}
	material := secrets.GenerateKey().Reveal()
	defer clear(material)
	return writeOnce(path, []byte(hex.EncodeToString(material)+"\n"))
}

// writeOnce writes a file for its owner alone, whole and durably, where there is none.
func writeOnce(path string, data []byte) error {
	dir := filepath.Dir(path)
	tmp, err := os.CreateTemp(dir, ".new-*") // 0600
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(data)
	if err = errors.Join(err, tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	if err := os.Link(tmp.Name(), path); err != nil {
		return err
	}
	folder, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
