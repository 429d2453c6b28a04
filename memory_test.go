package edemux_test

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// repeatPcap writes a little-endian pcap stream of at least size bytes to w:
// the records of a capture again and again, a second later each time. It
// returns how many records that were.
func repeatPcap(w io.Writer, capture []byte, size int) (int, error) {
	le := binary.LittleEndian
	out := bufio.NewWriterSize(w, 1<<20)
	if _, err := out.Write(capture[:24]); err != nil {
		return 0, err
	}
	records := 0
	for pass, written := uint32(0), 0; written < size; pass++ {
		for rest := capture[24:]; len(rest) > 0; records++ {
			n := 16 + int(le.Uint32(rest[8:]))
			var sec [4]byte
			le.PutUint32(sec[:], le.Uint32(rest)+pass)
			if _, err := out.Write(sec[:]); err != nil {
				return records, err
			}
			if _, err := out.Write(rest[4:n]); err != nil {
				return records, err
			}
			rest = rest[n:]
			written += n
		}
	}
	return records, out.Flush()
}

// TestGoldenMemory: however long the input, memory stays what the tables and
// the batches in flight need.
func TestGoldenMemory(t *testing.T) {
	const streamed, allowed = 512 << 20, 256 << 20
	capture, err := os.ReadFile("testdata/pcap/fragments.pcap")
	require.NoError(t, err)

	cmd := exec.Command(program(t), "replay", "--json", "-")
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	records, err := repeatPcap(stdin, capture, streamed)
	require.NoError(t, err)
	require.NoError(t, stdin.Close())
	var sum summary
	require.NoError(t, json.NewDecoder(stdout).Decode(&sum))
	require.NoError(t, cmd.Wait())

	assert.Equal(t, records, sum.Input.Frames)
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	require.True(t, ok)
	assert.Lessf(t, usage.Maxrss*1024, int64(allowed), "resident bytes at most, %d streamed", streamed)
}
