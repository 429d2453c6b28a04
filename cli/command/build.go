package command

import (
	"net/netip"
	"strconv"
	"strings"
	"time"

	"edemux/dataplane/filter"
)

// The build functions turn a match into a Command: arg i of the spec is
// m.args[i], absent when its end is 0.

func buildBind(m *match) (Command, error) {
	return Bind{Spec: m.args[0].text, Col: column(m.line, m.args[0].pos)}, nil
}

func buildClose(m *match) (Command, error) { return Close{m.args[0].text}, nil }

func buildConnect(m *match) (Command, error) {
	sock, to := m.args[0], m.args[1]
	if strings.HasPrefix(sock.text, "{") {
		if to.end != 0 {
			return nil, fail(m.line, to, "unexpected %q: the mapping says where to connect", to.text)
		}
		return Connect{Spec: sock.text, Col: column(m.line, sock.pos)}, nil
	}
	if to.end == 0 {
		return nil, m.missing(m.spec.Args[1])
	}
	c := Connect{Socket: sock.text, Faddr: netip.MustParseAddrPort(to.text)}
	if f, ok := m.flags["laddr"]; ok {
		c.Laddr = netip.MustParseAddr(f.text)
		if c.Laddr.Is4() != c.Faddr.Addr().Is4() {
			return nil, fail(m.line, f, "--laddr %s: not of the family of %s", c.Laddr, c.Faddr)
		}
	}
	return c, nil
}

func buildEarlyDemux(m *match) (Command, error) {
	c := EarlyDemux{Proto: m.args[0].text, VRF: m.args[2].text}
	if m.args[1].end != 0 {
		on := m.args[1].text == "on"
		c.On = &on
		if c.Proto == "" {
			c.Proto = "ip"
		}
	}
	return c, nil
}

func buildExplain(m *match) (Command, error) {
	c := Explain{
		Proto: m.args[0].text, Dev: m.flags["dev"].text,
		Src: netip.MustParseAddrPort(m.args[1].text), Dst: netip.MustParseAddrPort(m.args[2].text),
	}
	if c.Src.Addr().Is4() != c.Dst.Addr().Is4() {
		return nil, fail(m.line, m.args[2], "%s: not of the family of %s", c.Dst, c.Src)
	}
	return c, nil
}

func buildHelp(m *match) (Command, error) { return Help{m.args[0].text}, nil }

func buildRecorder(m *match) (Command, error) { return Recorder{m.flags["out"].text}, nil }

func buildCapture(m *match) (Command, error) {
	c := Capture{Out: m.flags["out"].text, Filter: m.args[0].text}
	c.Count = m.number("count")
	if f, ok := m.flags["duration"]; ok {
		c.Duration, _ = time.ParseDuration(f.text)
	}
	if c.Filter != "" {
		if _, err := filter.Compile(c.Filter, filter.DecisionFields); err != nil {
			return nil, m.inFilter(m.args[0], err)
		}
	}
	return c, nil
}

func buildShow(m *match) (Command, error) {
	c := Show{What: m.spec.Path[1], VRF: m.flags["vrf"].text, After: m.flags["after"].text, Limit: m.number("limit")}
	if len(m.args) > 0 {
		if m.spec.Args[0].Kind == KindVRF {
			c.VRF = m.args[0].text
		} else {
			c.Name = m.args[0].text
		}
	}
	if f, ok := m.flags["filter"]; ok {
		c.Filter = f.text
		if _, err := filter.Compile(f.text, filter.FlowFields); err != nil {
			return nil, m.inFilter(f, err)
		}
	}
	return c, nil
}

func buildSysctl(m *match) (Command, error) {
	c := Sysctl{VRF: m.args[2].text}
	t := m.args[0]
	if t.end == 0 {
		return c, nil
	}
	name, value, set := strings.Cut(t.text, "=")
	info, err := FindSysctl(name)
	if err == nil && info.SetOnly {
		return nil, fail(m.line, t, "%s is no sysctl: it is set in the configuration or by replay --set", info.Name)
	}
	if err != nil {
		return nil, fail(m.line, t, "%v", err)
	}
	if m.args[1].end != 0 {
		value += " " + m.args[1].text
	}
	if info.Global && c.VRF != "" {
		return nil, fail(m.line, m.args[2], "%s is one for all VRFs", info.Name)
	}
	c.Name, c.Value, c.Set = info.Name, value, set
	if set {
		if err := info.Check(value); err != nil {
			return nil, fail(m.line, t, "%v", err)
		}
	}
	return c, nil
}

// number is the value of a KindNumber flag, which parsing has checked; 0 when absent.
func (m *match) number(flag string) int {
	n, _ := strconv.Atoi(m.flags[flag].text)
	return n
}
