package replay

import (
	"bufio"
	"io"
	"net/netip"
	"strconv"

	"edemux/dataplane"
	"edemux/dataplane/mib"
	"edemux/dataplane/packet"
	"edemux/flowtable"
)

// Header is the first line of a decisions file.
const Header = "frame\tts_ns\tport\tvrf\tvlan\tipver\tproto\tsaddr\tsport\tdaddr\tdport\tverdict\treason\tpath\tsocket\tworker"

// tsvWriter prints decisions as tab-separated values, one line per input frame
// and one per extra multicast copy. One thread.
type tsvWriter struct {
	w     *bufio.Writer
	line  []byte
	vlans []uint16
}

func newTSVWriter(w io.Writer) (*tsvWriter, error) {
	t := &tsvWriter{w: bufio.NewWriterSize(w, 1<<16)}
	_, err := t.w.WriteString(Header + "\n")
	return t, err
}

// write prints the line of one decision about the frame of r.
func (t *tsvWriter) write(r *record, d *dataplane.Decision, n *dataplane.Names) error {
	b := strconv.AppendUint(t.line[:0], r.number, 10)
	b = append(b, '\t')
	b = strconv.AppendInt(b, r.frame.TS, 10)
	b = append(b, '\t')
	b = append(b, r.port...)
	b = append(b, '\t')
	b = appendName(b, n.VRF(d.VRF))
	b = append(b, '\t')
	b = t.appendVLANs(b, r.frame)
	b = append(b, '\t')
	b = appendTuple(b, r.meta)
	b = append(b, '\t')
	b = append(b, d.Verdict.String()...)
	b = append(b, '\t')
	b = appendName(b, reasonText(d))
	b = append(b, '\t')
	b = append(b, d.Path.String()...)
	b = append(b, '\t')
	b = appendName(b, n.Sock(d.Sock))
	b = append(b, '\t')
	b = appendName(b, n.Worker(d.Worker))
	b = append(b, '\n')
	t.line = b
	_, err := t.w.Write(b)
	return err
}

func (t *tsvWriter) flush() error { return t.w.Flush() }

// reasonText is the reason column: the drop reason, or the word of a punt.
func reasonText(d *dataplane.Decision) string {
	switch d.Verdict {
	case mib.Drop:
		return d.Reason.String()
	case mib.Punt:
		return d.Punt.String()
	}
	return ""
}

func appendName(b []byte, s string) []byte {
	if s == "" {
		return append(b, '-')
	}
	return append(b, s...)
}

func (t *tsvWriter) appendVLANs(b []byte, f *packet.Frame) []byte {
	t.vlans = packet.VLANStack(f, t.vlans[:0])
	if len(t.vlans) == 0 {
		return append(b, '-')
	}
	for i, v := range t.vlans {
		if i > 0 {
			b = append(b, '.')
		}
		b = strconv.AppendUint(b, uint64(v), 10)
	}
	return b
}

// appendTuple prints ipver proto saddr sport daddr dport, as far as the bytes
// of the outermost IP header are there.
func appendTuple(b []byte, m *packet.Meta) []byte {
	if m.Flags&(packet.HasTuple|packet.HasSaddr) == 0 {
		return append(b, "-\t-\t-\t-\t-\t-"...)
	}
	b = strconv.AppendUint(b, uint64(m.IPVer), 10)
	b = append(b, '\t')
	b = appendNumber(b, uint16(m.Proto), m.Has(packet.HasProto))
	b = append(b, '\t')
	b = appendAddr(b, m.Saddr, m.IPVer)
	b = append(b, '\t')
	b = appendNumber(b, m.Sport, m.Has(packet.HasPorts))
	b = append(b, '\t')
	if m.Has(packet.HasTuple) {
		b = appendAddr(b, m.Daddr, m.IPVer)
	} else {
		b = append(b, '-')
	}
	b = append(b, '\t')
	return appendNumber(b, m.Dport, m.Has(packet.HasPorts))
}

func appendNumber(b []byte, n uint16, known bool) []byte {
	if !known {
		return append(b, '-')
	}
	return strconv.AppendUint(b, uint64(n), 10)
}

// appendAddr prints the RFC 5952 form. A v4-mapped address in an IPv6 header
// stays an IPv6 address.
func appendAddr(b []byte, a flowtable.Addr, ipver uint8) []byte {
	n := a.Netip()
	if ipver == 6 && n.Is4() {
		n = netip.AddrFrom16(n.As16())
	}
	return n.AppendTo(b)
}
