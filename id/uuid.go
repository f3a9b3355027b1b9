package id

import (
	"encoding/binary"
	"fmt"
)

// checkUUID holds a UUID against RFC 9562: version 7 and its variant.
func checkUUID(uuid [16]byte) error {
	if version := uuid[6] >> 4; version != 7 {
		return fmt.Errorf("its UUID is of version %d, not 7", version)
	}
	if uuid[8]>>6 != 0b10 {
		return fmt.Errorf("its UUID has the variant bits %02b, not 10", uuid[8]>>6)
	}
	return nil
}

// millis is the Unix time in the first 48 bits.
func millis(uuid [16]byte) int64 {
	return int64(binary.BigEndian.Uint64(uuid[:8]) >> 16)
}

// makeUUID puts together the time in milliseconds (48 bits), a counter of 12
// bits and 62 bits of chance.
func makeUUID(ms int64, counter uint16, chance uint64) [16]byte {
	var uuid [16]byte
	binary.BigEndian.PutUint64(uuid[:8], uint64(ms)<<16|0x7000|uint64(counter&0xfff))
	binary.BigEndian.PutUint64(uuid[8:], 1<<63|chance>>2)
	return uuid
}
