package command

import "strings"

// lay puts the words of a line onto the arguments and flags of a spec; the
// first n words named it.
func lay(line string, toks []token, spec *Spec, n int) (*match, error) {
	m := newMatch(line, toks, spec)
	for i := n; i < len(toks); {
		used, err := m.take(toks[i:])
		if err != nil {
			return nil, err
		}
		i += used
	}
	m.closeRest()
	for i := m.next; i < len(spec.Args); i++ {
		if !spec.Args[i].Optional {
			return nil, m.missing(spec.Args[i])
		}
	}
	return m, nil
}

func newMatch(line string, toks []token, spec *Spec) *match {
	return &match{line: line, toks: toks, spec: spec, args: make([]token, len(spec.Args)), flags: map[string]token{}}
}

func (m *match) missing(a Arg) error {
	return fail(m.line, endOf(m.line), "%s: want %s (%s)", strings.Join(m.spec.Path, " "), a.Name, a.Help)
}

// take lays the first word, or a flag with its value, or `vrf NAME`, and
// returns the number of words it used.
func (m *match) take(toks []token) (int, error) {
	t := toks[0]
	if len(m.rest) == 0 && !t.quoted && strings.HasPrefix(t.text, "--") {
		return m.takeFlag(toks)
	}
	for ; m.next < len(m.spec.Args); m.next++ {
		a := &m.spec.Args[m.next]
		if a.Rest {
			m.rest = append(m.rest, t)
			return 1, nil
		}
		used, err := m.takeArg(a, toks)
		if err != nil || used > 0 {
			return used, err
		}
	}
	if m.doubt != nil {
		return 0, m.doubt
	}
	return 0, fail(m.line, t, "unexpected %q after %s", t.text, strings.Join(m.spec.Path, " "))
}

// takeArg lays words onto the argument m.next; 0 means that it is optional and
// the word belongs to a later one.
func (m *match) takeArg(a *Arg, toks []token) (int, error) {
	t, used := toks[0], 1
	switch {
	case a.Kind == KindWord:
		w, err := m.keyword(a, t)
		if err != nil || w == "" {
			return 0, err
		}
		t.text = w
	case a.Kind == KindNumber && a.Optional && !m.wantsHigh(t):
		return 0, nil
	case a.Kind == KindSysctl && t.text == "vrf" && !t.quoted && len(toks) > 1:
		return 0, nil
	case a.Kind == KindVRF && t.text == "vrf" && !t.quoted && len(toks) > 1:
		t, used = toks[1], 2
	case a.Kind == KindSocket && strings.HasPrefix(a.Name, "SOCKET|") && strings.HasPrefix(t.text, "{"):
		m.args[m.next] = t
		m.next++
		return 1, nil
	}
	if msg := check(a.Kind, t.text); msg != "" {
		return 0, fail(m.line, t, "%s %q: %s", a.Name, t.text, msg)
	}
	m.args[m.next] = t
	m.next++
	return used, nil
}

// keyword finds the word of an enumeration by unique prefix. For an optional
// one, a word that fits none belongs to the next argument; if it turns out that
// nothing wants it, the nearest keyword is suggested.
func (m *match) keyword(a *Arg, t token) (string, error) {
	list := make([]string, len(a.Words))
	for i, w := range a.Words {
		list[i] = w.Text
	}
	if t.quoted && a.Optional {
		return "", nil
	}
	w, err := oneOf(m.line, t, a.Name, list)
	if err == nil {
		return w, nil
	}
	if !a.Optional || strings.Contains(err.Error(), "could be") {
		return "", err
	}
	if n := nearest(t.text, list); n != "" && m.doubt == nil {
		m.doubt, _ = err.(*Error)
	}
	return "", nil
}

// wantsHigh: `sysctl ip_local_port_range=32768 60999` is the only command with
// an optional number, and only when the first word holds one port.
func (m *match) wantsHigh(t token) bool {
	name, value, ok := strings.Cut(m.args[0].text, "=")
	if _, isPort := port(value); !ok || value == "" || !isPort {
		return false
	}
	_, isPort := port(t.text)
	return isPort && strings.HasSuffix(name, "ip_local_port_range")
}

func (m *match) takeFlag(toks []token) (int, error) {
	t := toks[0]
	name, value, hasValue := strings.Cut(t.text[2:], "=")
	if name == "json" && !hasValue {
		m.flags["json"] = t
		return 1, nil
	}
	f := m.spec.flag(name)
	if f == nil {
		all := []string{"json"}
		for _, f := range m.spec.Flags {
			all = append(all, f.Name)
		}
		return 0, fail(m.line, t, "unknown option --%s: want --%s", name, strings.Join(all, ", --"))
	}
	if _, twice := m.flags[name]; twice {
		return 0, fail(m.line, t, "--%s twice", name)
	}
	used := 1
	if hasValue {
		t.text = value
	} else {
		if len(toks) == 1 {
			return 0, fail(m.line, t, "--%s: want %s", name, f.Value)
		}
		t, used = toks[1], 2
	}
	if msg := check(f.Kind, t.text); msg != "" {
		return 0, fail(m.line, t, "--%s %q: %s", name, t.text, msg)
	}
	m.flags[name] = t
	return used, nil
}

func (s *Spec) flag(name string) *Flag {
	for i := range s.Flags {
		if s.Flags[i].Name == name {
			return &s.Flags[i]
		}
	}
	return nil
}

// closeRest joins the words of a Rest argument. --json may close the line.
func (m *match) closeRest() {
	if n := len(m.rest); n > 0 && m.rest[n-1].text == "--json" && !m.rest[n-1].quoted {
		m.flags["json"] = m.rest[n-1]
		m.rest = m.rest[:n-1]
	}
	if len(m.rest) == 0 {
		return
	}
	text := make([]string, len(m.rest))
	for i, t := range m.rest {
		text[i] = t.text
	}
	m.args[m.next] = token{text: strings.Join(text, " "), pos: m.rest[0].pos, end: m.rest[len(m.rest)-1].end}
	m.next++
}
