package control

func (s *State) Reload() (*Reloaded, error)            { return nil, nil }
func (s *State) Explain(b Explain) (*Explained, error) { return nil, nil }
