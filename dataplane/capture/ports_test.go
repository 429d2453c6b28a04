package capture

import (
	"strings"
	"testing"

	"edemux/dataplane/packet"

	"github.com/stretchr/testify/require"
)

// portsOf reads a merge to its end and returns the port name of every frame.
func portsOf(t *testing.T, m *Merge) (names []string) {
	t.Helper()
	var f packet.Frame
	for {
		if _, err := m.Next(&f); err != nil {
			return names
		}
		names = append(names, m.Ports().Name(f.Port))
	}
}

func named(e *enc, name string) []byte { return e.opt(ifName, []byte(name)) }

func TestPortNames(t *testing.T) {
	one := (&enc{}).pcapHead(0xa1b2c3d4, 1).rec(1, 0, nil).b
	single := (&enc{}).shb()
	single.idb(1, 0, named(single, "eth0")).epb(0, 1e6, nil)
	several := (&enc{}).shb()
	several.idb(1, 0, named(several, "wan")).idb(1, 0).idb(1, 0, named(several, "a b")).
		epb(0, 1e6, nil).epb(1, 1e6, nil).epb(2, 1e6, nil).epb(0, 1e6, nil)
	late := (&enc{}).shb() // an interface beyond the first buffer
	late.idb(1, 0, named(late, "first")).epb(0, 1e6, make([]byte, bufStart)).
		idb(1, 0, named(late, "second")).epb(0, 1e6, nil).epb(1, 1e6, nil)
	sections := (&enc{}).shb()
	sections.idb(1, 0).epb(0, 1e6, nil).shb().idb(1, 0).idb(1, 0).epb(1, 1e6, nil).epb(0, 1e6, nil)

	for _, c := range []struct {
		name   string
		inputs [][]byte
		port   string
		want   string
	}{
		{"by place", [][]byte{one, one}, "", "port0 port1"},
		{"one interface has no name of its own", [][]byte{single.b}, "", "port0"},
		{"several", [][]byte{several.b}, "", "wan port0.1 port0.2 wan"},
		{"several, second input", [][]byte{one, several.b}, "", "port0 wan port1.1 port1.2 wan"},
		{"given", [][]byte{several.b}, "eth9", "eth9 eth9 eth9 eth9"},
		{"two captures of the same host", [][]byte{several.b, several.b}, "", "wan port0.1 port0.2 wan wan port1.1 port1.2 wan"},
		{"a settled name is kept", [][]byte{late.b}, "", "port0 port0 second"},
		{"sections", [][]byte{sections.b}, "", "port0.0 port0.1 port0.0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var rs []*Reader
			for _, b := range c.inputs {
				r := newReader(t, b)
				r.opts.Port = c.port
				rs = append(rs, r)
			}
			m := NewMerge(rs...)
			require.Equal(t, c.want, strings.Join(portsOf(t, m), " "))
			require.NoError(t, m.Rewind())
			require.Equal(t, c.want, strings.Join(portsOf(t, m), " "), "the second pass names the same")
		})
	}
}

func TestKnownPortsComeFirst(t *testing.T) {
	r := newReader(t, samplePcap(1))
	r.opts.Port = "eth1"
	m := NewMerge(newReader(t, samplePcap(1)), r)
	m.SetPorts(NewPortNames("eth0", "eth1"))
	require.Equal(t, []string{"port0", "eth1"}, portsOf(t, m))
	require.Equal(t, 3, m.Ports().Len())
	require.Equal(t, uint16(1), m.Ports().Add("eth1"))
	require.Equal(t, uint16(2), m.Ports().Add("port0"))
}

func TestPortsAreBounded(t *testing.T) {
	p := NewPortNames()
	for i := range 70_000 {
		require.Equal(t, uint16(min(i, 65535)), p.Add(strings.Repeat("x", 1+i%7)+string(rune(0x10000+i))))
	}
	require.Equal(t, 65536, p.Len())
	require.NotEmpty(t, p.Name(65535))
}

func TestValidName(t *testing.T) {
	for _, s := range []string{"eth0", "a", "A-Z_0.9", strings.Repeat("x", 31)} {
		require.True(t, ValidName(s), s)
	}
	for _, s := range []string{"", "a b", "eth0\n", "é", "a/b", "a:b", "\x00", strings.Repeat("x", 32)} {
		require.False(t, ValidName(s), "%q", s)
	}
}
