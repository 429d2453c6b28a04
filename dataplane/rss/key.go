package rss

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// KeySize is the length of a key in bytes: what the 36 input bytes of an IPv6
// 4-tuple need, and the length nearly all NICs take.
const KeySize = 40

// Key is a Toeplitz key, first byte first as it is written to a NIC.
type Key [KeySize]byte

// longDefault is the default key in the length that the widest NICs ask for.
//
// The hash bit j of an input bit i is key bit i+31-j, so the eight input bits
// from i and the eight lowest hash bits are tied by a Toeplitz matrix made of
// 15 consecutive key bits. In this key that matrix is invertible at every
// position. Hence any run of up to 8 consecutive input bits (the low bits of a
// port, of an address) reaches the low hash bits without collision, and the
// 256 values of an aligned run spread exactly evenly over any redirection
// table of 2 to 256 entries. Runs cannot be collision free for every table
// size at once: invertible 7x7 and 8x8 matrices at all positions exclude each
// other. It was drawn by a seeded search among all sequences with that
// property for full rank (32) of the whole hash and for the linear complexity
// of a random sequence, which a plain shift-register key of the property lacks
// (it can give only 256 hashes).
var longDefault = [52]byte{
	0x18, 0x79, 0x9d, 0xf9, 0x7e, 0x67, 0xf8, 0x5f, 0xaa, 0x22, 0x83, 0x30, 0x33,
	0x1c, 0x07, 0x6a, 0xdd, 0xc0, 0x45, 0x87, 0x9c, 0xd3, 0xc5, 0x92, 0x68, 0xe9,
	0x4d, 0x1c, 0xd1, 0xef, 0x01, 0x44, 0x71, 0x73, 0x91, 0xc0, 0x4d, 0x06, 0xa3,
	0x21, 0x97, 0x7d, 0xd3, 0x66, 0x28, 0xeb, 0x89, 0xf5, 0xe8, 0xdb, 0xc5, 0xbc,
}

// symmetricWord repeated makes a key of period 16 bits: addresses and ports are
// whole multiples of that, so exchanging source and destination does not change
// the hash. Of the 65,536 words it is one of those with the 8-bit property of
// the default key and the highest rank (16) that such a key can have.
const symmetricWord uint16 = 0xfb06

// Default is the key used when none is given.
func Default() Key { return Key(longDefault[:KeySize]) }

// Symmetric is a key under which both directions of a flow have one hash.
func Symmetric() (k Key) {
	for i := range k {
		k[i] = byte(symmetricWord >> (8 * (1 - i%2)))
	}
	return k
}

// Microsoft is the key of the published verification vectors, the default of
// many drivers.
func Microsoft() Key {
	return Key{
		0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb,
		0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
	}
}

// NICKey returns key in the length n that a device reports. Devices with more
// than 40 bytes hash tunnel headers with the rest: a default or symmetric key
// goes on as it began, any other one starts again from its first byte.
func NICKey(key Key, n int) []byte {
	out := make([]byte, n)
	copy(out, key[:])
	if key == Default() {
		copy(out, longDefault[:])
	}
	for i := KeySize; i < n; i++ {
		if key != Default() || i >= len(longDefault) {
			out[i] = key[i%KeySize]
		}
	}
	return out
}

// ParseKey reads a key as configurations and ethtool write it: `default`,
// `symmetric`, `microsoft`, or 40 bytes in hex with or without colons.
func ParseKey(s string) (Key, error) {
	switch s {
	case "", "default":
		return Default(), nil
	case "symmetric":
		return Symmetric(), nil
	case "microsoft":
		return Microsoft(), nil
	}
	b, err := hex.DecodeString(strings.ReplaceAll(s, ":", ""))
	if err != nil {
		return Key{}, errors.New("rss key: want default, symmetric, microsoft or 40 bytes in hex")
	}
	if len(b) != KeySize {
		return Key{}, fmt.Errorf("rss key: %d bytes, want %d", len(b), KeySize)
	}
	return Key(b), nil
}
