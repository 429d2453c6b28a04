package demux

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"syscall"
	"testing"

	"edemux/demux/cbpf"
	"edemux/flowtable"
)

// cpuTime reports the thread's CPU time per operation, which a busy machine
// distorts less than elapsed time.
func cpuTime(b *testing.B) func() {
	runtime.LockOSThread()
	now := func() int64 {
		var u syscall.Rusage
		const thread = 1 // RUSAGE_THREAD
		if err := syscall.Getrusage(thread, &u); err != nil {
			b.Fatal(err)
		}
		return u.Utime.Nano() + u.Stime.Nano()
	}
	start := now()
	return func() {
		b.ReportMetric(float64(now()-start)/float64(b.N), "cpu-ns/op")
		runtime.UnlockOSThread()
	}
}

// benchBuilder opens n listeners: 16 addresses of each port.
func benchBuilder(tb testing.TB, n int) *Builder {
	b := newTestBuilder()
	for i := range n {
		a := netip.AddrFrom4([4]byte{10, 0, byte(i >> 12), byte(i)})
		sp := &Spec{Name: fmt.Sprintf("s%d", i), Proto: TCP, Listen: true, IncomingCPU: -1,
			Bind: netip.AddrPortFrom(a, 1024+uint16(i>>8&4095))}
		if _, err := b.Add(sp); err != nil {
			tb.Fatal(err)
		}
	}
	return b
}

func benchQueries(b *Builder, v *View, n int) []Query {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	qs := make([]Query, 4096)
	for i := range qs {
		s := v.Sock(SockID(1 + r.IntN(n)))
		qs[i] = Query{Saddr: addr("192.0.2.1"), Daddr: s.Laddr, Sport: uint16(i), Dport: s.Lport, Dif: 1, Proto: TCP, Hasher: b.Hasher}
	}
	return qs
}

func BenchmarkListeners(b *testing.B) {
	for _, n := range []int{1, 1000, 100000, 1000000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			if testing.Short() && n > 100000 {
				b.Skip("short")
			}
			bl := benchBuilder(b, n)
			v := bl.Publish()
			qs := benchQueries(bl, v, n)
			i := 0
			defer cpuTime(b)()
			for b.Loop() {
				if v.TCPListener(&qs[i&4095]).Sock == 0 {
					b.Fatal("not found")
				}
				i++
			}
		})
	}
}

// benchRules are prefixes of mixed lengths, one port range each.
func benchRules(n int) []Rule {
	r := rand.New(rand.NewPCG(2, 2))
	rules := make([]Rule, n)
	for i := range rules {
		a := netip.AddrFrom4([4]byte{byte(10 + r.IntN(100)), byte(r.Uint32()), byte(r.Uint32()), byte(r.Uint32())})
		rules[i] = Rule{Proto: TCP, AnyVRF: true, Dst: netip.PrefixFrom(a, 16+r.IntN(17)).Masked(), Low: uint16(r.IntN(30000)), Top: 65535, Socket: 1}
	}
	return rules
}

func BenchmarkRules(b *testing.B) {
	for _, n := range []int{0, 10, 1000, 100000} {
		for _, op := range []string{"rule", "miss"} {
			if n == 0 && op == "rule" {
				continue
			}
			b.Run(fmt.Sprintf("%d/%s", n, op), func(b *testing.B) {
				bl := benchBuilder(b, 1000)
				rules := benchRules(n)
				if err := bl.SetRules(rules); err != nil {
					b.Fatal(err)
				}
				v := bl.Publish()
				qs := benchQueries(bl, v, 1000)
				r := rand.New(rand.NewPCG(3, 3))
				for i := range qs {
					if op == "rule" {
						u := &rules[r.IntN(n)]
						qs[i].Daddr, qs[i].Dport = flowtable.AddrFrom(u.Dst.Addr()), u.Low
					} else {
						qs[i].Daddr = flowtable.V4(r.Uint32N(100)<<24 + 10<<24 | r.Uint32()>>8)
						qs[i].Dport = 1
					}
				}
				i := 0
				defer cpuTime(b)()
				for b.Loop() {
					v.TCPListener(&qs[i&4095])
					i++
				}
			})
		}
	}
}

func BenchmarkReuseport(b *testing.B) {
	for _, family := range []string{"0.0.0.0:80", "[::]:80"} {
		for _, n := range []int{1, 6} {
			for _, prog := range []string{"none", "ld [0]; mod #6; ret a", "ret #99"} {
				b.Run(fmt.Sprintf("%s/%d/%s", family, n, prog), func(b *testing.B) {
					bl := newTestBuilder()
					for i := range n {
						mustAdd(b, bl, fmt.Sprintf("s%d udp %s reuseport", i, family))
					}
					if prog != "none" {
						if err := bl.Attach(1, asm(b, prog)); err != nil {
							b.Fatal(err)
						}
					}
					v := bl.Publish()
					q := udpq(bl, "10.0.0.9:9", "10.0.0.1:80")
					if family[0] == '[' {
						q = udpq(bl, "[2001:db8::9]:9", "[2001:db8::1]:80")
					}
					q.Prog = &cbpf.Input{Data: make([]byte, 8)}
					defer cpuTime(b)()
					for b.Loop() {
						q.Reset()
						v.UDPLookup(q)
					}
				})
			}
		}
	}
}

func BenchmarkVRFs(b *testing.B) {
	for _, n := range []int{1, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			bl := newTestBuilder()
			var qs []Query
			for i := range n {
				vrf, _ := bl.AddVRF(fmt.Sprintf("vrf%d", i))
				if _, err := bl.AddIface(IfaceSpec{Name: fmt.Sprintf("eth%d", i), Port: uint16(i), VRF: vrf}); err != nil {
					b.Fatal(err)
				}
				mustAdd(b, bl, fmt.Sprintf("s%d tcp 0.0.0.0:80 dev=vrf%d", i, i))
			}
			v := bl.Publish()
			for i := range n {
				qs = append(qs, *on(v, tcpq(bl, "10.0.0.9:9", "10.0.0.1:80"), fmt.Sprintf("eth%d", i)))
			}
			i := 0
			defer cpuTime(b)()
			for b.Loop() {
				if v.TCPListener(&qs[i%n]).Sock == 0 {
					b.Fatal("not found")
				}
				i++
			}
		})
	}
}

func BenchmarkAddFlows(b *testing.B) {
	fs := manyFlows(100000, true)
	for b.Loop() {
		if _, err := newTestBuilder().AddFlows("udp", fs); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(fs)), "ns/flow")
}
