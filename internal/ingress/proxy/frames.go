package proxy

import (
	"crypto/rand"
	"encoding/binary"
)

// frames follows the WebSocket frames (RFC 6455, 5.2) of one direction, to know
// where one ends. A close frame may be put in at any such place, even between
// the fragments of a message.
type frames struct {
	head     [14]byte
	have     int    // bytes of the current frame's head so far
	left     uint64 // bytes of its payload still to come
	closing  bool   // the current frame is a close frame
	sawClose bool   // a whole close frame went by
}

// atBoundary says that no frame is under way.
func (f *frames) atBoundary() bool { return f.have == 0 }

// scan follows p. With stop it returns after the end of the first frame. It
// returns how far it got.
func (f *frames) scan(p []byte, stop bool) int {
	i := 0
	for i < len(p) {
		if need := f.headSize(); f.have < need {
			f.head[f.have] = p[i]
			f.have++
			i++
			if f.have < f.headSize() {
				continue
			}
			f.begin()
		} else {
			n := min(uint64(len(p)-i), f.left)
			f.left -= n
			i += int(n)
		}
		if f.left == 0 && f.have == f.headSize() {
			f.sawClose = f.sawClose || f.closing
			f.have, f.closing = 0, false
			if stop {
				return i
			}
		}
	}
	return i
}

// headSize is the size of the current head as far as it is known by now.
func (f *frames) headSize() int {
	if f.have < 2 {
		return 2
	}
	n := 2
	switch f.head[1] & 0x7f {
	case 126:
		n += 2
	case 127:
		n += 8
	}
	if f.head[1]&0x80 != 0 {
		n += 4
	}
	return n
}

func (f *frames) begin() {
	switch n := f.head[1] & 0x7f; n {
	case 126:
		f.left = uint64(binary.BigEndian.Uint16(f.head[2:]))
	case 127:
		f.left = binary.BigEndian.Uint64(f.head[2:])
	default:
		f.left = uint64(n)
	}
	f.closing = f.head[0]&0x0f == 8
}

// closeGoingAway is the status of our close frames. 1012 (service restart)
// would say more, but some client libraries take every code above 1011 for a
// protocol error.
const closeGoingAway = 1001

// closeFrame is a close frame; what a client sends, to a target, is masked.
func closeFrame(masked bool) []byte {
	payload := binary.BigEndian.AppendUint16(nil, closeGoingAway)
	payload = append(payload, "the app is restarting"...)
	if !masked {
		return append([]byte{0x88, byte(len(payload))}, payload...)
	}
	b := []byte{0x88, 0x80 | byte(len(payload)), 0, 0, 0, 0}
	_, _ = rand.Read(b[2:6]) // never fails
	for i := range payload {
		payload[i] ^= b[2+i%4]
	}
	return append(b, payload...)
}
