package config

import (
	"reflect"

	"edemux/demux"
)

// Live carries out parts of a configuration on a builder that is in use.
type Live struct{ k *builder }

// Live returns an editor of b. ifindex and vrf say what interfaces and VRFs are
// called in b; the caller may change them as it adds more.
func (c *Config) Live(b *demux.Builder, ifindex map[string]uint32, vrf map[string]uint16) *Live {
	k := newBuilder(c, b)
	k.ifindex, k.vrf = ifindex, vrf
	return &Live{k}
}

// Open opens the sockets of s that are not open: s itself, or the members that
// are missing.
func (l *Live) Open(s *Socket) error {
	k := *l.k
	k.missing = true
	return k.socket(s)
}

// Steer attaches what governs the groups, to all of them.
func (l *Live) Steer() error { return l.k.steer() }

// Unsteer lets the hash choose again in the group of s.
func (l *Live) Unsteer(s *Socket) error {
	k := l.k
	id := k.first(s)
	if s.Steer == nil || id == 0 {
		return nil
	}
	if s.Steer.Mode != "" {
		for _, m := range k.b.GroupMembers(id) {
			if err := k.b.SetIncomingCPU(m, s.IncomingCPU); err != nil {
				return k.refused(s, err)
			}
		}
		return nil
	}
	return k.b.Detach(id)
}

// Rules replaces the lookup rules.
func (l *Live) Rules() error {
	if len(l.k.Rules) == 0 {
		return l.k.b.SetRules(nil)
	}
	return l.k.rules()
}

// Routes replaces the routes of a VRF.
func (l *Live) Routes(v *VRF) error {
	all := make([]demux.Route, len(v.Routes))
	for j, r := range v.Routes {
		all[j] = demux.Route{To: r.To, Via: l.k.ifindex[r.Via.Name]}
	}
	if err := l.k.b.SetRoutes(l.k.vrf[v.Name], all); err != nil {
		return l.k.Errorf(v.At("routes"), "", "%v", err)
	}
	return nil
}

// Same reports whether two parts of configurations say the same, wherever they
// stand in their files.
func Same[T any](a, b T) bool { return same(reflect.ValueOf(a), reflect.ValueOf(b)) }

var (
	nodeType = reflect.TypeFor[Node]()
	posType  = reflect.TypeFor[Pos]()
)

func same(a, b reflect.Value) bool {
	switch a.Kind() {
	case reflect.Struct:
		if t := a.Type(); t == nodeType || t == posType {
			return true
		}
		if _, eq := a.Type().MethodByName("Unmap"); eq { // addresses compare as a whole
			return a.Equal(b)
		}
		for i := range a.NumField() {
			if !same(a.Field(i), b.Field(i)) {
				return false
			}
		}
		return true
	case reflect.Pointer:
		if a.IsNil() || b.IsNil() {
			return a.IsNil() == b.IsNil()
		}
		return same(a.Elem(), b.Elem())
	case reflect.Slice:
		if a.Len() != b.Len() {
			return false
		}
		for i := range a.Len() {
			if !same(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	}
	return a.Equal(b)
}
