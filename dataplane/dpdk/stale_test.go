package dpdk

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// deadSocket leaves a socket file behind that nobody answers, as kill -9 does.
func deadSocket(t *testing.T, kind, path string) {
	t.Helper()
	if kind == "unixgram" {
		c, err := net.ListenUnixgram(kind, &net.UnixAddr{Name: path, Net: kind})
		require.NoError(t, err)
		f, err := c.File() // closing by descriptor leaves the file
		require.NoError(t, err)
		require.NoError(t, os.Link(path, path+".x"))
		require.NoError(t, c.Close())
		require.NoError(t, f.Close())
		_ = os.Remove(path)
		require.NoError(t, os.Rename(path+".x", path))
		return
	}
	l, err := net.ListenUnix(kind, &net.UnixAddr{Name: path, Net: kind})
	require.NoError(t, err)
	l.SetUnlinkOnClose(false)
	require.NoError(t, l.Close())
}

func TestRemoveStale(t *testing.T) {
	dir := t.TempDir()
	sub := func(name string) string {
		d := filepath.Join(dir, name)
		require.NoError(t, os.Mkdir(d, 0o700))
		return d
	}
	deadSocket(t, "unixpacket", filepath.Join(sub("killed"), "dpdk_telemetry.v2"))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "killed", "config"), nil, 0o600))
	deadSocket(t, "unixgram", filepath.Join(sub("killed2"), "mp_socket"))
	live, err := net.ListenUnix("unixpacket", &net.UnixAddr{Name: filepath.Join(sub("live"), "dpdk_telemetry.v2"), Net: "unixpacket"})
	require.NoError(t, err)
	defer live.Close()
	deadSocket(t, "unixpacket", filepath.Join(dir, "live", "old"))
	gram, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(sub("livegram"), "mp_socket"), Net: "unixgram"})
	require.NoError(t, err)
	defer gram.Close()
	sub("starting") // no socket yet
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))

	removed, err := RemoveStale(dir)
	require.NoError(t, err)
	require.Equal(t, []string{"killed", "killed2"}, removed)
	for _, kept := range []string{"live/dpdk_telemetry.v2", "livegram/mp_socket", "starting", "file"} {
		_, err := os.Lstat(filepath.Join(dir, kept))
		require.NoError(t, err, kept)
	}
	removed, err = RemoveStale(filepath.Join(dir, "absent"))
	require.NoError(t, err)
	require.Empty(t, removed)
}

func TestPrefixOwnerReadsGreeting(t *testing.T) {
	root := t.TempDir()
	t.Setenv("RUNTIME_DIRECTORY", root)
	d := filepath.Join(root, "dpdk", "busy")
	require.NoError(t, os.MkdirAll(d, 0o700))
	l, err := net.ListenUnix("unixpacket", &net.UnixAddr{Name: filepath.Join(d, "dpdk_telemetry.v2"), Net: "unixpacket"})
	require.NoError(t, err)
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte(`{"version":"DPDK 22.11.11","pid":4711,"max_output_len":16384}`))
			_ = c.Close()
		}
	}()
	pid, used := prefixOwner("busy")
	require.True(t, used)
	require.Equal(t, 4711, pid)
	_, used = prefixOwner("free")
	require.False(t, used)
}
