package filter

import (
	"strings"

	"edemux/flowtable"
)

// kind is what a test looks at.
type kind uint8

const (
	isFamily kind = iota // lo: 4 or 6
	isProto              // lo
	isNet                // addr under mask, family lo
	isPort               // lo..hi
	isFrag
	isTagged // at least one tag
	isVLAN   // the outermost tags
	isVRF
	isVerdict
	isReason
	isPath
	isSocket
	isWorker
)

var kindFields = [...]Fields{
	isFamily: FieldIP, isProto: FieldProto, isNet: FieldIP, isPort: FieldPort, isFrag: FieldFrag,
	isTagged: FieldVLAN, isVLAN: FieldVLAN, isVRF: FieldVRF, isVerdict: FieldVerdict, isReason: FieldReason,
	isPath: FieldPath, isSocket: FieldSocket, isWorker: FieldWorker,
}

func (k kind) field() Fields { return kindFields[k] }

// dir says which side of a packet a test looks at.
type dir uint8

const (
	either dir = iota
	src
	dst
)

// test is one primitive of the language.
type test struct {
	kind       kind
	dir        dir
	tags       uint8 // isVLAN: number of tags compared
	lo, hi     uint16
	vlans      uint64 // isVLAN: as Subject.VLANs
	addr, mask flowtable.Addr
	name       string
}

// holds reports whether the test matches s. A missing field never does.
func (t *test) holds(s *Subject) bool {
	switch t.kind {
	case isFamily:
		return s.IPVer == uint8(t.lo)
	case isProto:
		return s.HasProto && s.Proto == uint8(t.lo)
	case isNet:
		return s.IPVer == uint8(t.lo) &&
			(t.dir != dst && t.contains(s.Saddr) || t.dir != src && t.contains(s.Daddr))
	case isPort:
		return s.HasPorts &&
			(t.dir != dst && s.Sport >= t.lo && s.Sport <= t.hi || t.dir != src && s.Dport >= t.lo && s.Dport <= t.hi)
	case isFrag:
		return s.Fragment
	case isTagged:
		return s.NVLAN > 0
	case isVLAN:
		return s.NVLAN >= t.tags && (s.VLANs^t.vlans)<<(64-16*t.tags) == 0
	}
	return t.holdsName(s)
}

func (t *test) holdsName(s *Subject) bool {
	switch t.kind {
	case isVRF:
		return s.VRF == t.name
	case isVerdict:
		return s.Verdict == t.name
	case isReason:
		return s.Reason == t.name
	case isPath:
		return s.Path == t.name
	case isSocket:
		return member(s.Socket, t.name)
	case isWorker:
		return member(s.Worker, t.name)
	}
	return false
}

func (t *test) contains(a flowtable.Addr) bool {
	return (a.Hi^t.addr.Hi)&t.mask.Hi == 0 && (a.Lo^t.addr.Lo)&t.mask.Lo == 0
}

// member reports whether full is name, or a numbered one of it: `web` stands
// for web/0, web/1, ...
func member(full, name string) bool {
	return strings.HasPrefix(full, name) && (len(full) == len(name) || full[len(name)] == '/')
}
