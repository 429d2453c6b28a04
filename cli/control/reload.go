package control

func postReload(s *State, r *request) (any, error) {
	if _, err := r.query(); err != nil {
		return nil, err
	}
	return s.Reload()
}
