// Package packettest builds frames: for tests, and for the captures that
// `edemux gen` makes.
//
// Job: layers in the order of the wire, each with the lengths, next-protocol
// fields and checksums that the following layers ask for; any byte of any
// header can be set to something else before (Set) or after (Patch) the
// checksums are made, so every malformed packet is a well-formed one and a
// change.
//
// The same calls give the same bytes. A Builder is used by one goroutine;
// slices it returns are the caller's. Misuse, such as UDP without an IP layer,
// is a bug of the caller and panics.
package packettest

import (
	"encoding/binary"
	"net/netip"

	"edemux/dataplane/packet"
)

// MAC is an Ethernet address.
type MAC [6]byte

// Addresses that Eth users often need: locally administered, and broadcast.
var (
	MAC1      = MAC{2, 0, 0, 0, 0, 1}
	MAC2      = MAC{2, 0, 0, 0, 0, 2}
	Broadcast = MAC{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
)

// kind tells the layers apart.
type kind uint8

const (
	kLink kind = iota // a finished link-layer header
	kTag
	kIPv4
	kIPv6
	kExt
	kFrag
	kUDP
	kTCP
	kICMP
	kPorts // SCTP, DCCP, UDP-Lite
	kData
)

// layer is one header, or the payload.
type layer struct {
	kind     kind
	proto    uint8 // of transport and extension headers: their protocol number
	typeAt   int   // kLink: offset of the EtherType field, -1 without
	src, dst netip.Addr
	head     []byte // the header with what is known when it is added
	sum      int    // offset of the checksum field, -1 without
	sumSet   bool   // the caller chose the checksum
	set      []change
	patch    []change
}

// change overwrites header bytes.
type change struct {
	at int
	b  []byte
}

// Builder collects layers.
type Builder struct {
	layers []layer
	link   uint16
	pad    int
	id     uint16
}

// New returns an empty Builder. Without a link layer the frame is LINKTYPE_RAW.
func New() *Builder { return &Builder{link: packet.LinkRaw} }

// Clone returns a copy that can be changed on its own.
func (b *Builder) Clone() *Builder {
	c := *b
	c.layers = append([]layer(nil), b.layers...)
	for i := range c.layers {
		l := &c.layers[i]
		l.set = append([]change(nil), l.set...)
		l.patch = append([]change(nil), l.patch...)
	}
	return &c
}

func (b *Builder) add(l layer) *Builder {
	b.layers = append(b.layers, l)
	return b
}

// last returns the layer that modifiers speak of.
func (b *Builder) last() *layer { return &b.layers[len(b.layers)-1] }

// Link overrides the link type of Frame; the bytes stay.
func (b *Builder) Link(t uint16) *Builder {
	b.link = t
	return b
}

// Pad adds zero bytes behind the packet until the frame has n bytes.
func (b *Builder) Pad(n int) *Builder {
	b.pad = n
	return b
}

// Set overwrites bytes of the last layer's header, before its checksum is made
// and after its lengths are.
func (b *Builder) Set(at int, v ...byte) *Builder {
	l := b.last()
	l.set = append(l.set, change{at, v})
	if l.sum >= 0 && at < l.sum+2 && at+len(v) > l.sum {
		l.sumSet = true
	}
	return b
}

// Set16 is Set for a 16-bit field.
func (b *Builder) Set16(at int, v uint16) *Builder { return b.Set(at, byte(v>>8), byte(v)) }

// Patch overwrites bytes of the last layer's header when all else is done.
func (b *Builder) Patch(at int, v ...byte) *Builder {
	l := b.last()
	l.patch = append(l.patch, change{at, v})
	return b
}

// BadSum makes the last layer's checksum wrong.
func (b *Builder) BadSum() *Builder {
	l := b.last()
	if l.sum < 0 {
		panic("packettest: this layer has no checksum")
	}
	l.patch = append(l.patch, change{l.sum, nil})
	return b
}

// NoSum makes the last layer's checksum 0: none, over IPv4.
func (b *Builder) NoSum() *Builder { return b.Set16(b.last().sum, 0) }

// Bytes returns the frame.
func (b *Builder) Bytes() []byte {
	d := b.build(0, nil)
	for len(d) < b.pad {
		d = append(d, 0)
	}
	return d
}

// Frame returns the frame as a port would hand it over.
func (b *Builder) Frame() packet.Frame {
	d := b.Bytes()
	return packet.Frame{Data: d, WireLen: uint32(len(d)), Link: b.link}
}

// Snap is Frame with only the first n bytes captured.
func (b *Builder) Snap(n int) packet.Frame {
	f := b.Frame()
	f.Data = f.Data[:min(n, len(f.Data))]
	return f
}

// build returns layers[from:] as bytes, with tail behind them.
func (b *Builder) build(from int, tail []byte) []byte {
	d := tail
	for i := len(b.layers) - 1; i >= from; i-- {
		d = b.layers[i].wrap(b.next(i), b.network(i), d)
	}
	return d
}

// next returns the layer behind i, nil at the end.
func (b *Builder) next(i int) *layer {
	if i+1 < len(b.layers) {
		return &b.layers[i+1]
	}
	return nil
}

// network returns the IP layer that i is in, for its pseudo header.
func (b *Builder) network(i int) *layer {
	for i--; i >= 0; i-- {
		if k := b.layers[i].kind; k == kIPv4 || k == kIPv6 {
			return &b.layers[i]
		}
	}
	return nil
}

// wrap puts the header of l in front of d.
func (l *layer) wrap(next, ip *layer, d []byte) []byte {
	h := append(make([]byte, 0, len(l.head)+len(d)), l.head...)
	l.finish(h, next, len(d))
	apply(h, l.set)
	h = append(h, d...)
	if l.sum >= 0 && !l.sumSet {
		l.checksum(h, ip)
	}
	for _, c := range l.patch {
		if c.b == nil {
			h[c.at] ^= 0xff
			h[c.at+1] ^= 0x5a
		}
		copy(h[c.at:], c.b)
	}
	return h
}

func apply(h []byte, cs []change) {
	for _, c := range cs {
		if c.at+len(c.b) > len(h) {
			panic("packettest: Set beyond the header")
		}
		copy(h[c.at:], c.b)
	}
}

// finish fills in what hangs on the layers behind: lengths and next protocol.
// n is the number of bytes behind h.
func (l *layer) finish(h []byte, next *layer, n int) {
	be := binary.BigEndian
	switch l.kind {
	case kLink:
		if l.typeAt >= 0 && next != nil && be.Uint16(h[l.typeAt:]) == 0 {
			be.PutUint16(h[l.typeAt:], next.etherType())
		}
	case kTag:
		if next != nil && be.Uint16(h[2:]) == 0 {
			be.PutUint16(h[2:], next.etherType())
		}
	case kIPv4:
		be.PutUint16(h[2:], uint16(len(h)+n))
		h[9] = next.protocol(h[9])
	case kIPv6:
		be.PutUint16(h[4:], uint16(n))
		h[6] = next.protocol(h[6])
	case kExt, kFrag:
		h[0] = next.protocol(h[0])
	case kUDP:
		be.PutUint16(h[4:], uint16(len(h)+n))
	}
}

// etherType is what the layer in front calls l.
func (l *layer) etherType() uint16 {
	switch l.kind {
	case kTag:
		return uint16(l.typeAt)
	case kIPv4:
		return packet.EtherIPv4
	case kIPv6:
		return packet.EtherIPv6
	}
	return 0
}

// protocol is l's protocol number; without l, or with bare data, was stays.
func (l *layer) protocol(was uint8) uint8 {
	if l == nil || l.kind == kData {
		return was
	}
	switch l.kind {
	case kIPv4:
		return 4
	case kIPv6:
		return 41
	}
	return l.proto
}

// checksum makes the checksum of the packet h, which begins with l's header.
func (l *layer) checksum(h []byte, ip *layer) {
	h[l.sum], h[l.sum+1] = 0, 0
	var acc uint64
	switch {
	case l.kind == kIPv4:
		h = h[:len(l.head)]
	case l.kind == kICMP && l.proto == packet.ProtoICMP:
	case ip == nil:
		panic("packettest: transport layer without IP layer")
	default:
		acc = pseudo(ip, l.proto, len(h))
	}
	c := packet.Fold(packet.Sum(acc, h))
	if c == 0 && l.kind == kUDP {
		c = 0xffff
	}
	binary.BigEndian.PutUint16(h[l.sum:], c)
}
