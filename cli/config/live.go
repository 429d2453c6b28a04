package config

import (
	"fmt"
	"slices"

	"edemux/demux"
)

// Open opens one more socket, described by a YAML mapping as an entry of
// `sockets`, in a builder that Build filled and that last published v. A `steer`
// governs the group that the socket belongs to then. What is refused leaves the
// configuration as it was; its places count in text.
func (c *Config) Open(b *demux.Builder, v *demux.View, text string) error {
	l := &list{file: "socket"}
	root := parseYAML(l, []byte(text))
	if err := l.err(); err != nil {
		return err
	}
	if root == nil || root.class != classMap {
		return fmt.Errorf("socket: want a mapping such as {name: b, proto: udp, bind: \"10.0.0.1:53\", worker: dns/0}")
	}
	d := &decoder{list: l}
	var s Socket
	socketSpec.decode(d, root, &s)
	l.sortFrom(0)
	with := *c
	with.list, with.Sockets = l, append(slices.Clip(c.Sockets), s)
	with.Rules = nil // they may name sockets that were closed since
	check(&with, d.loose)
	if err := l.err(); err != nil {
		return err
	}
	k := newBuilder(&with, b)
	for _, j := range s.Join {
		if i := v.IfaceByName(j.Dev.Name); i != nil {
			k.ifindex[j.Dev.Name] = i.Index
		}
	}
	opened := &with.Sockets[len(with.Sockets)-1]
	if err := k.socket(opened); err != nil {
		return err
	}
	if s.Steer != nil {
		id := k.first(opened)
		if err := k.steerGroup(opened, id, b.GroupMembers(id)); err != nil {
			b.Close(id)
			return err
		}
	}
	c.Sockets = with.Sockets
	return nil
}

// Forget removes a socket that was closed, so that its name may be used again.
func (c *Config) Forget(name string) {
	c.Sockets = slices.DeleteFunc(slices.Clone(c.Sockets), func(s Socket) bool { return s.Name == name })
}
