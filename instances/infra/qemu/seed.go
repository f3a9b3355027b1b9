package qemu

import (
	"encoding/json"
	"errors"
	"os"

	"github.com/berth-cloud/berth/secrets"
)

// writeSeed makes the volume from which cloud-init learns, at the first boot, which
// instance it is on and what to do there.
func writeSeed(root *os.Root, r record, userData secrets.Secret) error {
	meta, err := json.Marshal(map[string]string{ // which is YAML as well
		"instance-id": r.InstanceID, "local-hostname": r.InstanceID,
	})
	if err != nil {
		return err
	}
	volume, err := isoVolume("cidata", r.LaunchedAt, []isoFile{
		{"meta-data", meta}, {"user-data", userData.Reveal()},
	})
	if err == nil {
		err = writeFile(root, seedFile, volume)
	}
	if err != nil {
		return errors.New("the seed cannot be written")
	}
	return nil
}
