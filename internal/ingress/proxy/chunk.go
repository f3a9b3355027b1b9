package proxy

import (
	"strconv"
	"sync"
)

var copyBufs = sync.Pool{New: func() any { b := make([]byte, copySize); return &b }}

// chunkWriter frames data in the buffer it was read into, so that a chunk goes
// out in one write.
type chunkWriter struct {
	buf     []byte
	chunked bool
}

// chunkRoom is for the size of a chunk, in hex, and the line break after it.
const chunkRoom = 10

// room is where to read data to.
func (w *chunkWriter) room() []byte {
	if !w.chunked {
		return w.buf
	}
	return w.buf[chunkRoom : len(w.buf)-2]
}

// frame is what to write for the n bytes in room.
func (w *chunkWriter) frame(n int) []byte {
	if !w.chunked {
		return w.buf[:n]
	}
	var size [chunkRoom]byte
	head := strconv.AppendUint(size[:0], uint64(n), 16)
	head = append(head, "\r\n"...)
	start := chunkRoom - len(head)
	copy(w.buf[start:], head)
	end := chunkRoom + n
	w.buf[end], w.buf[end+1] = '\r', '\n'
	return w.buf[start : end+2]
}
