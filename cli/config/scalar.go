package config

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// fault is a mistake before it has a place.
type fault struct{ what, instead string }

// kind reads one sort of scalar. typ names it in the reference and in hints.
type kind[V any] struct {
	typ   string
	parse func(v *node) (V, *fault)
}

// wrongClass says that a value is of class c where want belongs.
func wrongClass(c class, want string) *fault {
	return &fault{c.String() + " in the wrong place", "write " + want}
}

type signed interface {
	~int | ~int32 | ~int64
}

type unsigned interface {
	~uint16 | ~uint32 | ~uint64
}

// decimal reads a plain decimal number; YAML's other spellings (0x10, 1_000,
// 0600) are refused, since they do not read as what they mean.
func decimal(v *node, want string) (int64, *fault) {
	if v.class == classList || v.class == classMap {
		return 0, wrongClass(v.class, want)
	}
	s := v.Text
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || strconv.FormatInt(n, 10) != s {
		if err != nil && len(s) > 18 && strings.Trim(s, "0123456789") == "" {
			return 0, &fault{"number out of range", "write " + want}
		}
		if plain := strings.ReplaceAll(s, "_", ""); plain != s && v.class == classInt {
			return 0, &fault{"number with underscores", "write " + plain}
		}
		if v.class == classInt || v.class == classFloat {
			return 0, &fault{"not a plain decimal number", "write " + want}
		}
		return 0, &fault{"not a number", "write " + want}
	}
	if v.quoted {
		return 0, &fault{"text where a number belongs", "write " + s + " without quotes"}
	}
	return n, nil
}

func ranged(v *node, lo, hi int64) (int64, *fault) {
	want := fmt.Sprintf("a number from %d to %d", lo, hi)
	n, f := decimal(v, want)
	if f != nil {
		return 0, f
	}
	if n < lo || n > hi {
		return 0, &fault{"out of range", "write " + want}
	}
	return n, nil
}

// integer is a decimal number from lo to hi.
func integer[V signed](lo, hi int64) kind[V] {
	return kind[V]{fmt.Sprintf("number %d..%d", lo, hi), func(v *node) (V, *fault) {
		n, f := ranged(v, lo, hi)
		return V(n), f
	}}
}

// natural is integer for unsigned fields.
func natural[V unsigned](lo, hi int64) kind[V] {
	return kind[V]{fmt.Sprintf("number %d..%d", lo, hi), func(v *node) (V, *fault) {
		n, f := ranged(v, lo, hi)
		return V(n), f
	}}
}

// power is a power of two from lo to hi. It is not rounded: what the reports
// show is what the file says.
func power[V signed | unsigned](lo, hi int64) kind[V] {
	return kind[V]{fmt.Sprintf("power of two %d..%d", lo, hi), func(v *node) (V, *fault) {
		n, f := ranged(v, lo, hi)
		if f != nil {
			return 0, f
		}
		if n&(n-1) != 0 {
			low := int64(1) << (bits.Len64(uint64(n)) - 1)
			return 0, &fault{"not a power of two", fmt.Sprintf("write %d or %d", low, min(low*2, hi))}
		}
		return V(n), nil
	}}
}

// boolean is true or false and nothing else.
var boolean = kind[bool]{"true|false", func(v *node) (bool, *fault) {
	if v.class == classBool && !v.quoted {
		return strings.EqualFold(v.Text, "true"), nil
	}
	switch strings.ToLower(v.Text) {
	case "yes", "on", "y", "1", "true":
		return false, &fault{"not true or false", "write true"}
	case "no", "off", "n", "0", "false":
		return false, &fault{"not true or false", "write false"}
	}
	return false, wrongText(v, "true or false")
}}

// bit is a sysctl switch, 0 or 1 as in /proc/sys.
var bit = kind[bool]{"0|1", func(v *node) (bool, *fault) {
	switch {
	case v.class == classInt && v.Text == "0":
		return false, nil
	case v.class == classInt && v.Text == "1":
		return true, nil
	}
	switch strings.ToLower(v.Text) {
	case "yes", "on", "true", "1":
		return false, &fault{"a switch is 0 or 1", "write 1"}
	case "no", "off", "false", "0":
		return false, &fault{"a switch is 0 or 1", "write 0"}
	}
	return false, wrongText(v, "0 or 1")
}}

// wrongText is the fault of a value that is none of the allowed words.
func wrongText(v *node, want string) *fault {
	if v.class == classList || v.class == classMap {
		return wrongClass(v.class, want)
	}
	return &fault{"not allowed here", "write " + want}
}

// word is one of the given words; the value is its index.
func word[V ~uint8](words ...string) kind[V] {
	return kind[V]{strings.Join(words, "|"), func(v *node) (V, *fault) {
		for i, w := range words {
			if v.class == classString && v.Text == w {
				return V(i), nil
			}
		}
		want := strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
		if near := nearest(v.Text, words); near != "" && v.class == classString {
			want = near
		}
		return 0, wrongText(v, want)
	}}
}

// mapped converts the values of a kind.
func mapped[A, B any](k kind[A], f func(A) B) kind[B] {
	return kind[B]{k.typ, func(v *node) (B, *fault) {
		a, bad := k.parse(v)
		return f(a), bad
	}}
}

// str is text that YAML, too, reads as text: a bare 42 or true in its place is
// more often a slip than a name.
func str(typ string, check func(s string) *fault) kind[string] {
	return kind[string]{typ, func(v *node) (string, *fault) {
		if f := textOnly(v, typ); f != nil {
			return "", f
		}
		if f := check(v.Text); f != nil {
			return "", f
		}
		return v.Text, nil
	}}
}

func textOnly(v *node, typ string) *fault {
	switch v.class {
	case classString:
		return nil
	case classList, classMap:
		return wrongClass(v.class, article(typ))
	}
	return &fault{v.class.String() + " where " + article(typ) + " belongs", fmt.Sprintf("write %q in quotes if it is meant", v.Text)}
}

// asWritten is text taken as written, whatever YAML makes of it.
func asWritten[V any](typ string, parse func(s string) (V, *fault)) kind[V] {
	return kind[V]{typ, func(v *node) (V, *fault) {
		var zero V
		if v.class == classList || v.class == classMap {
			return zero, wrongClass(v.class, article(typ))
		}
		return parse(v.Text)
	}}
}

// line is text on one line, not empty: file names, device strings.
func line(typ string, maxLen int) kind[string] {
	return str(typ, func(s string) *fault {
		switch {
		case strings.TrimSpace(s) == "":
			return &fault{"empty", "write " + article(typ) + " or remove the key"}
		case len(s) > maxLen:
			return &fault{"too long", fmt.Sprintf("write at most %d bytes", maxLen)}
		case strings.ContainsAny(s, "\n\r\x00"):
			return &fault{"more than one line", "write " + article(typ) + " on one line"}
		}
		return nil
	})
}

// validName reports whether s may name an object.
func validName(s string) bool {
	if len(s) == 0 || len(s) > 31 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		ok := c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c == '_' || c == '.' || c == '-'
		if !ok {
			return false
		}
	}
	return true
}

const nameRule = "write 1 to 31 of A-Z a-z 0-9 _ . -"

// name is the name that an object gets.
var name = str("name", func(s string) *fault {
	if !validName(s) {
		return &fault{"not a name", nameRule}
	}
	return nil
})

// ref is the name of another object.
func ref(typ string) kind[Ref] {
	return kind[Ref]{typ, func(v *node) (Ref, *fault) {
		if f := textOnly(v, typ); f != nil {
			return Ref{}, f
		}
		if !validName(v.Text) {
			return Ref{}, &fault{"not a name", nameRule}
		}
		return Ref{Pos: v.Pos, Name: v.Text}, nil
	}}
}

// splitMember splits NAME/INDEX. ok is false when s has not that form.
func splitMember(s string) (head string, index int, ok bool) {
	head, tail, found := strings.Cut(s, "/")
	n, err := strconv.Atoi(tail)
	if !found || !validName(head) || err != nil || n < 0 || strconv.Itoa(n) != tail {
		return "", 0, false
	}
	return head, n, true
}

// workerRef is POOL/INDEX.
var workerRef = kind[WorkerRef]{"POOL/INDEX", func(v *node) (WorkerRef, *fault) {
	if f := textOnly(v, "POOL/INDEX"); f != nil {
		return WorkerRef{}, f
	}
	pool, i, ok := splitMember(v.Text)
	if !ok {
		if validName(v.Text) {
			return WorkerRef{}, &fault{"a pool where one worker belongs", "write " + v.Text + "/0, or workers: " + v.Text + " for one socket per worker"}
		}
		return WorkerRef{}, &fault{"not a worker", "write POOL/INDEX, as web/0"}
	}
	return WorkerRef{Ref: Ref{Pos: v.Pos, Name: v.Text}, Pool: pool, Index: i}, nil
}}

// socketRef is a socket, a member NAME/INDEX or a group.
var socketRef = kind[Ref]{"socket or group", func(v *node) (Ref, *fault) {
	if f := textOnly(v, "socket or group"); f != nil {
		return Ref{}, f
	}
	if _, _, ok := splitMember(v.Text); !ok && !validName(v.Text) {
		return Ref{}, &fault{"not a socket name", "write NAME or NAME/INDEX"}
	}
	return Ref{Pos: v.Pos, Name: v.Text}, nil
}}
