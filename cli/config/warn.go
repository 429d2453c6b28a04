package config

import "fmt"

// warn lists what is legal but surely not meant.
func warn(c *Config) []Problem {
	l := &list{file: c.File, lines: c.list.lines}
	used := map[string]bool{}
	for i := range c.Sockets {
		s := &c.Sockets[i]
		used[s.Workers.Name], used[s.Worker.Pool] = true, true
	}
	for i := range c.Workers {
		if p := &c.Workers[i]; !used[p.Name] && c.Flows.UDP == "" {
			l.bad(p.At("name"), "no socket belongs to this pool", "remove it or name it in worker or workers")
		}
	}
	for i := range c.Rules {
		warnRule(l, c, i)
	}
	for i := range c.Sockets {
		warnSocket(l, c, &c.Sockets[i])
	}
	l.sortFrom(0)
	return l.all
}

// covers reports whether every packet that b matches is matched by a.
func covers(a, b *Rule) bool {
	if a.Proto != b.Proto || a.Ports.Low > b.Ports.Low || a.Ports.High < b.Ports.High {
		return false
	}
	if a.VRF.Name != "" && a.VRF.Name != b.VRF.Name {
		return false
	}
	if !a.Dst.IsValid() {
		return true
	}
	return b.Dst.IsValid() && a.Dst.Bits() <= b.Dst.Bits() && a.Dst.Contains(b.Dst.Addr())
}

// maxPairs bounds the comparison of rules with each other.
const maxPairs = 2000

func warnRule(l *list, c *Config, i int) {
	if i >= maxPairs {
		return
	}
	for j := range i {
		if covers(&c.Rules[j], &c.Rules[i]) {
			p := c.Rules[i].pos
			p.Text = c.Rules[i].Socket.Name
			l.badf(p, "move it before the other, or remove it", "rule never matches: the one in line %d comes first", c.Rules[j].pos.Line)
			return
		}
	}
}

// warnSocket finds listeners whose packets a rule takes first, unless the rule
// gives them to that very socket.
func warnSocket(l *list, c *Config, s *Socket) {
	if s.Connect.IsValid() || !s.Bind.IsValid() {
		return
	}
	a := s.Bind.Addr()
	for i := range min(len(c.Rules), maxPairs) {
		r := &c.Rules[i]
		head, _, _ := splitMember(r.Socket.Name)
		if r.Proto != s.Proto || r.VRF.Name != "" || r.Ports.Low > s.Bind.Port() || r.Ports.High < s.Bind.Port() {
			continue
		}
		if r.Socket.Name == s.Name || head == s.Name {
			return
		}
		if r.Dst.IsValid() && (a.Unmap().IsUnspecified() || !r.Dst.Contains(a.Unmap())) {
			continue
		}
		if !ruleTarget(c, s) {
			l.bad(s.At("bind"), fmt.Sprintf("unreachable: the rule in line %d takes its packets", r.pos.Line), "remove the socket or narrow the rule")
		}
		return
	}
}

// ruleTarget reports whether some rule names s: then its own port is only the
// place where it was bound.
func ruleTarget(c *Config, s *Socket) bool {
	for i := range min(len(c.Rules), maxPairs) {
		head, _, _ := splitMember(c.Rules[i].Socket.Name)
		if c.Rules[i].Socket.Name == s.Name || head == s.Name {
			return true
		}
	}
	return false
}
