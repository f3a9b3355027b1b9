package secrets_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/berth-cloud/berth/secrets"
)

func ExampleSecret() {
	password := secrets.NewSecretString("hunter2")
	fmt.Printf("%s %+v\n", password, struct{ Password secrets.Secret }{password})
	slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	})).Info("login", slog.Any("password", password))
	fmt.Println(len(password.RevealString()))
	// Output:
	// [redacted] {Password:[redacted]}
	// level=INFO msg=login password=[redacted]
	// 7
}

func ExampleVault() {
	var vault secrets.Vault = secrets.NewMemory()
	ctx := context.Background()
	ref, err := secrets.NewRef("acme", "shop/DATABASE_URL")
	if err != nil {
		fmt.Println(err)
		return
	}
	first, _ := vault.Put(ctx, ref, secrets.NewSecretString("postgres://one"))
	same, _ := vault.Put(ctx, ref, secrets.NewSecretString("postgres://one"))
	second, _ := vault.Put(ctx, ref, secrets.NewSecretString("postgres://two"))
	old, _, _ := vault.Get(ctx, ref, first)
	fmt.Println(first, same, second, old.RevealString())

	_ = vault.Delete(ctx, ref)
	_, _, err = vault.Get(ctx, ref, 0)
	fmt.Println(errors.Is(err, secrets.ErrNotFound), err)
	// Output:
	// 1 1 2 postgres://one
	// true secret not found: acme/shop/DATABASE_URL
}

func ExampleOpenSealed() {
	dir, err := os.MkdirTemp("", "secrets")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	ctx, keyFile := context.Background(), filepath.Join(dir, "master.key")

	rows, err := secrets.NewDir(filepath.Join(dir, "rows"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer rows.Close()
	vault, err := secrets.OpenSealed(ctx, rows, keyFile)
	if err != nil {
		fmt.Println(err)
		return
	}
	ref := secrets.Ref{Tenant: "acme", Key: "token"}
	if _, err := vault.Put(ctx, ref, secrets.NewSecretString("s3cret")); err != nil {
		fmt.Println(err)
		return
	}

	// Another master key, and the value is read with it.
	if err := vault.Rewrap(ctx, filepath.Join(dir, "new.key")); err != nil {
		fmt.Println(err)
		return
	}
	value, version, err := vault.Get(ctx, ref, 0)
	fmt.Println(value.RevealString(), version, err)

	// Without the key file the rows are of no use, and no new key is made.
	_ = os.Remove(keyFile)
	_, err = secrets.OpenSealed(ctx, rows, keyFile)
	fmt.Println(errors.Is(err, secrets.ErrKeyLost))
	// Output:
	// s3cret 1 <nil>
	// true
}
