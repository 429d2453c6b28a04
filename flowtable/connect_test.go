package flowtable

import (
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
)

// peers are one connect of each family.
func peers() []Connect {
	return []Connect{
		{Laddr: addr("10.0.0.1"), Faddr: addr("10.9.9.9"), Fport: 443, Low: 32768, High: 60999, Flow: Flow{Sock: 1}},
		{Laddr: addr("2001:db8::1"), Faddr: addr("2001:db8::9"), Fport: 443, Low: 32768, High: 60999, Flow: Flow{Sock: 1}},
	}
}

func (c *Connect) at(port uint16) Key { return Key{c.Laddr, c.Faddr, port, c.Fport} }

// occupy inserts a flow to the peer from a port.
func occupy(t testing.TB, s *Space, c *Connect, port uint16, f Flow) Ref {
	k := c.at(port)
	r, err := s.Insert(s.hash(&k), &k, f, 1)
	noErr(t, err, port)
	return r
}

// twinScan is section 7.3 of the reference written down plainly: the ports in
// the order in which they are tried.
func twinScan(c *Connect, offset uint64, perturb uint32) (tried []uint16) {
	low, high := int(c.Low), int(c.High)+1
	remaining, step := high-low, 2
	if c.Every {
		step = 1
	} else if remaining > 1 {
		remaining -= remaining % 2
		high = low + remaining
	}
	off := int((perturb + uint32(offset>>32)) % uint32(remaining))
	if !c.Every {
		off -= off % 2
	}
	for {
		port := low + off
		for i := 0; i < remaining; i += step {
			if port >= high {
				port -= remaining
			}
			tried = append(tried, uint16(port))
			port += step
		}
		off++
		if c.Every || off%2 == 0 || remaining <= 1 {
			return tried
		}
	}
}

func TestConnectOrder(t *testing.T) {
	r := seed(t)
	for range max(20, 200/raceScale) {
		s, _ := testSpace(t, Limits{})
		p := NewPorts(Secret{byte(r.IntN(256))})
		c := peers()[r.IntN(2)]
		c.Low = uint16(r.IntN(65000))
		c.High = c.Low + uint16(r.IntN(min(300, 65535-int(c.Low))))
		c.Every = r.IntN(2) == 0
		c.Reserved = new(PortSet)
		bound := new(PortSet)
		c.Bound = bound.Has
		c.Reuse = func(f Flow, fixed bool) bool { return !fixed && f.Next == 7 }
		busy := map[uint16]bool{}
		for q := int(c.Low); q <= int(c.High); q++ {
			switch r.IntN(6) {
			case 0:
				c.Reserved.Add(uint16(q))
			case 1:
				bound.Add(uint16(q))
			case 2:
				occupy(t, s, &c, uint16(q), Flow{Sock: 9})
				busy[uint16(q)] = true
			case 3:
				f := Flow{Sock: 9, State: TimeWait, Deadline: 1000, Next: uint32(6 + r.IntN(2))}
				occupy(t, s, &c, uint16(q), f)
				busy[uint16(q)] = f.Next != 7
			case 4:
				occupy(t, s, &c, uint16(q), Flow{Sock: 9, Deadline: 50}) // gone by now
			}
		}
		off := p.offset(c.Laddr, c.Faddr, c.Fport, 100)
		tried := twinScan(&c, off, p.perturb[off%perturbSize].Load())
		i := slices.IndexFunc(tried, func(q uint16) bool { return !busy[q] && !c.Reserved.Has(q) && !bound.Has(q) })
		got, err := s.Connect(p, &c, 100)
		if i < 0 {
			isErr(t, err, ErrAddrNotAvail)
			continue
		}
		noErr(t, err)
		equal(t, tried[i], got.Port)
		k := c.at(got.Port)
		equal(t, got.Ref, s.Lookup(s.hash(&k), &k, Dev{}, 100))
	}
}

func TestConnectParityThenBoth(t *testing.T) {
	for _, c := range peers() {
		s, _ := testSpace(t, Limits{})
		p := NewPorts(Secret{1})
		c.Low, c.High = 1001, 1010
		var got []uint16
		for range 10 {
			out, err := s.Connect(p, &c, 1)
			noErr(t, err)
			got = append(got, out.Port)
		}
		for i, q := range got {
			equal(t, i < 5, q%2 == 1, "the parity of Low comes first", got)
		}
		_, err := s.Connect(p, &c, 1)
		isErr(t, err, ErrAddrNotAvail)
		equal(t, 10, s.Len())
	}
}

func TestConnectOddRangeLeavesLastPort(t *testing.T) {
	s, _ := testSpace(t, Limits{})
	c := peers()[0]
	c.Low, c.High = 100, 102
	p := NewPorts(Secret{})
	for range 2 {
		out, err := s.Connect(p, &c, 1)
		noErr(t, err)
		equal(t, true, out.Port != 102)
	}
	_, err := s.Connect(p, &c, 1)
	isErr(t, err, ErrAddrNotAvail)
	c.Every = true
	out, err := s.Connect(p, &c, 1)
	noErr(t, err)
	equal(t, 102, out.Port)
}

func TestConnectRangeEnds(t *testing.T) {
	s, _ := testSpace(t, Limits{})
	p := NewPorts(Secret{2})
	for _, q := range []uint16{0, 65535} {
		c := peers()[1]
		c.Low, c.High = q, q
		out, err := s.Connect(p, &c, 1)
		noErr(t, err)
		equal(t, q, out.Port)
	}
	c := peers()[0]
	c.Low, c.High = 65534, 65535
	seen := map[uint16]bool{}
	for range 2 {
		out, err := s.Connect(p, &c, 1)
		noErr(t, err)
		seen[out.Port] = true
	}
	equal(t, true, seen[65534] && seen[65535])
	c.Low, c.High = 5, 4
	_, err := s.Connect(p, &c, 1)
	isErr(t, err, ErrAddrNotAvail)
}

func TestConnectFixedPort(t *testing.T) {
	for _, c := range peers() {
		s, _ := testSpace(t, Limits{})
		p := NewPorts(Secret{1})
		c.Lport = 5000
		c.Reserved = new(PortSet)
		c.Reserved.Add(5000) // only automatic selection minds
		out, err := s.Connect(p, &c, 1)
		noErr(t, err)
		equal(t, 5000, out.Port)
		_, err = s.Connect(p, &c, 1)
		isErr(t, err, ErrAddrNotAvail)
		c.Lport = 5001
		occupy(t, s, &c, 5001, Flow{Sock: 3, State: TimeWait, Deadline: 1000})
		_, err = s.Connect(p, &c, 1)
		isErr(t, err, ErrAddrNotAvail)
		c.Reuse = func(f Flow, fixed bool) bool { return fixed && f.Sock == 3 }
		out, err = s.Connect(p, &c, 1)
		noErr(t, err)
		equal(t, true, out.Recycled)
		equal(t, 0, s.LenState(TimeWait))
		equal(t, 2, s.Len())
	}
}

// TestConnectDevices: a flow bound to a device is no obstacle to an unbound
// one, an unbound one is to another.
func TestConnectDevices(t *testing.T) {
	s, _ := testSpace(t, Limits{})
	p := NewPorts(Secret{1})
	c := peers()[0]
	c.Lport = 7
	c.Flow.Bdi = 4
	_, err := s.Connect(p, &c, 1)
	noErr(t, err)
	_, err = s.Connect(p, &c, 1)
	isErr(t, err, ErrAddrNotAvail)
	c.Flow.Bdi = 0
	_, err = s.Connect(p, &c, 1)
	noErr(t, err)
	c.Flow.Bdi, c.Master, c.Accept = 5, 6, true // takes the unbound one's packets too
	_, err = s.Connect(p, &c, 1)
	isErr(t, err, ErrAddrNotAvail)
	c.Accept = false
	_, err = s.Connect(p, &c, 1)
	noErr(t, err)
}

func TestConnectDeterministic(t *testing.T) {
	run := func(now int64) (ports []uint16) {
		s, _ := testSpace(t, Limits{})
		p := NewPorts(Secret{9})
		for range 50 {
			c := peers()[0]
			c.StepWidth = 7
			out, err := s.Connect(p, &c, now)
			noErr(t, err)
			ports = append(ports, out.Port)
		}
		return ports
	}
	a, b := run(seedTime), run(2*seedTime-1)
	equal(t, true, slices.Equal(a, b))
	equal(t, false, slices.Equal(a, run(2*seedTime)))
}

// TestConnectStepWidth: a scan with any step meets every port of a parity.
func TestConnectStepWidth(t *testing.T) {
	p := NewPorts(Secret{3})
	for width := uint32(1); width < 40; width += uint32(raceScale) {
		s, _ := testSpace(t, Limits{})
		c := peers()[0]
		c.Low, c.High, c.StepWidth = 2000, 2063, width
		for i := range 64 {
			out, err := s.Connect(p, &c, 1)
			noErr(t, err, width, i)
			equal(t, i < 32, out.Port%2 == 0)
		}
	}
}

// TestConnectQueue asks for ports whose replies arrive on a queue, of a hash
// that is linear over XOR.
func TestConnectQueue(t *testing.T) {
	toeplitz := func(p uint16) (h uint32) {
		h = 0xdeadbeef
		for bit := range 16 {
			if p>>bit&1 != 0 {
				h ^= 0x6d5a56da << bit >> 3
			}
		}
		return h
	}
	ph := NewPortHash(toeplitz)
	for p := range 1 << 16 {
		equal(t, toeplitz(uint16(p)), ph.Hash(uint16(p)))
	}
	reta := make([]uint16, 128)
	for i := range reta {
		reta[i] = uint16(i % 4)
	}
	for _, c := range peers() {
		s, _ := testSpace(t, Limits{})
		p := NewPorts(Secret{1})
		c.Queue = &PortQueue{ph, reta, 2}
		c.Want = func(p uint16) bool { return p%3 == 0 }
		for range 100 {
			out, err := s.Connect(p, &c, 1)
			noErr(t, err)
			equal(t, 2, reta[toeplitz(out.Port)&127])
			equal(t, 0, out.Port%3)
		}
	}
}

// TestConnectConcurrent: connects of several threads get different ports while
// others look flows up and the table grows.
func TestConnectConcurrent(t *testing.T) {
	for _, c := range peers() {
		s, _ := testSpace(t, Limits{})
		p := NewPorts(Secret{5})
		ports := 4000 / raceScale
		c.Low, c.High = 10000, uint16(9999+ports)
		var owner [1 << 16]atomic.Int32
		var wg, looking sync.WaitGroup
		var stop atomic.Bool
		looking.Add(1)
		go func() {
			defer looking.Done()
			rd := s.t.Reader()
			defer rd.Close()
			for r := rand.New(rand.NewPCG(1, 1)); !stop.Load(); rd.Quiescent() {
				k := c.at(uint16(10000 + r.IntN(ports)))
				was := owner[k.Lport].Load()
				if got := s.Lookup(s.hash(&k), &k, Dev{}, 1); was != 0 && got == 0 {
					t.Error("a connected flow is missing")
					return
				}
			}
		}()
		for w := range 4 {
			wg.Add(1)
			go func() {
				defer wg.Done()
				c := c
				c.Flow.Sock = uint32(w + 1)
				for n := 0; n < ports/4; {
					out, err := s.Connect(p, &c, 1)
					if err == ErrContended {
						continue
					}
					if err != nil {
						t.Error(err)
						return
					}
					if was := owner[out.Port].Swap(int32(w + 1)); was != 0 {
						t.Errorf("port %d given to %d and %d", out.Port, was, w+1)
						return
					}
					n++
				}
			}()
		}
		wg.Wait()
		stop.Store(true)
		looking.Wait()
		equal(t, ports, s.Len())
	}
}

func TestParsePorts(t *testing.T) {
	s, err := ParsePorts("8080,9000-9010, 65535")
	noErr(t, err)
	equal(t, 13, s.Len())
	equal(t, true, s.Has(8080) && s.Has(9000) && s.Has(9010) && s.Has(65535))
	equal(t, false, s.Has(9011) || (*PortSet)(nil).Has(1))
	for _, bad := range []string{"a", "1-", "5-4", "65536", "-1"} {
		if _, err := ParsePorts(bad); err == nil {
			t.Fatal(bad)
		}
	}
}
