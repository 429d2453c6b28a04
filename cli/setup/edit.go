package setup

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"edemux/cli/config"
	"edemux/demux"
	"edemux/flowtable"
)

// editor applies a difference to a builder: the live one, or a copy.
type editor struct {
	*difference
	b       *demux.Builder
	ifindex map[string]uint32
	vrf     map[string]uint16
	spaces  map[string][2]*flowtable.Space // of new VRFs; nil in a copy
}

// edit prepares an editor of b, which holds the running state.
func (h *Host) edit(b *demux.Builder, d *difference) *editor {
	e := &editor{difference: d, b: b, ifindex: map[string]uint32{}, vrf: map[string]uint16{}}
	v := b.Publish()
	for i := range v.VRFs {
		if n := v.VRFs[i].Name; n != "" {
			e.vrf[n] = uint16(i)
		}
	}
	for _, x := range ifaces(d.now) {
		if i := v.IfaceByName(x.name); i != nil {
			e.ifindex[x.name] = i.Index
		}
	}
	return e
}

// apply carries the difference out: what goes before what comes, so that new
// sockets find addresses and ports free.
func (e *editor) apply() error {
	now := e.now.Live(e.b, e.ifindex, e.vrf)
	next := e.next.Live(e.b, e.ifindex, e.vrf)
	again := e.sockets || e.rules || len(e.dropVRFs) > 0
	if again {
		if err := e.b.SetRules(nil); err != nil {
			return err
		}
		for i := range e.now.Sockets {
			if err := now.Unsteer(&e.now.Sockets[i]); err != nil {
				return err
			}
		}
	}
	for _, s := range e.close {
		e.closeAll(s)
	}
	for _, step := range []func() error{e.drop, e.addedVRFs, e.addedIfaces} {
		if err := step(); err != nil {
			return err
		}
	}
	if err := e.settings(next); err != nil {
		return err
	}
	for _, s := range e.open {
		if err := next.Open(s); err != nil {
			return err
		}
	}
	if !again {
		return nil
	}
	if err := next.Steer(); err != nil {
		return err
	}
	return next.Rules()
}

// closeAll closes a socket, or the members of it that are open.
func (e *editor) closeAll(s *config.Socket) {
	if s.Workers.Name == "" {
		if id := e.b.Lookup(s.Name); id != 0 {
			e.b.Close(id)
		}
		return
	}
	for n := range e.now.Pool(s.Workers.Name).Count {
		if id := e.b.Lookup(fmt.Sprintf("%s/%d", s.Name, n)); id != 0 {
			e.b.Close(id)
		}
	}
}

func (e *editor) drop() error {
	for _, n := range e.dropIfaces {
		if err := e.b.RemoveIface(n); err != nil {
			return err
		}
		delete(e.ifindex, n)
	}
	for _, n := range e.dropVRFs {
		if err := e.b.RemoveVRF(n); err != nil {
			return err
		}
		delete(e.vrf, n)
	}
	return nil
}

func (e *editor) addedVRFs() error {
	for _, v := range e.addVRFs {
		i, err := e.b.AddVRF(v.Name)
		if err != nil {
			return err
		}
		e.vrf[v.Name] = i
		if s, ok := e.spaces[v.Name]; ok {
			e.b.SetSpaces(i, s[0], s[1])
		}
	}
	return nil
}

func (e *editor) addedIfaces() error {
	for _, x := range e.addIfaces {
		i, err := e.b.AddIface(demux.IfaceSpec{Name: x.name, Port: uint16(x.port), VIDs: x.stack, AnyVLAN: x.any, VRF: e.vrf[x.vrf]})
		if err != nil {
			return err
		}
		e.ifindex[x.name] = i
	}
	return nil
}

// settings sets sysctls, addresses and routes.
func (e *editor) settings(next *config.Live) error {
	for _, v := range slices.Concat(e.addVRFs, e.sysctls) {
		e.b.SetSysctl(e.vrf[v.Name], v.Sysctl.Demux())
	}
	for _, v := range slices.Concat(e.addVRFs, e.fibs) {
		i := e.vrf[v.Name]
		var local []netip.Prefix
		if !v.EveryLocal {
			local = append([]netip.Prefix{}, v.Local...)
		}
		e.b.SetLocal(i, local)
		e.b.SetBroadcast(i, v.Broadcast)
		if err := next.Routes(v); err != nil {
			return err
		}
	}
	s := &e.next.Sysctl
	e.b.SetL3mdevAccept(s.TCPL3mdevAccept, s.UDPL3mdevAccept)
	return nil
}

// vrfIndex is the index of a VRF in the builder, by name.
func (h *Host) vrfIndex(name string) uint16 {
	if v := h.Engine.View().VRFByName(name); v != nil {
		return v.Index
	}
	return 0
}

// connected notes in the configuration that a command connected a socket.
func (h *Host) connected(name string, to netip.AddrPort) {
	for i := range h.Config.Sockets {
		if s := &h.Config.Sockets[i]; s.Name == name && !strings.Contains(name, "/") {
			s.Connect = to
		}
	}
}
