package daemon

import (
	"errors"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestAnAddressThatCannotBeHadIsSaidWithWhatToDo(t *testing.T) {
	first, err := ListenTCP(t.Context(), "listen", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	for address, c := range map[string]struct {
		is   error
		says string
	}{
		first.Addr().String(): {unix.EADDRINUSE, "write another port for listen"},
		"192.0.2.1:9001":      {unix.EADDRNOTAVAIL, "0.0.0.0:9001 for all"},
	} {
		_, err := ListenTCP(t.Context(), "listen", address)
		if !errors.Is(err, c.is) || !strings.Contains(err.Error(), "listen: cannot listen on "+address) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", address, err)
		}
	}
	if got := listenAdvice("listen", ":80", unix.EACCES); !strings.Contains(got, "CAP_NET_BIND_SERVICE") {
		t.Error(got)
	}
}
