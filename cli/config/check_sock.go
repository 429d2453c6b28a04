package config

import (
	"fmt"
	"net/netip"
	"sort"
	"strings"
)

func (k *checker) socket(s *Socket) {
	k.sockOwner(s)
	if s.Dev.Name == "default" {
		k.list.bad(s.Dev.Pos, "default is not a device", "remove dev: a socket without it lives in default")
	}
	if s.Dev.Name != "" && k.vrfs[s.Dev.Name] == nil {
		if _, ok := k.ifaces[s.Dev.Name]; !ok {
			devices := map[string]bool{}
			for n := range k.ifaces {
				devices[n] = true
			}
			for n := range k.vrfs {
				devices[n] = true
			}
			dangling(k, s.Dev, "interface or VRF", devices)
		}
	}
	k.addresses(s)
	k.options(s)
	if s.Steer != nil {
		k.steer(s)
	}
	for i := range s.Join {
		k.join(s, &s.Join[i])
	}
}

// sockOwner checks worker and workers: one of the two, and it exists.
func (k *checker) sockOwner(s *Socket) {
	switch {
	case s.Worker.Name != "" && s.Workers.Name != "":
		k.list.bad(s.At("workers"), "both worker and workers", "keep worker for one socket, workers for one per worker")
	case s.Has("worker") || s.Has("workers"):
	case !k.loose:
		p := s.pos
		p.Text = s.Name
		k.list.bad(p, "socket without an owner", "add worker: POOL/INDEX or workers: POOL")
	}
	if s.Workers.Name != "" && k.pools[s.Workers.Name] == nil {
		dangling(k, s.Workers, "worker pool", k.pools)
	}
	if s.Worker.Name == "" {
		return
	}
	p := k.pools[s.Worker.Pool]
	if p == nil {
		names := map[string]bool{}
		for n, p := range k.pools {
			names[fmt.Sprintf("%s/%d", n, min(s.Worker.Index, p.Count-1))] = true
		}
		dangling(k, s.Worker.Ref, "worker", names)
	} else if s.Worker.Index >= p.Count && !k.loose {
		k.list.badf(s.At("worker"), fmt.Sprintf("write %s/0 to %s/%d", p.Name, p.Name, p.Count-1), "pool %s has %d workers", p.Name, p.Count)
	}
}

// addresses checks bind, connect and laddr: what is needed is there, and the
// families agree as the kernel's bind and connect want them.
func (k *checker) addresses(s *Socket) {
	b, c := s.Bind, s.Connect
	if !b.IsValid() && !c.IsValid() {
		if !s.Has("bind") && !s.Has("connect") {
			p := s.pos
			p.Text = s.Name
			k.list.bad(p, "socket without an address", `add bind: "ADDR:PORT", connect: "ADDR:PORT" or both`)
		}
		return
	}
	if b.IsValid() && b.Addr().IsMulticast() && s.Proto == 6 {
		k.list.bad(s.At("bind"), "a multicast address cannot listen", "bind an address of a host")
	}
	if b.IsValid() && b.Port() == 0 && !c.IsValid() {
		k.list.bad(s.At("bind"), "port 0", "write a port from 1 to 65535; only connect chooses one")
	}
	if c.IsValid() {
		k.connected(s)
	}
	if !s.Laddr.IsValid() {
		return
	}
	switch {
	case !c.IsValid():
		k.list.bad(s.At("laddr"), "laddr without connect", "remove it, or bind to that address")
	case b.IsValid() && !b.Addr().Unmap().IsUnspecified():
		k.list.bad(s.At("laddr"), "laddr with a bound address", "remove it, or bind the wildcard")
	case s.Laddr.Unmap().Is4() != c.Addr().Unmap().Is4():
		k.list.bad(s.At("laddr"), "not of the family of connect", "write an address of the family of "+c.Addr().String())
	}
}

// connected checks the remote address against the local one.
func (k *checker) connected(s *Socket) {
	b, c := s.Bind, s.Connect
	at := s.At("connect")
	ca := c.Addr()
	if c.Port() == 0 {
		k.list.bad(at, "port 0", "write the remote port, 1 to 65535")
		return
	}
	if ca.Unmap().IsUnspecified() {
		k.list.bad(at, "the wildcard as a remote address", "write the address of the peer")
		return
	}
	if ca.IsMulticast() && s.Proto == 6 {
		k.list.bad(at, "TCP to a multicast address", "write the address of a host")
		return
	}
	if b.IsValid() {
		ba := b.Addr()
		wild6 := ba.Is6() && ba.IsUnspecified()
		switch {
		case ba.Is4() && ca.Is6():
			k.list.badf(at, "bind and connect in one family", "IPv6 address on the IPv4 socket bound to %s", ba)
			return
		case ba.Is6() && ca.Is4():
			k.list.badf(at, fmt.Sprintf(`write "[::ffff:%s]:%d", or bind an IPv4 address`, ca, c.Port()), "IPv4 address on an IPv6 socket")
			return
		case !wild6 && ba.Is4In6() != ca.Is4In6():
			k.list.badf(at, "bind and connect in one family", "mapped and other IPv6 addresses mixed (bound to %s)", ba)
			return
		}
	}
	if s.V6Only && ca.Is4In6() {
		k.list.bad(at, "IPv4 peer on a v6only socket", "remove v6only or write an IPv6 address")
		return
	}
	if b.IsValid() && !b.Addr().Unmap().IsUnspecified() || s.Laddr.IsValid() || k.loose {
		return
	}
	k.hostAddress(s)
}

// hostAddress makes sure that a wildcard-bound socket finds its local address
// at connect.
func (k *checker) hostAddress(s *Socket) {
	v := k.vrfOf(s)
	if v == nil {
		return
	}
	if _, ok := v.HostAddr(s.Connect.Addr().Unmap().Is4()); !ok {
		k.list.badf(s.At("connect"), "add laddr: ADDR, bind an address, or list one in local", "no local address: VRF %s has no host address of this family in local", v.Name)
	}
}

// HostAddr returns the first address of a host in `local`, of the given family:
// what a wildcard-bound socket gets at connect.
func (v *VRF) HostAddr(v4 bool) (netip.Addr, bool) {
	for _, p := range v.Local {
		if p.IsSingleIP() && p.Addr().Is4() == v4 {
			return p.Addr(), true
		}
	}
	return netip.Addr{}, false
}

// vrfOf returns the VRF whose ports and table a socket uses: that of its
// device, default when unbound.
func (k *checker) vrfOf(s *Socket) *VRF {
	switch n := s.Dev.Name; {
	case n == "":
		return k.vrfs["default"]
	case k.vrfs[n] != nil:
		return k.vrfs[n]
	case k.owner[n] != "":
		return k.vrfs[k.owner[n]]
	}
	if _, ok := k.ifaces[s.Dev.Name]; ok {
		return k.vrfs["default"]
	}
	return nil
}

func (k *checker) options(s *Socket) {
	tcp, listens := s.Proto == 6, s.Proto == 6 && !s.Connect.IsValid()
	switch {
	case s.Proto == 0:
		return
	case s.Has("backlog") && !listens:
		k.list.bad(s.At("backlog"), "backlog on a socket that does not listen", "remove it")
	case s.V6Only && s.Family() == 4:
		k.list.bad(s.At("v6only"), "v6only on an IPv4 socket", "remove it or bind an IPv6 address")
	case s.V6Only && s.Bind.IsValid() && s.Bind.Addr().Is4In6():
		k.list.bad(s.At("v6only"), "v6only with an IPv4-mapped address", "remove it or bind another IPv6 address")
	case s.NoCheck6Rx && (tcp || s.Family() == 4):
		k.list.bad(s.At("no_check6_rx"), "no_check6_rx is for UDP over IPv6", "remove it")
	case s.Workers.Name != "" && s.Has("reuseport") && !s.Reuseport:
		k.list.bad(s.At("reuseport"), "sockets made by workers are a reuseport group", "remove it, or write worker: POOL/INDEX")
	}
}

// steer checks what a group is steered by.
func (k *checker) steer(s *Socket) {
	st := s.Steer
	if !s.InGroup() {
		k.list.bad(s.At("steer"), "steer on a socket without a group", "add reuseport: true, or workers: POOL")
	}
	var given []Pos
	for _, key := range []string{"asm", "cbpf", "mode"} {
		if st.Has(key) {
			given = append(given, st.At(key))
		}
	}
	sort.Slice(given, func(i, j int) bool {
		a, b := given[i], given[j]
		return a.Line < b.Line || a.Line == b.Line && a.Col < b.Col
	})
	for i := 1; i < len(given); i++ {
		k.list.bad(given[i], "a group is steered one way", "keep one of asm, cbpf and mode")
	}
	if len(given) == 0 && !k.loose {
		k.list.bad(s.At("steer"), "empty steer", `write {asm: "ld [0]; mod #4; ret a"}, {cbpf: FILE} or {mode: hash}`)
	}
}

func (k *checker) join(s *Socket, j *Join) {
	if s.Proto == 6 {
		k.list.bad(s.At("join"), "join on a TCP socket", "remove it: multicast is for UDP")
		return
	}
	if j.Dev.Name != "" {
		if _, ok := k.ifaces[j.Dev.Name]; !ok {
			dangling(k, j.Dev, "interface", k.ifaces)
		}
	}
	if !j.Group.IsValid() {
		return
	}
	if j.Group.Is6() && s.Family() == 4 {
		k.list.bad(j.At("group"), "IPv6 group on an IPv4 socket", "bind an IPv6 address, as \"[::]:PORT\"")
	}
	for i, a := range j.Include {
		if a.Is4() != j.Group.Is4() {
			k.list.badf(j.At("include"), "write senders of the group's family", "sender %d is of another family than the group", i+1)
		}
	}
}

func sortedKeys[V any](m map[string]V) []string {
	all := make([]string, 0, len(m))
	for n := range m {
		all = append(all, n)
	}
	sort.Strings(all)
	return all
}

// joinShort lists at most eight names.
func joinShort(all []string) string {
	if len(all) > 8 {
		return strings.Join(all[:8], ", ") + ", ..."
	}
	return strings.Join(all, ", ")
}
