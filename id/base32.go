package id

import (
	"errors"
	"fmt"
)

// alphabet is Crockford's, in lower case: no i, l, o or u.
const alphabet = "0123456789abcdefghjkmnpqrstvwxyz"

// suffixLen characters of 5 bits hold the 128 bits of a UUID and two zero bits
// of padding at the end.
const suffixLen = 26

// values maps a character to its five bits, and what is no character to 0xff.
var values = func() (table [256]byte) {
	for i := range table {
		table[i] = 0xff
	}
	for i := range len(alphabet) {
		table[alphabet[i]] = byte(i)
	}
	return table
}()

func encode(uuid [16]byte) string {
	var out [suffixLen]byte
	acc, bits, n := uint(0), 0, 0
	for _, b := range uuid {
		acc, bits = acc<<8|uint(b), bits+8
		for bits >= 5 {
			bits -= 5
			out[n] = alphabet[acc>>bits&31]
			n++
		}
	}
	out[n] = alphabet[acc<<(5-bits)&31] // three bits and the padding
	return string(out[:])
}

// decode reads suffixLen characters.
func decode(s string) ([16]byte, error) {
	var uuid [16]byte
	acc, bits, n := uint(0), 0, 0
	for i := range len(s) {
		v := values[s[i]]
		if v == 0xff {
			return uuid, fmt.Errorf("character %q at %d is not in the alphabet %s", s[i], kindLen+i, alphabet)
		}
		acc, bits = acc<<5|uint(v), bits+5
		if bits >= 8 && n < len(uuid) {
			bits -= 8
			uuid[n] = byte(acc >> bits)
			n++
		}
	}
	if acc&(1<<bits-1) != 0 {
		return uuid, errors.New("the last character carries bits beyond the 128")
	}
	return uuid, nil
}
