package setup

import (
	"fmt"
	"strings"

	"edemux/cli/command"
	"edemux/demux"
)

// Execute carries out one command that changes the running engine. It takes
// effect at the next burst of every lcore. Only the control goroutine calls it.
func (h *Host) Execute(c command.Command) error {
	var err error
	switch c := c.(type) {
	case command.EarlyDemux:
		err = h.earlyDemux(c)
	case command.Sysctl:
		err = h.sysctl(c)
	case command.Close:
		err = h.closeSocket(c.Socket)
	case command.Connect:
		err = h.connect(c)
	case command.Bind:
		err = h.bind(c.Spec)
	default:
		return fmt.Errorf("this command changes nothing here")
	}
	if err != nil {
		return err
	}
	return h.Engine.Publish()
}

func (h *Host) earlyDemux(c command.EarlyDemux) error {
	if c.On == nil || c.Proto == "" {
		return fmt.Errorf("want ip, tcp or udp, and on or off")
	}
	value := "0"
	if *c.On {
		value = "1"
	}
	return h.sysctl(command.Sysctl{Name: c.Proto + "_early_demux", Value: value, Set: true, VRF: c.VRF})
}

// sysctl sets one value in one VRF, or in all.
func (h *Host) sysctl(c command.Sysctl) error {
	if !c.Set {
		return fmt.Errorf("want NAME=VALUE")
	}
	name := c.Name
	if c.VRF != "" {
		name = c.VRF + ":" + name
	}
	if err := h.Config.Set(name + "=" + c.Value); err != nil {
		return err
	}
	for i := range h.Config.VRFs {
		h.Builder.SetSysctl(h.vrfIndex(h.Config.VRFs[i].Name), h.Config.VRFs[i].Sysctl.Demux())
	}
	h.Builder.SetL3mdevAccept(h.Config.Sysctl.TCPL3mdevAccept, h.Config.Sysctl.UDPL3mdevAccept)
	if c.Name == "early_demux_match" {
		h.Builder.SetMatchExact(h.exact(true))
	}
	return nil
}

// closeSocket closes one socket, or every member NAME/0, NAME/1, ... of a name.
func (h *Host) closeSocket(name string) error {
	if id := h.Builder.Lookup(name); id != 0 {
		h.Builder.Close(id)
		h.Config.Forget(name)
		return nil
	}
	var ids []demux.SockID
	v := h.Engine.View()
	v.Socks(func(id demux.SockID, _ *demux.Sock) bool {
		if base, _, member := strings.Cut(v.Name(id), "/"); member && base == name {
			ids = append(ids, id)
		}
		return true
	})
	if len(ids) == 0 {
		return fmt.Errorf("no socket %q", name)
	}
	for _, id := range ids {
		h.Builder.Close(id)
	}
	h.Config.Forget(name)
	return nil
}

func (h *Host) connect(c command.Connect) error {
	if c.Spec != "" {
		return h.bind(c.Spec)
	}
	id := h.Builder.Lookup(c.Socket)
	if id == 0 {
		return fmt.Errorf("no socket %q", c.Socket)
	}
	laddr := c.Laddr
	if !laddr.IsValid() {
		s := h.Engine.View().Sock(id)
		vrf := h.Config.VRF(h.Engine.View().VRFs[s.VRF].Name)
		laddr, _ = vrf.HostAddr(c.Faddr.Addr().Unmap().Is4())
	}
	if err := h.Builder.Connect(id, c.Faddr, laddr); err != nil {
		return err
	}
	h.connected(c.Socket, c.Faddr)
	return nil
}

// Drain waits until the workers that poll a ring have done what is in it: the
// memory of the frames may be used again.
func (h *Host) Drain() {
	for _, w := range h.rings {
		w.Wait()
	}
}

// Close stops the workers that poll rings. The engine must be at rest.
func (h *Host) Close() {
	h.stop.Store(true)
	h.polling.Wait()
}

// Sockets is the number of sockets that are open.
func (h *Host) Sockets() (n int) {
	h.Engine.View().Socks(func(demux.SockID, *demux.Sock) bool { n++; return true })
	return n
}

// bind opens a socket from a mapping as in the configuration.
func (h *Host) bind(spec string) error {
	return h.Config.Open(h.Builder, h.Engine.View(), spec)
}
