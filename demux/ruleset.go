package demux

// ruleSet is the compiled form of the rules.
type ruleSet struct {
	rules []Rule
}

func compileRules(rules []Rule) *ruleSet { return &ruleSet{rules} }

// match returns the socket of the first rule that matches, 0 when none does.
func (r *ruleSet) match(q *Query) SockID {
	for i := range r.rules {
		u := &r.rules[i]
		if u.Proto == q.Proto && (u.AnyVRF || u.VRF == q.VRF) && u.Low <= q.Dport && q.Dport <= u.Top &&
			(!u.Dst.IsValid() || u.Dst.Contains(toNetip(q.Daddr))) &&
			(!u.Src.IsValid() || u.Src.Contains(toNetip(q.Saddr))) {
			return u.Socket
		}
	}
	return 0
}
