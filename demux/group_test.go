package demux

import (
	"fmt"
	"syscall"
	"testing"

	"edemux/demux/cbpf"

	"github.com/stretchr/testify/require"
)

func asm(t testing.TB, text string) *cbpf.Program {
	p, err := cbpf.Assemble(text)
	require.NoError(t, err)
	return p
}

// TestReuseportBPF is reuseport_bpf.c: groups of 10 and 20, wildcard binds of
// both families, also IPv4 to an IPv6 group; the program's value modulo the
// size; another program governs the whole group at once.
func TestReuseportBPF(t *testing.T) {
	for _, proto := range []string{"udp", "tcp"} {
		for _, n := range []int{10, 20} {
			for _, bind := range []string{"0.0.0.0:80", "[::]:80"} {
				b := newTestBuilder()
				for i := range n {
					mustAdd(t, b, fmt.Sprintf("s%d %s %s reuseport", i, proto, bind))
				}
				require.NoError(t, b.Attach(1, asm(t, fmt.Sprintf("ld [0]; mod #%d; ret a", n))))
				whole := b.Publish()
				require.NoError(t, b.Attach(1, asm(t, fmt.Sprintf("ld [0]; mod #%d; ret a", n/2))))
				half := b.Publish()
				for d := range 2 * n {
					q := udpq(b, "10.0.0.9:9", "10.0.0.1:80")
					q.Prog = &cbpf.Input{Data: []byte{0, 0, 0, byte(d)}}
					lookup := (*View).UDPLookup
					if proto == "tcp" {
						q.Proto, lookup = TCP, (*View).TCPListener
					}
					r := lookup(whole, q)
					require.Equal(t, Result{Sock: SockID(d%n + 1), Group: 1, Member: int32(d % n), Path: PathListener, By: ByProgram}, r)
					require.Equal(t, SockID(d%(n/2)+1), lookup(half, q).Sock)
					require.Zero(t, q.Computed, "no hash was needed")
					require.Equal(t, uint8(1), q.Saved)
				}
			}
		}
	}
}

// TestProgramOutcomes: beyond the group is the hash, a short payload index 0,
// no packet no program.
func TestProgramOutcomes(t *testing.T) {
	b := newTestBuilder()
	for i := range 4 {
		mustAdd(t, b, fmt.Sprintf("s%d udp 10.0.0.1:80 reuseport", i))
	}
	hashed := b.Publish().UDPLookup(udpq(b, "10.0.0.9:9", "10.0.0.1:80"))
	require.Equal(t, ByHash, hashed.By)
	for _, c := range []struct {
		prog string
		data []byte
		none bool
		by   By
		sock SockID
	}{
		{"ret #4", nil, false, ByFallback, hashed.Sock}, {"ret #-1", nil, false, ByFallback, hashed.Sock},
		{"ret #3", nil, false, ByProgram, 4}, {"ld [0]; ret #3", []byte{1, 2, 3}, false, ByProgram, 1},
		{"ret #3", nil, true, ByHash, hashed.Sock},
	} {
		require.NoError(t, b.Attach(2, asm(t, c.prog)))
		q := udpq(b, "10.0.0.9:9", "10.0.0.1:80")
		q.Prog, q.NoProg = &cbpf.Input{Data: c.data}, c.none
		v := b.Publish()
		require.True(t, v.HasPrograms)
		r := v.UDPLookup(q)
		require.Equal(t, c.by, r.By, "%+v", c)
		require.Equal(t, c.sock, r.Sock, "%+v", c)
		require.Equal(t, PathICMP, v.UDPError(q).Path)
	}
	require.NoError(t, b.Detach(3))
	require.ErrorIs(t, b.Detach(3), syscall.ENOENT)
	require.False(t, b.Publish().HasPrograms)
}

func TestAttachErrors(t *testing.T) {
	b := newTestBuilder()
	p := asm(t, "ret #0")
	alone := mustAdd(t, b, "alone udp 10.0.0.1:80")
	require.ErrorIs(t, b.Attach(alone, p), syscall.EINVAL)
	require.ErrorIs(t, b.Detach(alone), syscall.EINVAL)
	conn := mustAdd(t, b, "conn udp 10.0.0.1:81 reuseport connect=10.0.0.9:9")
	require.ErrorIs(t, b.Attach(conn, p), syscall.EINVAL, "it left its group")
	require.ErrorIs(t, b.Detach(conn), syscall.ENOENT)
	require.ErrorIs(t, b.Attach(99, p), syscall.EBADF)
	tcp := mustAdd(t, b, "tcp tcp 10.0.0.1:82 reuseport nolisten")
	require.ErrorIs(t, b.Detach(tcp), syscall.ENOENT)
	require.NoError(t, b.Attach(tcp, p), "before listen: a group of its own")
	mustAdd(t, b, "tcp2 tcp 10.0.0.1:82 reuseport")
	require.ErrorIs(t, b.Listen(tcp, 1), syscall.EADDRINUSE, "it has a group already")

	// test_extra_filter: two unbound sockets with programs.
	sp := spec("f1 udp 10.0.0.1:90 reuseport")
	sp.Prog = p
	_, err := b.Add(sp)
	require.NoError(t, err)
	sp = spec("f2 udp 10.0.0.1:90 reuseport")
	sp.Prog = p
	_, err = b.Add(sp)
	require.ErrorIs(t, err, syscall.EADDRINUSE)
	mustAdd(t, b, "f3 udp 10.0.0.1:90 reuseport")
	require.Len(t, b.GroupMembers(b.Lookup("f3")), 2)
	sp = spec("f4 udp 10.0.0.1:91")
	sp.Prog = p
	_, err = b.Add(sp)
	require.ErrorIs(t, err, syscall.EINVAL)
}

// TestIndexOrder: bind order, the last member moves into a hole, a member that
// comes back goes to the end (section 6.3).
func TestIndexOrder(t *testing.T) {
	for _, proto := range []string{"udp", "tcp"} {
		b := newTestBuilder()
		names := func() (s string) {
			for _, id := range b.Publish().Group(0).Members() {
				s += b.Name(id)
			}
			return s
		}
		for _, n := range "ABCD" {
			mustAdd(t, b, string(n)+" "+proto+" [::]:80 reuseport")
		}
		require.Equal(t, "ABCD", names())
		b.Close(b.Lookup("B"))
		require.Equal(t, "ADC", names())
		mustAdd(t, b, "B "+proto+" [::]:80 reuseport")
		require.Equal(t, "ADCB", names())
		b.Close(b.Lookup("B"))
		require.Equal(t, "ADC", names())
		for _, n := range "ADC" {
			b.Close(b.Lookup(string(n)))
		}
		v := b.Publish()
		require.Nil(t, v.Group(0))
		require.Zero(t, v.GroupSize(0))
		require.Equal(t, "-", v.GroupName(0))
	}
}

func TestGroupLimit(t *testing.T) {
	for _, proto := range []string{"udp", "tcp"} {
		b := newTestBuilder()
		for i := range 32768 {
			mustAdd(t, b, fmt.Sprintf("s%d %s 0.0.0.0:80 reuseport", i, proto))
		}
		v := b.Publish()
		require.Equal(t, 32768, v.GroupSize(0))
		want := syscall.EADDRINUSE // udp_lib_get_port says so for any failure
		if proto == "tcp" {
			want = syscall.ENOMEM
		}
		_, err := b.Add(spec("one " + proto + " 0.0.0.0:80 reuseport"))
		require.ErrorIs(t, err, want)
		b.Close(1)
		mustAdd(t, b, "one "+proto+" 0.0.0.0:80 reuseport")
		require.Equal(t, 32768, b.Publish().GroupSize(0))
	}
}

// TestIdentity: family, v6only, address, port, device, user.
func TestIdentity(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"udp 10.0.0.1:80", "udp 10.0.0.1:80", true}, {"udp 10.0.0.1:80", "udp 0.0.0.0:80", false},
		{"udp 10.0.0.1:80", "udp [::ffff:10.0.0.1]:80", false}, {"udp [::]:80", "udp [::]:80 v6only", false},
		{"udp [2001:db8::1]:80", "udp [2001:db8::1]:80 v6only", true}, {"udp 0.0.0.0:80 dev=eth0", "udp 0.0.0.0:80", false},
		{"udp 0.0.0.0:80", "udp 0.0.0.0:81", false}, {"tcp 0.0.0.0:80", "tcp 0.0.0.0:80", true},
		{"tcp 0.0.0.0:80 dev=eth0", "tcp 0.0.0.0:80 dev=eth1", false}, {"tcp [::]:80", "tcp 0.0.0.0:80", false},
		{"udp [::]:80", "udp [::ffff:0.0.0.0]:80", false},
	} {
		b := vrfBuilder(t)
		mustAdd(t, b, "a "+c.a+" reuseport")
		mustAdd(t, b, "b "+c.b+" reuseport")
		require.Equal(t, c.same, len(b.GroupMembers(1)) == 2, "%+v", c)
	}
}

// TestReuseportDualstack: the IPv4 group gets IPv4 packets whichever group
// came first.
func TestReuseportDualstack(t *testing.T) {
	for _, proto := range []string{"udp", "tcp"} {
		for _, n := range []int{5, 16} {
			for _, order := range [][]string{{"0.0.0.0:80", "[::]:80"}, {"[::]:80", "0.0.0.0:80"}} {
				b := newTestBuilder()
				for i, bind := range order {
					for j := range n {
						mustAdd(t, b, fmt.Sprintf("s%d.%d %s %s reuseport", i, j, proto, bind))
					}
				}
				v := b.Publish()
				for p := range 50 {
					q := udpq(b, fmt.Sprintf("127.0.0.1:%d", 2000+p), "127.0.0.1:80")
					r := v.UDPLookup(q)
					if proto == "tcp" {
						q.Proto = TCP
						r = v.TCPListener(q)
					}
					require.Equal(t, uint8(4), v.Sock(r.Sock).Family())
				}
			}
		}
	}
}

// TestReuseportAddrAny: the specific address wins whatever the order.
func TestReuseportAddrAny(t *testing.T) {
	for _, proto := range []string{"udp", "tcp"} {
		for _, c := range []struct{ bind, src, dst string }{
			{"127.0.0.1:80", "127.0.0.1:9", "127.0.0.1:80"}, {"[::1]:80", "[::1]:9", "[::1]:80"},
			{"[::ffff:127.0.0.1]:80", "127.0.0.1:9", "127.0.0.1:80"},
		} {
			b := newTestBuilder()
			i := 0
			add := func(bind string, n int) {
				for range n {
					i++
					mustAdd(t, b, fmt.Sprintf("s%d %s %s reuseport", i, proto, bind))
				}
			}
			add("0.0.0.0:80", 2)
			add("[::]:80", 2)
			add(c.bind, 1)
			add("0.0.0.0:80", 2)
			add("[::]:80", 2)
			v := b.Publish()
			q := udpq(b, c.src, c.dst)
			r := v.UDPLookup(q)
			if proto == "tcp" {
				q.Proto = TCP
				r = v.TCPListener(q)
			}
			require.Equal(t, SockID(5), r.Sock, "%+v", c)
		}
	}
}

// TestIncomingCPU is so_incoming_cpu.c: whatever the moment it is set.
func TestIncomingCPU(t *testing.T) {
	for _, when := range []string{"before", "after", "late"} {
		b := newTestBuilder()
		const n = 8
		for i := range n {
			sp := spec(fmt.Sprintf("s%d tcp 0.0.0.0:80 reuseport", i))
			if when == "before" {
				sp.IncomingCPU = int32(i)
			}
			id, err := b.Add(sp)
			require.NoError(t, err)
			if when == "after" {
				require.NoError(t, b.SetIncomingCPU(id, int32(i)))
			}
		}
		if when == "late" {
			for i := range n {
				require.NoError(t, b.SetIncomingCPU(SockID(i+1), int32(i)))
			}
		}
		extra := mustAdd(t, b, "extra tcp 0.0.0.0:80 reuseport")
		for _, v := range []*View{b.Publish(), func() *View { b.Close(extra); return b.Publish() }()} {
			for cpu := range n {
				for p := range 32 {
					q := tcpq(b, fmt.Sprintf("10.0.0.9:%d", 3000+p), "10.0.0.1:80")
					q.CPU = int32(cpu)
					r := v.TCPListener(q)
					require.Equal(t, SockID(cpu+1), r.Sock)
					require.Equal(t, ByCPU, r.By)
				}
			}
		}
	}
	require.ErrorIs(t, newTestBuilder().SetIncomingCPU(5, 1), syscall.EBADF)
}
