package command

import (
	"sort"
	"strings"

	"edemux/dataplane/filter"
)

// Candidate is one thing that may stand at the end of a line.
type Candidate struct {
	Text string // the word; of a placeholder its name in the usage line
	Help string
	Kind Kind
	// Placeholder: Text only describes the word (a VRF's name, an address).
	Placeholder bool
}

// Next says what may come at the end of line, whose last word may be half
// written: start is the byte where that word begins. An empty list means that
// nothing may follow, or that the line is wrong before its last word.
func Next(line string, where Where) (start int, list []Candidate) {
	toks := lex(line)
	cut := 0
	for i, t := range toks {
		if t.text == "|" && t.end-t.pos == 1 {
			cut = i + 1
		}
	}
	piped := cut > 0
	toks = toks[cut:]
	last := token{pos: len(line), end: len(line)}
	if n := len(toks); n > 0 && (toks[n-1].end == len(line)) {
		last = toks[n-1]
		toks = toks[:n-1]
	}
	var all []Candidate
	switch {
	case piped:
		all = nextPipe(toks)
	default:
		if l := (&Line{}); where&InShell != 0 && len(toks) > 0 {
			rest, err := l.readWatch(line, toks)
			if err != nil {
				return last.pos, nil
			}
			toks = rest
		}
		all = nextWord(line, toks, last, where)
	}
	for _, c := range all {
		if c.Placeholder || strings.HasPrefix(c.Text, last.text) {
			list = append(list, c)
		}
	}
	return last.pos, list
}

func nextPipe(toks []token) []Candidate {
	switch {
	case len(toks) == 0:
		return []Candidate{{Text: "json", Help: "as JSON", Kind: KindWord}, {Text: "match", Help: "only lines that match", Kind: KindWord}}
	case len(toks) == 1 && strings.HasPrefix("match", toks[0].text):
		return []Candidate{{Text: "RE", Help: "a regular expression", Kind: KindText, Placeholder: true}}
	}
	return nil
}

// nextWord lists what may follow the complete words toks; last is the one that
// is being written.
func nextWord(line string, toks []token, last token, where Where) []Candidate {
	cand := specs(where)
	for i, t := range toks {
		if len(cand) == 1 && len(cand[0].Path) == i {
			break
		}
		w, err := oneOf(line, t, "", wordsAt(cand, i))
		if err != nil {
			return nil
		}
		cand = narrow(cand, i, w)
	}
	if len(cand) == 1 && len(cand[0].Path) <= len(toks) {
		return nextArg(line, toks, last, cand[0])
	}
	var out []Candidate
	for _, w := range wordsAt(cand, len(toks)) {
		out = append(out, Candidate{Text: w, Help: helpOf(cand, len(toks), w), Kind: KindCommand})
	}
	if len(toks) == 0 && where&InShell != 0 {
		out = append(out, Candidate{Text: "watch", Help: "repeat a command every N seconds", Kind: KindCommand})
	}
	return out
}

func helpOf(cand []*Spec, i int, w string) string {
	for _, s := range cand {
		if s.Path[i] == w && len(s.Path) == i+1 {
			return s.Help
		}
	}
	return groupHelp[w]
}

func nextArg(line string, toks []token, last token, spec *Spec) []Candidate {
	m := newMatch(line, toks, spec)
	for i := len(spec.Path); i < len(toks); {
		if f := pendingFlag(spec, toks[i:]); f != nil {
			return expand(Arg{Name: f.Value, Kind: f.Kind, Help: f.Help})
		}
		if n := len(spec.Args); i == len(toks)-1 && toks[i].text == "vrf" && n > 0 && spec.Args[n-1].Kind == KindVRF {
			return expand(spec.Args[n-1])
		}
		used, err := m.take(toks[i:])
		if err != nil {
			return nil
		}
		i += used
	}
	if strings.HasPrefix(last.text, "-") && !last.quoted {
		return nextFlag(m, last)
	}
	var out []Candidate
	for i := m.next; i < len(spec.Args); i++ {
		a := spec.Args[i]
		if a.Kind == KindNumber && !m.wantsHigh(token{text: "1"}) {
			continue
		}
		out = append(out, expand(a)...)
		if !a.Optional {
			return out
		}
		if a.Kind != KindWord { // takes any word, so that none is left for the next argument
			break
		}
	}
	if len(m.rest) == 0 {
		out = append(out, nextFlag(m, token{})...)
	}
	return out
}

// pendingFlag is the flag whose value the last word would be.
func pendingFlag(spec *Spec, toks []token) *Flag {
	if len(toks) != 1 || toks[0].quoted || !strings.HasPrefix(toks[0].text, "--") {
		return nil
	}
	return spec.flag(toks[0].text[2:])
}

// nextFlag lists the flags not given yet, or values for a half-written
// --NAME=VALUE.
func nextFlag(m *match, last token) (out []Candidate) {
	if name, _, ok := strings.Cut(strings.TrimPrefix(last.text, "--"), "="); ok {
		if f := m.spec.flag(name); f != nil {
			for _, c := range expand(Arg{Name: f.Value, Kind: f.Kind, Help: f.Help}) {
				if c.Text = "--" + name + "=" + c.Text; !c.Placeholder {
					out = append(out, c)
				}
			}
		}
		return out
	}
	for _, f := range m.spec.Flags {
		if _, used := m.flags[f.Name]; !used {
			out = append(out, Candidate{Text: "--" + f.Name, Help: f.Help, Kind: KindWord})
		}
	}
	if _, used := m.flags["json"]; !used && m.spec.Where&InCtl != 0 {
		out = append(out, Candidate{Text: "--json", Help: "as JSON", Kind: KindWord})
	}
	return out
}

// expand lists the words of an argument when they are fixed, else names it.
func expand(a Arg) (out []Candidate) {
	switch a.Kind {
	case KindWord:
		for _, w := range a.Words {
			out = append(out, Candidate{Text: w.Text, Help: w.Help, Kind: a.Kind})
		}
	case KindSysctl:
		for i := range Sysctls {
			if s := &Sysctls[i]; !s.SetOnly {
				out = append(out, Candidate{Text: s.Name, Help: s.Help, Kind: a.Kind})
			}
		}
	case KindFilter:
		out = append(out, Candidate{Text: a.Name, Help: a.Help, Kind: a.Kind, Placeholder: true})
		for _, w := range filter.Words() {
			out = append(out, Candidate{Text: w, Kind: a.Kind})
		}
	case KindCommand:
		for _, w := range wordsAt(specs(InCtl|InShell), 0) {
			out = append(out, Candidate{Text: w, Help: helpOf(specs(InCtl|InShell), 0, w), Kind: a.Kind})
		}
	default:
		out = append(out, Candidate{Text: a.Name, Help: a.Help, Kind: a.Kind, Placeholder: true})
	}
	return out
}

// Complete lists the words that may replace the last one of line, sorted;
// start is the byte where that word begins. objects returns the names of live
// objects of a kind; nil when there are none to ask.
func Complete(line string, where Where, objects func(Kind) []string) (start int, words []string) {
	start, list := Next(line, where)
	prefix := ""
	if toks := lex(line); len(toks) > 0 && start < len(line) {
		prefix = toks[len(toks)-1].text
	}
	seen := map[string]bool{}
	add := func(w string) {
		if strings.HasPrefix(w, prefix) && !seen[w] {
			seen[w] = true
			words = append(words, w)
		}
	}
	for _, c := range list {
		switch {
		case !c.Placeholder:
			add(c.Text)
		case c.Kind.Live() && objects != nil:
			for _, o := range objects(c.Kind) {
				add(o)
			}
		}
	}
	sort.Strings(words)
	return start, words
}
