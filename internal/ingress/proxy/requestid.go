package proxy

import (
	"crypto/rand"
	"encoding/hex"
	"strconv"
	"sync/atomic"
)

// requestIDs makes ids that are unique over processes by a random start and
// cheap to make.
type requestIDs struct {
	prefix string
	n      atomic.Uint64
}

func newRequestIDs() *requestIDs {
	var b [6]byte
	_, _ = rand.Read(b[:]) // never fails
	return &requestIDs{prefix: hex.EncodeToString(b[:]) + "-"}
}

func (g *requestIDs) append(b []byte) []byte {
	b = append(b, g.prefix...)
	return strconv.AppendUint(b, g.n.Add(1), 10)
}
