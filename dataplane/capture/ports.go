package capture

import (
	"math"
	"strconv"
)

// PortNames gives the frames of captures their ports. A port is the name given
// with the input, else port0, port1, ... by the input's place; the interfaces of
// a capture that has several go by if_name when that is a valid name, else by
// port0.0, port0.1, ... with their number in the section. A name is settled by
// the first frame of an interface and kept, whatever the capture brings later.
// Names, not interfaces, are ports: two inputs that name the same one share it.
type PortNames struct {
	names []string
	index map[string]uint16
	cache [][]uint32 // per input and interface: port + 1, 0 when not settled
}

// NewPortNames makes a table in which the known names have the ports 0, 1, ...;
// others follow in the order of their first frame.
func NewPortNames(known ...string) *PortNames {
	p := &PortNames{index: make(map[string]uint16, len(known))}
	for _, n := range known {
		p.Add(n)
	}
	return p
}

// Add gives the port of a name, a new one when the name is new. Past 65,535
// ports new names share the last.
func (p *PortNames) Add(name string) uint16 {
	if i, ok := p.index[name]; ok {
		return i
	}
	if len(p.names) > math.MaxUint16 {
		return math.MaxUint16
	}
	i := uint16(len(p.names))
	p.names = append(p.names, name)
	p.index[name] = i
	return i
}

// Len is the number of ports so far.
func (p *PortNames) Len() int { return len(p.names) }

// Name is the name of a port.
func (p *PortNames) Name(port uint16) string { return p.names[port] }

// Port is the port of the frame that r, the input with that number, returned
// last. It allocates at the first frame of an interface only.
func (p *PortNames) Port(input int, r *Reader) uint16 {
	if input < len(p.cache) {
		if c := p.cache[input]; r.iface < len(c) && c[r.iface] != 0 {
			return uint16(c[r.iface] - 1)
		}
	}
	return p.settle(input, r)
}

func (p *PortNames) settle(input int, r *Reader) uint16 {
	for len(p.cache) <= input {
		p.cache = append(p.cache, nil)
	}
	for len(p.cache[input]) <= r.iface {
		p.cache[input] = append(p.cache[input], 0)
	}
	port := p.Add(portName(input, r))
	p.cache[input][r.iface] = uint32(port) + 1
	return port
}

func portName(input int, r *Reader) string {
	if r.opts.Port != "" {
		return r.opts.Port
	}
	base := "port" + strconv.Itoa(input)
	if !r.several {
		return base
	}
	i := r.ifaces[r.iface]
	if ValidName(i.Name) {
		return i.Name
	}
	return base + "." + strconv.Itoa(i.ID)
}

// ValidName reports whether s can name a port, an interface or any other object
// of a configuration: [A-Za-z0-9_.-]{1,31}.
func ValidName(s string) bool {
	if len(s) == 0 || len(s) > 31 {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '.', c == '-':
		default:
			return false
		}
	}
	return true
}
