package packet

// ParseAny is Parse without its short cut for plain packets: the twin that the
// short cut is compared with.
func ParseAny(f *Frame, o *Options, m *Meta) { parseAny(f, o, m, false) }
