package judge

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"edemux/dataplane/capture"
	"edemux/dataplane/packet"
)

// export writes a scenario as a user would: configuration, script, capture. The
// result is what goes on the command line of replay and explain.
type export struct {
	s      *Scenario
	refuse map[int]bool // steps that the kernel refused
}

// config is the configuration: the network and what opens before the first
// frame.
func (e *export) config() string {
	var b strings.Builder
	b.WriteString("checksums: {ip: verify, l4: verify}\nearly_demux_match: linux\n")
	fmt.Fprintf(&b, "sysctl: {tcp_l3mdev_accept: %d, udp_l3mdev_accept: %d}\nports:\n", b2i(e.s.Net.TCPL3mdevAccept), b2i(e.s.Net.UDPL3mdevAccept))
	for i, p := range e.s.Net.Ports {
		mac := portMAC(&e.s.Net, i)
		fmt.Fprintf(&b, "  - {name: %s, mac: \"%02x:%02x:%02x:%02x:%02x:%02x\", queues: 2, source: {pcap: %s.pcapng}}\n", p, mac[0], mac[1], mac[2], mac[3], mac[4], mac[5], p)
	}
	b.WriteString("vrfs:\n")
	for i := range e.s.Net.VRFs {
		e.vrf(&b, &e.s.Net.VRFs[i])
	}
	b.WriteString("workers:\n  - {name: w}\nsockets:\n")
	steer := map[string]string{}
	for i := range e.before() {
		if a := e.s.Steps[i].Attach; a != nil {
			steer[a.Socket] = a.ASM
		}
	}
	n := 0
	for i := range e.before() {
		if s := e.s.Steps[i].Open; s != nil && !e.refuse[i] {
			fmt.Fprintf(&b, "  - %s\n", entry(s, steer[s.Name]))
			n++
		}
	}
	text := b.String()
	if n == 0 {
		text = strings.TrimSuffix(text, "sockets:\n")
	}
	return text
}

// before is how many steps come before the first frame and can stand in the
// configuration: openings, and programs of their groups.
func (e *export) before() int {
	for i := range e.s.Steps {
		if s := &e.s.Steps[i]; s.Open == nil && s.Attach == nil {
			return i
		}
	}
	return len(e.s.Steps)
}

func (e *export) vrf(b *strings.Builder, v *VRF) {
	fmt.Fprintf(b, "  - name: %s\n", v.Name)
	list := func(key string, n int, item func(i int) string) {
		for i := range n {
			b.WriteString([2]string{", ", "    " + key + ": ["}[b2i(i == 0)] + item(i))
		}
		if n > 0 {
			b.WriteString("]\n")
		}
	}
	list("interfaces", len(v.Ifaces), func(i int) string { return v.Ifaces[i] })
	list("local", len(v.Local), func(i int) string { return fmt.Sprintf("%q", v.Local[i]) })
	list("broadcast", len(v.Broadcast), func(i int) string { return v.Broadcast[i].String() })
	list("routes", len(v.Routes), func(i int) string { return fmt.Sprintf("{to: %q, via: %s}", v.Routes[i].To, v.Routes[i].Via) })
	s := &v.Sysctl
	fmt.Fprintf(b, "    sysctl: {ip_early_demux: %d, tcp_early_demux: %d, udp_early_demux: %d, tcp_migrate_req: %d}\n",
		b2i(s.IPEarlyDemux), b2i(s.TCPEarlyDemux), b2i(s.UDPEarlyDemux), b2i(s.TCPMigrateReq))
}

// entry is a socket as the configuration has it.
func entry(s *Socket, steer string) string {
	text := strings.TrimSuffix(s.String(), "}") + ", worker: w/0"
	if steer != "" {
		text += fmt.Sprintf(", steer: {asm: %q}", steer)
	}
	return text + "}"
}

// script is what happens between the frames; what it has no words for is a
// comment.
func (e *export) script() string {
	var b strings.Builder
	frame := 1
	for i := range e.s.Steps {
		s := &e.s.Steps[i]
		switch {
		case s.Frame != nil:
			frame++
		case i < e.before():
		case e.refuse[i]:
			fmt.Fprintf(&b, "# refused: %s\n", s)
		case s.Open != nil:
			fmt.Fprintf(&b, "#%d bind %s\n", frame, entry(s.Open, s.Open.ProgBeforeBind))
		case s.Close != "":
			fmt.Fprintf(&b, "#%d close %s\n", frame, s.Close)
		case s.Connect != nil:
			fmt.Fprintf(&b, "#%d connect %s %s\n", frame, s.Connect.Socket, s.Connect.To)
		case s.Sysctl != nil:
			fmt.Fprintf(&b, "#%d sysctl %s=%d\n", frame, s.Sysctl.Name, s.Sysctl.Value)
		default:
			fmt.Fprintf(&b, "# before frame %d: %s\n", frame, s)
		}
	}
	return b.String()
}

// write makes the files in a folder.
func (e *export) write(dir string) error {
	for name, text := range map[string]string{"config.yaml": e.config(), "script.txt": e.script()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	for port, name := range e.s.Net.Ports {
		if err := e.capture(filepath.Join(dir, name+".pcapng"), port); err != nil {
			return err
		}
	}
	return nil
}

// capture writes the frames of one port. Times make the merge of all ports the
// order of the scenario.
func (e *export) capture(file string, port int) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer f.Close()
	w, err := capture.NewNGWriter(f, "edemux judge")
	if err != nil {
		return err
	}
	n := 0
	for i := range e.s.Steps {
		s := e.s.Steps[i].Frame
		if s == nil {
			continue
		}
		if n++; s.Port != port {
			continue
		}
		id, err := w.Interface("", s.Link)
		if err != nil {
			return err
		}
		frame := packet.Frame{Data: s.Data, WireLen: uint32(len(s.Data)), Link: s.Link, CPU: uint16(s.CPU), HasQueue: true,
			TS: 1e18 + int64(n)*frameTime}
		if err := w.Write(id, &frame, s.Note); err != nil {
			return err
		}
	}
	return w.Flush()
}
