package config

import (
	"encoding/hex"
	"fmt"
	"io/fs"
	"math"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"edemux/flowtable"
)

// secret is 32 hexadecimal digits.
var secret = asWritten("32 hex digits", func(s string) (*flowtable.Secret, *fault) {
	x, err := ParseSecret(s)
	if err != nil {
		return nil, &fault{err.Error(), "write 32 hex digits, as 000102030405060708090a0b0c0d0e0f"}
	}
	return &x, nil
})

// ParseSecret reads a hash secret, 32 hexadecimal digits (also for --secret).
func ParseSecret(s string) (x flowtable.Secret, err error) {
	b, err := hex.DecodeString(s)
	switch {
	case err != nil && len(strings.Trim(s, "0123456789abcdefABCDEF")) > 0:
		return x, fmt.Errorf("not hexadecimal")
	case len(s) != 2*len(x):
		return x, fmt.Errorf("%d hex digits, not %d", len(s), 2*len(x))
	}
	copy(x[:], b)
	return x, nil
}

// fileMode is an octal mode of the control socket.
var fileMode = asWritten("octal mode", func(s string) (fs.FileMode, *fault) {
	n, err := strconv.ParseUint(s, 8, 32)
	if err != nil || n > 0o777 || len(s) < 3 || len(s) > 4 {
		return 0, &fault{"not a file mode", `write three or four octal digits, as "0600"`}
	}
	return fs.FileMode(n), nil
})

// mac is a unicast Ethernet address, 02:00:00:00:00:01.
var mac = asWritten("MAC address", func(s string) (net.HardwareAddr, *fault) {
	const want = "write six hex bytes, as 02:00:00:00:00:01"
	h, err := net.ParseMAC(s)
	if err != nil || len(h) != 6 || len(s) != 17 {
		return nil, &fault{"not a MAC address", want}
	}
	switch {
	case h[0]&1 != 0:
		return nil, &fault{"a multicast MAC address", "write the address of the port (first byte even)"}
	case h[0]|h[1]|h[2]|h[3]|h[4]|h[5] == 0:
		return nil, &fault{"the zero MAC address", "write the address of the port or remove the key"}
	}
	return h, nil
})

// portNumber reads a decimal port number.
func portNumber(s string) (uint16, *fault) {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil && strings.Trim(s, "0123456789") != "" || s == "" || len(s) > 1 && s[0] == '0' {
		return 0, &fault{fmt.Sprintf("port %q is not a number", shorten(s)), "write a port from 0 to 65535"}
	}
	if err != nil || n > math.MaxUint16 {
		return 0, &fault{"port " + s + " is over 65535", "write a port from 0 to 65535"}
	}
	return uint16(n), nil
}

func parseRange(s string) (r PortRange, f *fault) {
	lo, hi, two := strings.Cut(s, "-")
	if r.Low, f = portNumber(lo); f != nil {
		return r, f
	}
	r.High = r.Low
	if two {
		if r.High, f = portNumber(hi); f != nil {
			return r, f
		}
	}
	if r.Low > r.High {
		return r, &fault{"range backwards", fmt.Sprintf("write %d-%d", r.High, r.Low)}
	}
	return r, nil
}

// portRange is PORT or LOW-HIGH.
var portRange = asWritten("PORT or LOW-HIGH", parseRange)

// reservedPorts is the syntax of ip_local_reserved_ports: 8080,9000-9010.
var reservedPorts = asWritten("ports, as 8080,9000-9010", func(s string) (out []PortRange, f *fault) {
	if s == "" {
		return nil, nil
	}
	for _, part := range strings.Split(s, ",") {
		r, f := parseRange(part)
		if f != nil {
			if part == "" || strings.ContainsAny(part, " \t") {
				f = &fault{"ports are separated by single commas", `write "8080,9000-9010"`}
			}
			return nil, f
		}
		if r.Low == 0 {
			return nil, &fault{"port 0 cannot be reserved", "write ports from 1 to 65535"}
		}
		out = append(out, r)
	}
	return out, nil
})

// localRange is the syntax of ip_local_port_range: two ports, the first not
// below ip_unprivileged_port_start (1024), as Linux requires.
var localRange = asWritten(`"LOW HIGH"`, func(s string) (r PortRange, f *fault) {
	const want = `write "LOW HIGH", as "32768 60999"`
	w := strings.Fields(s)
	if len(w) != 2 {
		return r, &fault{"not two ports", want}
	}
	for i, p := range []*uint16{&r.Low, &r.High} {
		if *p, f = portNumber(w[i]); f != nil {
			return r, &fault{f.what, want}
		}
	}
	switch {
	case r.Low > r.High:
		return r, &fault{"range backwards", fmt.Sprintf(`write "%d %d"`, r.High, r.Low)}
	case r.Low < 1024:
		return r, &fault{"Linux refuses a range that begins below 1024", `write "1024 ` + w[1] + `" or higher`}
	}
	return r, nil
})

// parseAddr reads an address: no zone, no prefix, no name.
func parseAddr(s string) (netip.Addr, *fault) {
	if strings.ContainsRune(s, '%') {
		return netip.Addr{}, &fault{"address with a zone", "write the address without %...; the device goes into dev"}
	}
	a, err := netip.ParseAddr(s)
	if err != nil {
		switch {
		case strings.ContainsRune(s, '/'):
			return a, &fault{"a prefix where an address belongs", "write the address without /..."}
		case strings.ContainsRune(s, '['):
			return a, &fault{"address in brackets", "write " + strings.Trim(s, "[]")}
		case s != "" && strings.Trim(s, "0123456789.:abcdefABCDEF") == "":
			return a, &fault{"not an IP address", "write an address, as 10.0.0.1 or 2001:db8::1"}
		}
		return a, &fault{"not an IP address", "write an address (names are not resolved), as 10.0.0.1 or 2001:db8::1"}
	}
	return a, nil
}

// address is an IP address of a host, or with multicast true of a group.
func address(typ string, ok func(a netip.Addr) *fault) kind[netip.Addr] {
	return asWritten(typ, func(s string) (netip.Addr, *fault) {
		a, f := parseAddr(s)
		if f == nil {
			f = ok(a)
		}
		return a, f
	})
}

// parsePrefix reads ADDR/LEN, or ADDR as the prefix of one host.
func parsePrefix(s string) (netip.Prefix, *fault) {
	head, tail, slash := strings.Cut(s, "/")
	a, f := parseAddr(head)
	if f != nil {
		return netip.Prefix{}, f
	}
	if a.Is4In6() {
		return netip.Prefix{}, &fault{"IPv4 address in IPv6 form", "write the IPv4 form, as " + a.Unmap().String()}
	}
	if !slash {
		return netip.PrefixFrom(a, a.BitLen()), nil
	}
	n, err := strconv.Atoi(tail)
	if err != nil || n < 0 || n > a.BitLen() || strconv.Itoa(n) != tail {
		return netip.Prefix{}, &fault{fmt.Sprintf("prefix length %q is not 0 to %d", shorten(tail), a.BitLen()), fmt.Sprintf("write %s/%d or shorter", a, a.BitLen())}
	}
	p := netip.PrefixFrom(a, n)
	if p.Masked() != p {
		return p, &fault{"prefix with host bits", "write " + p.Masked().String() + " for the network or " + a.String() + " for the host"}
	}
	return p, nil
}

var prefix = asWritten("address or prefix", parsePrefix)

// endpoint is ADDR:PORT, [V6]:PORT.
var endpoint = asWritten("ADDR:PORT", parseEndpoint)

func parseEndpoint(s string) (ap netip.AddrPort, f *fault) {
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		a, f := parseAddr(strings.Trim(s, "[]"))
		switch {
		case f == nil && a.Is4():
			return ap, &fault{"address without a port", "write " + s + ":PORT"}
		case f == nil:
			i := strings.LastIndexByte(s, ':')
			if _, f := portNumber(s[i+1:]); f == nil && !strings.HasPrefix(s, "[") && i > 1 {
				return ap, &fault{"IPv6 address without brackets", fmt.Sprintf(`write "[%s]:%s"`, strings.TrimSuffix(s[:i], ":")+ifDouble(s[:i]), s[i+1:])}
			}
			return ap, &fault{"address without a port", fmt.Sprintf(`write "[%s]:PORT"`, a)}
		case strings.Count(s, ":") > 1 && !strings.HasPrefix(s, "["):
			i := strings.LastIndexByte(s, ':')
			return ap, &fault{"IPv6 address without brackets", fmt.Sprintf(`write "[%s]:%s"`, shorten(s[:i]), shorten(s[i+1:]))}
		}
		return ap, &fault{"not an address with a port", `write ADDR:PORT, as 10.0.0.1:53 or "[2001:db8::1]:53"`}
	}
	if host == "" || host == "*" {
		return ap, &fault{"no address", fmt.Sprintf(`write "0.0.0.0:%s" for IPv4 or "[::]:%s" for both families`, shorten(port), shorten(port))}
	}
	a, f := parseAddr(host)
	if f != nil {
		return ap, f
	}
	n, f := portNumber(port)
	if f != nil {
		return ap, f
	}
	if a.Is6() && s[0] != '[' {
		return ap, &fault{"IPv6 address without brackets", fmt.Sprintf(`write "[%s]:%s"`, host, port)}
	}
	return netip.AddrPortFrom(a, n), nil
}

// ifDouble restores the second colon of a trailing `::`.
func ifDouble(s string) string {
	if strings.HasSuffix(s, ":") {
		return "::"
	}
	return ""
}

// metricsAddr is IP:PORT, or "" for none.
var metricsAddr = asWritten("ADDR:PORT", func(s string) (netip.AddrPort, *fault) {
	if s == "" {
		return netip.AddrPort{}, nil
	}
	return parseEndpoint(s)
})

// ParseSpeed reads max, real, Nx or Npps (also for --speed).
func ParseSpeed(s string) (Speed, error) {
	switch s {
	case "max":
		return Speed{}, nil
	case "real":
		return Speed{Kind: SpeedReal, N: 1}, nil
	}
	out, num := Speed{Kind: SpeedTimes}, strings.TrimSuffix(s, "x")
	if n, ok := strings.CutSuffix(s, "pps"); ok {
		out.Kind, num = SpeedPPS, n
	} else if num == s {
		return Speed{}, fmt.Errorf("not a speed")
	}
	if num == "" || strings.Trim(num, "0123456789.") != "" {
		return Speed{}, fmt.Errorf("not a speed")
	}
	n, err := strconv.ParseFloat(num, 64)
	if err != nil || n <= 0 || n > 1e12 {
		return Speed{}, fmt.Errorf("speed is not above 0 and at most 1e12")
	}
	out.N = n
	return out, nil
}

var speed = asWritten("max|real|Nx|Npps", func(s string) (Speed, *fault) {
	x, err := ParseSpeed(s)
	if err != nil {
		return x, &fault{err.Error(), "write max, real, 2x or 10000pps"}
	}
	return x, nil
})

// handler is a worker's handler.
var handler = kind[Handler]{"count|touch|pcap|echo|port:NAME", func(v *node) (Handler, *fault) {
	words := []string{"count", "touch", "pcap", "echo"}
	if v.class == classString {
		for i, w := range words {
			if v.Text == w {
				return Handler{Kind: HandlerKind(i)}, nil
			}
		}
		if p, ok := strings.CutPrefix(v.Text, "port:"); ok && validName(p) {
			return Handler{Kind: HandlerPort, Port: Ref{Pos: v.Pos, Name: p}}, nil
		}
		if near := nearest(v.Text, words); near != "" {
			return Handler{}, wrongText(v, near)
		}
	}
	return Handler{}, wrongText(v, "count, touch, pcap, echo or port:NAME")
}}
