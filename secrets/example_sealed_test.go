package secrets_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/berth-cloud/berth/secrets"
)

// A vault in a directory keeps every value encrypted with a data key of its tenant,
// and that key in an envelope of age, which the master key in a file opens. Keep
// the key file elsewhere than the rows, and a copy of it: without it no value can be
// read again.
func ExampleVault_sealed() {
	dir, err := os.MkdirTemp("", "secrets")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	keyFile, rowsDir := filepath.Join(dir, "master.key"), filepath.Join(dir, "rows")
	ctx := context.Background()

	open := func() (secrets.Vault, func() error) {
		rows, err := secrets.NewDir(rowsDir)
		if err != nil {
			log.Fatal(err)
		}
		vault, err := secrets.OpenSealed(ctx, rows, keyFile) // makes the key file at first
		if err != nil {
			log.Fatal(err)
		}
		return vault, rows.Close
	}
	vault, closeRows := open()
	token, err := secrets.NewRef("acme", "shop/api-token")
	if err != nil {
		log.Fatal(err)
	}
	for _, value := range []string{"hunter2", "correct horse"} {
		version, err := vault.Put(ctx, token, secrets.NewSecretString(value))
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("put version", version)
	}
	if err := closeRows(); err != nil {
		log.Fatal(err)
	}

	// Another process opens the same directory with the same key file.
	vault, closeRows = open()
	defer closeRows()
	for _, wanted := range []secrets.Version{0, 1} { // 0 is the newest
		value, version, err := vault.Get(ctx, token, wanted)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(value, version, value.RevealString())
	}
	// Output:
	// put version 1
	// put version 2
	// [redacted] 2 correct horse
	// [redacted] 1 hunter2
}
