package rss

import (
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"
)

// rank is the rank over GF(2) of rows, each a bit vector.
func rank(rows []uint64) (n int) {
	rows = append([]uint64(nil), rows...)
	for len(rows) > 0 {
		p := rows[len(rows)-1]
		rows = rows[:len(rows)-1]
		if p == 0 {
			continue
		}
		n++
		low := p & -p
		for i, r := range rows {
			if r&low != 0 {
				rows[i] = r ^ p
			}
		}
	}
	return n
}

// columns are the low bits of the hashes of w single input bits from start.
func columns(key Key, start, w int, mask uint32) []uint64 {
	out := make([]uint64, w)
	for i := range out {
		in := make([]byte, inputMax)
		in[(start+i)/8] = 0x80 >> ((start + i) % 8)
		out[i] = uint64(bitwise(key, in) & mask)
	}
	return out
}

// No change confined to 8 consecutive input bits goes unseen in the low 8 bits
// of the hash, and such a run fills tables of 2..256 entries evenly.
func TestKeysNonSingular(t *testing.T) {
	for name, key := range map[string]Key{"default": Default(), "symmetric": Symmetric()} {
		for start := 0; start < inputMax*8; start++ {
			for w := 1; w <= 8 && start+w <= inputMax*8; w++ {
				require.Equal(t, w, rank(columns(key, start, w, 0xff)), "%s: input bits %d+%d", name, start, w)
			}
			for n := 1; n <= 8 && start+8 <= inputMax*8; n++ {
				require.Equal(t, n, rank(columns(key, start, 8, 1<<n-1)), "%s: input bits %d+8 on %d hash bits", name, start, n)
			}
		}
	}
}

// The property is worth testing for: the most used key of all lacks it.
func TestMicrosoftKeyIsSingular(t *testing.T) {
	bad := 0
	for start := 0; start+8 <= inputMax*8; start++ {
		if rank(columns(Microsoft(), start, 8, 0xff)) < 8 {
			bad++
		}
	}
	require.NotZero(t, bad)
}

func TestKeyRank(t *testing.T) {
	require.Equal(t, 32, rank(columns(Default(), 0, 96, 0xffffffff)), "IPv4 tuples reach every hash")
	require.Equal(t, 32, rank(columns(Default(), 64, 32, 0xffffffff)), "so do the ports alone")
	require.Equal(t, 16, rank(columns(Symmetric(), 0, 96, 0xffffffff)))
}

func TestEvenSpread(t *testing.T) {
	h := New(Default())
	for _, queues := range []uint16{2, 4, 8, 16, 32, 64, 128} {
		n := make([]int, queues)
		for p := range uint16(256) {
			n[Queue(h.PortTerm(40960+p, true), queues)]++
		}
		for q := range n {
			require.Equal(t, 256/int(queues), n[q], "%d queues, queue %d", queues, q)
		}
	}
}

func TestNICKey(t *testing.T) {
	for _, k := range []Key{Default(), Symmetric(), Microsoft()} {
		require.Equal(t, k[:], NICKey(k, KeySize))
		long := NICKey(k, 64)
		require.Len(t, long, 64)
		require.Equal(t, k[:], long[:KeySize])
	}
	require.Equal(t, longDefault[:], NICKey(Default(), 52))
	k := Symmetric()
	require.Equal(t, []byte{0xfb, 0x06}, NICKey(k, 52)[50:])
}

func TestParseKey(t *testing.T) {
	for s, want := range map[string]Key{"": Default(), "default": Default(), "symmetric": Symmetric(), "microsoft": Microsoft()} {
		k, err := ParseKey(s)
		require.NoError(t, err)
		require.Equal(t, want, k, s)
	}
	d := Default()
	plain := hex.EncodeToString(d[:])
	k, err := ParseKey(plain[:2] + ":" + plain[2:])
	require.NoError(t, err)
	require.Equal(t, d, k)
	for s, msg := range map[string]string{
		"6d5a": "2 bytes", "xyz": "in hex", plain + "00": "41 bytes", "Default": "in hex",
	} {
		_, err := ParseKey(s)
		require.ErrorContains(t, err, msg)
	}
}
