package config

import (
	"fmt"
	"io"
	"os"
)

// Load reads and checks the configuration in file. The error is an *Error.
func Load(file string) (*Config, error) {
	data, err := readAll(file)
	if err != nil {
		return nil, &Error{Problems: []Problem{{File: file, What: openReason(err)}}}
	}
	return Parse(file, data)
}

// readAll reads one byte more than allowed, so that Parse sees the excess.
func readAll(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, MaxSize+1))
}

// Parse checks the configuration in data; file is its name in errors and the
// base of relative file names. An empty file is valid: every key has its
// default. The error is an *Error with all problems found, misread keys and
// values before references that lead nowhere.
func Parse(file string, data []byte) (*Config, error) {
	l := &list{file: file}
	root := parseYAML(l, data)
	if err := l.err(); err != nil {
		return nil, err
	}
	c := &Config{File: file, list: l}
	d := &decoder{list: l}
	if root == nil || root.class == classNull {
		root = &node{Pos: Pos{Line: 1, Col: 1}, class: classMap}
	}
	rootSpec.decode(d, root, c)
	l.sortFrom(0)
	complete(c)
	check(c, d.loose)
	if err := l.err(); err != nil {
		return nil, err
	}
	c.Warnings = warn(c)
	return c, nil
}

// complete fills in what is derived: the default VRF, queue CPUs and the
// limits that follow from table sizes.
func complete(c *Config) {
	first := -1
	for i := range c.VRFs {
		if c.VRFs[i].Name == "default" {
			first = i
			break
		}
	}
	if first < 0 {
		v := VRF{}
		vrfSpec.defaults(&v)
		v.Name = "default"
		c.VRFs = append(c.VRFs, v)
		first = len(c.VRFs) - 1
	}
	v := c.VRFs[first]
	copy(c.VRFs[1:first+1], c.VRFs[:first])
	c.VRFs[0] = v
	if c.VRFs[0].Ehash == nil {
		e := &Ehash{}
		ehashSpec.defaults(e)
		c.VRFs[0].Ehash = e
	}
	for i := range c.VRFs {
		c.VRFs[i].derive(c.VRFs[0].Ehash)
	}
	for i := range c.Ports {
		p := &c.Ports[i]
		if !p.Has("cpus") || len(p.CPUs) == 0 {
			p.CPUs = nil
			for q := range p.Queues {
				p.CPUs = append(p.CPUs, q)
			}
		}
	}
}

// derive sets the limits that Linux derives from the size of the established
// table when a namespace is made (tcp_set_hashinfo); shared tables count with
// the size of the shared one.
func (v *VRF) derive(shared *Ehash) {
	e := v.Ehash
	if e == nil {
		e = shared
	}
	if !v.Sysctl.Has("tcp_max_syn_backlog") {
		v.Sysctl.TCPMaxSynBacklog = max(128, int(e.TCP/128))
	}
	if !v.Sysctl.Has("tcp_max_tw_buckets") {
		v.Sysctl.TCPMaxTwBuckets = int(e.TCP / 2)
	}
}

// Errorf returns an *Error at p, for mistakes that show only when the
// configuration is built.
func (c *Config) Errorf(p Pos, instead, format string, args ...any) error {
	l := &list{file: c.File, lines: c.list.lines}
	l.bad(p, fmt.Sprintf(format, args...), instead)
	return l.err()
}
