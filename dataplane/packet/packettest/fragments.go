package packettest

import "edemux/dataplane/packet"

// Fragments returns the frames of the datagram cut into parts of size bytes
// (rounded down to a multiple of eight), in order. An IPv4 datagram is cut
// behind its header; an IPv6 one at its fragment header, or, without one,
// behind the fixed header and the hop-by-hop and routing headers, where a
// fragment header with identification id is put.
func (b *Builder) Fragments(size int, id uint32) []packet.Frame {
	at := b.cut()
	body := b.build(at, nil)
	size = max(size&^7, 8)
	var out []packet.Frame
	for off := 0; off < len(body) || off == 0; off += size {
		part := body[off:min(off+size, len(body))]
		c := b.Clone()
		next := c.layers[at].protocol(packet.ProtoNoNext)
		c.layers = c.layers[:at]
		if c.last().kind != kIPv4 && c.last().kind != kFrag {
			c.FragHdr(id)
		}
		c.ID(id).Fragment(off, off+size < len(body)).Proto(next)
		out = append(out, c.Payload(part).Frame())
	}
	return out
}

// cut returns the index of the first layer of the fragmentable part.
func (b *Builder) cut() int {
	at := 0
	for i := range b.layers {
		switch l := &b.layers[i]; {
		case l.kind == kIPv4, l.kind == kIPv6, l.kind == kFrag:
			at = i + 1
		case l.kind == kExt && l.proto != packet.ProtoDstOpts && at == i:
			at = i + 1
		}
		if b.layers[i].kind == kFrag || at > 0 && at <= i {
			break
		}
	}
	if at == 0 || at >= len(b.layers) {
		panic("packettest: nothing to fragment")
	}
	return at
}
