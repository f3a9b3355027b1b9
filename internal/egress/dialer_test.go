package egress

import (
	"errors"
	"testing"
)

func TestAnAddressThatCannotBeReadIsRefused(t *testing.T) {
	for _, text := range []string{"", "127.0.0.1", "holder.test:80", "/run/holder.sock"} {
		if err := (&Dialer{}).checkAddress(text); !errors.Is(err, ErrRefused) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
