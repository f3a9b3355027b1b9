package process

import (
	"fmt"
	"os"
	"strings"
)

// bootIDPath is where Linux tells one boot of the machine from another.
const bootIDPath = "/proc/sys/kernel/random/boot_id"

// BootID is the machine's boot id.
func BootID() (string, error) {
	b, err := os.ReadFile(bootIDPath)
	if err != nil {
		return "", fmt.Errorf("read the machine's boot id: %w", err)
	}
	return strings.TrimSpace(string(b)), nil
}
