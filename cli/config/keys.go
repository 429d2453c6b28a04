package config

import (
	"fmt"
	"strings"
)

// Key describes one key for the example, the reference page and the tests.
type Key struct {
	Path    string // vrfs[].sysctl.tcp_tw_reuse
	Type    string
	Default string // YAML text; "" when absent is a state of its own
	Doc     string
	Must    bool // has no default: the object makes no sense without it
	File    bool // names a file that must exist
	Sample  string
	Sub     []Key // keys of the object or of each element
	List    bool  // Sub describes the elements of a list
}

// Name is the last part of the path.
func (k Key) Name() string { return k.Path[strings.LastIndexByte(k.Path, '.')+1:] }

// spec is the table of the keys of one kind of object.
type spec[T any] struct {
	what      string // "port", as error messages call it
	keys      []key[T]
	elsewhere map[string]string // keys that people write here, and what to do instead
}

// key is one row: how it is described, how its default is set and how its
// value is read.
type key[T any] struct {
	name, typ, def, doc, sample string
	must, file, list            bool
	init                        func(o *T)
	set                         func(d *decoder, v *node, o *T)
	sub                         func(prefix string) []Key
}

// noder is any pointer to an object, which all embed Node.
type noder interface{ base() *Node }

type decoder struct {
	*list
	loose bool // something could not be read: references to it are not mistakes
}

func (d *decoder) fault(v *node, f *fault) {
	d.bad(v.Pos, f.what, f.instead)
	d.loose = true
}

// defaults gives every key of o its default.
func (s *spec[T]) defaults(o *T) {
	for i := range s.keys {
		if k := &s.keys[i]; k.init != nil {
			k.init(o)
		}
	}
}

// decode reads mapping v into o, which gets its defaults first.
func (s *spec[T]) decode(d *decoder, v *node, o *T) {
	s.defaults(o)
	n := any(o).(noder).base()
	n.pos = v.Pos
	if v.class != classMap {
		d.fault(v, wrongClass(v.class, "a mapping of "+s.what+" keys: "+s.names()))
		return
	}
	n.at = make(map[string]Pos, len(v.keys))
	seen := make(map[string]int, len(v.keys))
	before := len(d.all)
	for i, kn := range v.keys {
		name := kn.Text
		k := s.find(name)
		if k == nil {
			d.fault(kn, s.unknown(name))
			continue
		}
		if line, dup := seen[name]; dup {
			d.fault(kn, &fault{fmt.Sprintf("given twice (first in line %d)", line), "keep one"})
			continue
		}
		seen[name] = kn.Line
		c := v.vals[i]
		n.at[name] = c.Pos
		if c.class == classNull {
			d.fault(&node{Pos: kn.Pos}, &fault{"key without a value", "give it " + article(k.typ) + ", or remove the line"})
			continue
		}
		k.set(d, c, o)
	}
	if len(d.all) > before {
		return // a misspelt key is not missing as well
	}
	for i := range s.keys {
		if k := &s.keys[i]; k.must && seen[k.name] == 0 {
			d.fault(&node{Pos: objectPos(v)}, &fault{s.what + " without " + k.name, "add " + k.name + ": " + k.example()})
		}
	}
}

// objectPos is where an object begins, named by its first key.
func objectPos(v *node) Pos {
	p := v.Pos
	if len(v.keys) > 0 {
		p.Text = v.keys[0].Text
	}
	return p
}

func (s *spec[T]) find(name string) *key[T] {
	for i := range s.keys {
		if s.keys[i].name == name {
			return &s.keys[i]
		}
	}
	return nil
}

func (k *key[T]) example() string {
	if k.sample != "" {
		return k.sample
	}
	if k.def != "" {
		return k.def
	}
	return article(k.typ)
}

func (s *spec[T]) names() string {
	all := make([]string, len(s.keys))
	for i := range s.keys {
		all[i] = s.keys[i].name
	}
	return strings.Join(all, ", ")
}

func (s *spec[T]) unknown(name string) *fault {
	if hint, ok := s.elsewhere[name]; ok {
		return &fault{"not a key of " + s.what, hint}
	}
	what := "unknown key of " + s.what
	all := make([]string, len(s.keys))
	for i := range s.keys {
		all[i] = s.keys[i].name
	}
	if near := nearest(name, all); near != "" {
		return &fault{what, "write " + near}
	}
	return &fault{what, "the keys here are " + strings.Join(all, ", ")}
}

// list returns the description of the table for paths below prefix.
func (s *spec[T]) list(prefix string) []Key {
	out := make([]Key, 0, len(s.keys))
	for i := range s.keys {
		k := &s.keys[i]
		e := Key{Path: prefix + k.name, Type: k.typ, Default: k.def, Doc: k.doc,
			Must: k.must, File: k.file, Sample: k.sample, List: k.list}
		if k.sub != nil {
			below := e.Path + "."
			if k.list {
				below = e.Path + "[]."
			}
			e.Sub = k.sub(below)
		}
		out = append(out, e)
	}
	return out
}

// scalar is a key whose value is one scalar of kind c.
func scalar[T, V any](name string, c kind[V], def, doc string, field func(*T) *V) key[T] {
	k := key[T]{name: name, typ: c.typ, def: def, doc: doc}
	k.set = func(d *decoder, v *node, o *T) {
		x, f := c.parse(v)
		if f != nil {
			d.fault(v, f)
			return
		}
		*field(o) = x
	}
	if def != "" && def != "[]" {
		x, f := c.parse(defaultNode(def))
		if f != nil {
			panic("config: default of " + name + ": " + f.what)
		}
		k.init = func(o *T) { *field(o) = x }
	}
	return k
}

// defaultNode is the node that the text of a default in a table stands for.
func defaultNode(def string) *node {
	if q := strings.Trim(def, `"`); q != def {
		return &node{Pos: Pos{Text: q}, class: classString, quoted: true}
	}
	l := &list{}
	return parseYAML(l, []byte(def))
}

// scalars is a key whose value is a list of scalars of kind c.
func scalars[T, V any](name string, c kind[V], doc string, field func(*T) *[]V) key[T] {
	return key[T]{name: name, typ: "[" + c.typ + ", ...]", def: "[]", doc: doc,
		set: func(d *decoder, v *node, o *T) {
			if v.class != classList {
				d.fault(v, wrongClass(v.class, "a list, as ["+v.Text+"]"))
				return
			}
			for _, e := range v.vals {
				x, f := c.parse(e)
				if f != nil {
					d.fault(e, f)
					continue
				}
				*field(o) = append(*field(o), x)
			}
		}}
}

// object is a key whose value is a mapping with keys of its own.
func object[T, S any](name, doc string, s *spec[S], field func(*T) *S) key[T] {
	return key[T]{name: name, typ: "mapping", doc: doc,
		init: func(o *T) { s.defaults(field(o)) },
		set:  func(d *decoder, v *node, o *T) { s.decode(d, v, field(o)) },
		sub:  s.list,
	}
}

// optional is an object whose absence is a state of its own.
func optional[T, S any](name, doc string, s *spec[S], field func(*T) **S) key[T] {
	return key[T]{name: name, typ: "mapping", doc: doc,
		set: func(d *decoder, v *node, o *T) {
			x := new(S)
			s.decode(d, v, x)
			*field(o) = x
		},
		sub: s.list,
	}
}

// objects is a key whose value is a list of objects.
func objects[T, S any](name, doc string, s *spec[S], field func(*T) *[]S) key[T] {
	return key[T]{name: name, typ: "list of " + s.what + "s", def: "[]", doc: doc, list: true,
		set: func(d *decoder, v *node, o *T) {
			if v.class != classList {
				d.fault(v, wrongClass(v.class, "a list: each "+s.what+" begins with a dash, as - {...}"))
				return
			}
			out := make([]S, len(v.vals))
			for i, e := range v.vals {
				s.decode(d, e, &out[i])
			}
			*field(o) = out
		},
		sub: s.list,
	}
}

// Modifiers of rows.
func (k key[T]) needed(sample string) key[T]   { k.must, k.sample = true, sample; return k }
func (k key[T]) shown(sample string) key[T]    { k.sample = sample; return k }
func (k key[T]) fileName(sample string) key[T] { k.file, k.sample = true, sample; return k }
