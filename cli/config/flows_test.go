package config

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func readFlows(text string) (all []Flow, err error) {
	r := NewFlowReader("f.tsv", strings.NewReader(text))
	for {
		f, err := r.Next()
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		all = append(all, f)
	}
}

func TestFlowReader(t *testing.T) {
	all, err := readFlows("# laddr lport faddr fport worker vrf\n" +
		"10.0.0.1\t53\t10.0.0.9\t4000\tdns/1\n\r\n" +
		"2001:db8::1\t53\t2001:db8::2\t4001\tdns/0\tred\r\n" +
		"::ffff:10.0.0.1\t1\t::ffff:10.0.0.2\t65535\tweb/3") // no line end
	require.NoError(t, err)
	require.Len(t, all, 3)
	require.Equal(t, "10.0.0.1 53 10.0.0.9 4000 dns 1 default 2", show(all[0]))
	require.Equal(t, "2001:db8::1 53 2001:db8::2 4001 dns 0 red 4", show(all[1]))
	require.Equal(t, "::ffff:10.0.0.1 1 ::ffff:10.0.0.2 65535 web 3 default 5", show(all[2]))
}

func show(f Flow) string {
	return fmt.Sprint(f.Laddr, f.Lport, " ", f.Faddr, f.Fport, " ", f.Pool, " ", f.Index, " ", f.VRF, " ", f.Line)
}

func TestFlowMistakes(t *testing.T) {
	for _, m := range []struct{ text, want string }{
		{"10.0.0.1 53 10.0.0.9 4000 dns/1\n", "1:1: 10.0.0.1 53 10.0.0.9 4000 dns/1: 1 columns: " + flowForm},
		{"#\n10.0.0.1\t53\t10.0.0.9\t4000\n", "2:1: 10.0.0.1\\x0953\\x0910.0.0.9\\x094000: 4 columns: " + flowForm},
		{"10.0.0.1\t53\t10.0.0.9\t4000\tdns/1\tred\tx\n", "1:37: x: a seventh column: " + flowForm},
		{"10.0.0.1\t70000\t10.0.0.9\t4000\tdns/1\n", "1:10: 70000: port 70000 is over 65535: write a port from 0 to 65535"},
		{"10.0.0.1\t0\t10.0.0.9\t4000\tdns/1\n", "1:10: 0: port 0: write a port from 1 to 65535"},
		{"10.0.0.1\t53\t2001:db8::1\t4000\tdns/1\n", "1:13: 2001:db8::1: addresses of two families: write both in the family of 10.0.0.1"},
		{"0.0.0.0\t53\t10.0.0.9\t4000\tdns/1\n", "1:1: 0.0.0.0: the wildcard address: write the address of a host"},
		{"10.0.0\t53\t10.0.0.9\t4000\tdns/1\n", "1:1: 10.0.0: not an IP address: write an address, as 10.0.0.1 or 2001:db8::1"},
		{"10.0.0.1\t53\t10.0.0.9\t4000\tdns\n", "1:27: dns: not a worker: write POOL/INDEX, as web/0"},
		{"10.0.0.1\t53\t10.0.0.9\t4000\tdns/x\n", "1:27: dns/x: not a worker: write POOL/INDEX, as web/0"},
		{"10.0.0.1\t53\t10.0.0.9\t4000\tdns/1\tr d\n", "1:33: r d: not a name: " + nameRule},
		{strings.Repeat("x", 2000) + "\n", "1:1: line of more than 1024 bytes: " + flowForm},
	} {
		_, err := readFlows(m.text)
		require.EqualError(t, err, "config: f.tsv:"+m.want)
	}
}

// TestEachFlow: relative file names, workers and VRFs are resolved, and what
// the caller refuses is placed at the line.
func TestEachFlow(t *testing.T) {
	dir := t.TempDir()
	conf := filepath.Join(dir, "c.yaml")
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	write("c.yaml", pools+"vrfs: [{name: red}]\nflows: {udp: flows.tsv}\n")
	c, err := Load(conf)
	require.NoError(t, err)
	require.Equal(t, []string{"dns/0", "dns/1", "web/0", "web/1", "web/2", "web/3"}, c.WorkerNames())
	each := func(text string) (ids []uint32, err error) {
		write("flows.tsv", text)
		err = c.EachFlow(func(f Flow, w uint32) error {
			if f.Lport == 9 {
				return fmt.Errorf("refused")
			}
			ids = append(ids, w)
			return nil
		})
		return ids, err
	}
	ids, err := each("10.0.0.1\t1\t10.0.0.2\t2\tweb/3\n10.0.0.1\t1\t10.0.0.2\t3\tdns/1\tred\n")
	require.NoError(t, err)
	require.Equal(t, []uint32{5, 1}, ids)
	for _, m := range []struct{ text, want string }{
		{"10.0.0.1\t1\t10.0.0.2\t2\twbe/3\n", "1:1: wbe: no such worker pool: name a pool of the configuration"},
		{"\n10.0.0.1\t1\t10.0.0.2\t2\tweb/4\n", "2:1: web/4: pool web has 4 workers: write web/0 to web/3"},
		{"10.0.0.1\t1\t10.0.0.2\t2\tweb/0\tblue\n", "1:1: blue: no such VRF: name a VRF of the configuration"},
		{"10.0.0.1\t9\t10.0.0.2\t2\tweb/0\n", "1:1: refused"},
	} {
		_, err := each(m.text)
		require.EqualError(t, err, "config: flows.tsv:"+m.want)
	}
	require.NoError(t, os.Remove(filepath.Join(dir, "flows.tsv")))
	err = c.EachFlow(nil)
	require.EqualError(t, err, "config: "+conf+":5:14: flows.tsv: no such file or directory: name a file that can be read")
}

// TestFlowReaderBounded: a million lines go through without being held.
func TestFlowReaderBounded(t *testing.T) {
	pr, pw := io.Pipe()
	const lines = 1_000_000
	go func() {
		buf := make([]byte, 0, 1<<16)
		for i := range lines {
			buf = fmt.Appendf(buf, "10.0.0.1\t53\t10.%d.%d.%d\t%d\tweb/1\n", i>>16&255, i>>8&255, i&255, 1024+i%60000)
			if len(buf) > 60000 {
				_, _ = pw.Write(buf)
				buf = buf[:0]
			}
		}
		_, _ = pw.Write(buf)
		pw.Close()
	}()
	r := NewFlowReader("f.tsv", pr)
	n := 0
	for {
		_, err := r.Next()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		n++
	}
	require.Equal(t, lines, n)
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	require.Less(t, m.HeapAlloc, uint64(64<<20))
}

func BenchmarkFlowReader(b *testing.B) {
	text := strings.Repeat("10.0.0.1\t53\t10.200.30.40\t4000\tweb/1\n", 1000)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if all, err := readFlows(text); err != nil || len(all) != 1000 {
			b.Fatal(err)
		}
	}
}

func FuzzFlows(f *testing.F) {
	f.Add("10.0.0.1\t53\t10.0.0.9\t4000\tdns/1\tred\n")
	f.Add("::1\t1\t::2\t2\tw/0\n#\n\n\r\n\t\t\t\t\t\n")
	f.Fuzz(func(t *testing.T, text string) {
		all, err := readFlows(text)
		if err != nil && strings.ContainsAny(err.Error(), "\n\r") {
			t.Fatalf("more than one line: %q", err)
		}
		for _, x := range all {
			if !x.Laddr.IsValid() || !x.Faddr.IsValid() || x.Lport == 0 || x.Fport == 0 || x.Pool == "" || x.VRF == "" || x.Index < 0 {
				t.Fatalf("%+v", x)
			}
		}
	})
}
