package config

import (
	"fmt"
	"strings"
)

// Set applies one `--set [VRF:]NAME=VALUE`: a sysctl of a VRF (without VRF: of
// all), one that edemux has once (tcp_l3mdev_accept, udp_l3mdev_accept), or
// early_demux_match. NAME may carry the prefix net.ipv4. as sysctl(8) shows it.
func (c *Config) Set(arg string) error {
	head, value, ok := strings.Cut(arg, "=")
	if !ok {
		return setError(arg, "no value", "write [VRF:]NAME=VALUE")
	}
	vrf, name, scoped := strings.Cut(head, ":")
	if !scoped {
		vrf, name = "", head
	}
	name = strings.TrimPrefix(strings.TrimSpace(name), "net.ipv4.")
	value = strings.TrimSpace(value)
	if name == "early_demux_match" || globalSysctlSpec.find(name) != nil {
		if scoped {
			return setError(arg, name+" is not per VRF", "write "+name+"="+value)
		}
		if name == "early_demux_match" {
			return setKey(rootSpec.find(name), c, arg, value)
		}
		return setKey(globalSysctlSpec.find(name), &c.Sysctl, arg, value)
	}
	k := sysctlSpec.find(name)
	if k == nil {
		f := unknownSysctl(name)
		return setError(arg, f.what, f.instead)
	}
	done := false
	for i := range c.VRFs {
		v := &c.VRFs[i]
		if scoped && v.Name != vrf {
			continue
		}
		done = true
		if err := setKey(k, &v.Sysctl, arg, value); err != nil {
			return err
		}
	}
	if !done {
		names := make([]string, len(c.VRFs))
		for i := range c.VRFs {
			names[i] = c.VRFs[i].Name
		}
		return setError(arg, "no VRF "+shorten(vrf), "write one of "+joinShort(names))
	}
	return nil
}

func unknownSysctl(name string) *fault {
	if hint, ok := readOnly[name]; ok {
		return &fault{"read-only", hint}
	}
	all := []string{"early_demux_match"}
	for _, k := range globalSysctlSpec.keys {
		all = append(all, k.name)
	}
	for _, k := range sysctlSpec.keys {
		all = append(all, k.name)
	}
	if near := nearest(name, all); near != "" {
		return &fault{"no such sysctl", "write " + near}
	}
	return &fault{"no such sysctl", "there are " + strings.Join(all, ", ")}
}

// setKey reads value as the row k reads it in a file. The command line has no
// types, so a number is taken as one.
func setKey[T any](k *key[T], o *T, arg, value string) error {
	v := &node{Pos: Pos{Text: value}, class: classString}
	if value != "" && strings.Trim(value, "0123456789") == "" {
		v.class = classInt
	}
	d := &decoder{list: &list{}}
	k.set(d, v, o)
	if len(d.all) > 0 {
		return setError(arg, d.all[0].What, d.all[0].Instead)
	}
	return nil
}

func setError(arg, what, instead string) error {
	return fmt.Errorf("--set %s: %s: %s", shorten(arg), what, instead)
}
