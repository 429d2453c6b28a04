package control

func postExplain(s *State, r *request) (any, error) {
	var b Explain
	if err := r.body(&b); err != nil {
		return nil, err
	}
	return s.Explain(b)
}
