package command

import (
	"fmt"
	"strconv"
	"strings"
)

// SysctlInfo describes one sysctl.
type SysctlInfo struct {
	Name     string
	Help     string
	Min, Max int64 // of numbers
	text     func(string) error
	Global   bool // one value for all VRFs: Linux has it per netns, edemux once
	ReadOnly bool
	SetOnly  bool // known to `replay --set` only: no sysctl in Linux
}

const maxInt32 = 1<<31 - 1

// Sysctls are all of them, in the order of the documentation.
var Sysctls = []SysctlInfo{
	{Name: "ip_early_demux", Max: 1, Help: "early demux at all, for both families; gates the next two"},
	{Name: "tcp_early_demux", Max: 1, Help: "early demux of TCP"},
	{Name: "udp_early_demux", Max: 1, Help: "early demux of UDP"},
	{Name: "ip_local_port_range", text: checkPortRange, Help: "ports that connect chooses from: \"LOW HIGH\""},
	{Name: "ip_local_reserved_ports", text: checkPortList, Help: "ports it leaves alone: 8080,9000-9010"},
	{Name: "tcp_tw_reuse", Max: 2, Help: "connect may take over TIME_WAIT: 0 no, 1 yes, 2 loopback only"},
	{Name: "tcp_migrate_req", Max: 1, Help: "a closing member's requests move to the rest of its group"},
	{Name: "tcp_max_syn_backlog", Max: maxInt32, Help: "most NEW_SYN_RECV per listener"},
	{Name: "tcp_max_tw_buckets", Max: maxInt32, Help: "most TIME_WAIT"},
	{Name: "tcp_midstream", Max: 1, Help: "1: a flow may begin without its SYN"},
	{Name: "tcp_idle_timeout", Max: maxInt32, Help: "seconds until an idle ESTABLISHED is forgotten, 0: never"},
	{Name: "tcp_l3mdev_accept", Max: 1, Global: true, Help: "unbound TCP sockets of default take packets of every VRF"},
	{Name: "udp_l3mdev_accept", Max: 1, Global: true, Help: "the same for UDP"},
	{Name: "tcp_ehash_entries", ReadOnly: true, Help: "buckets of the TCP table, negative when shared"},
	{Name: "udp_hash_entries", ReadOnly: true, Help: "buckets of the UDP table, negative when shared"},
	{Name: "early_demux_match", text: checkMatch, Global: true, SetOnly: true, Help: "linux: head of the UDP chain only; exact: any connected flow"},
}

// FindSysctl returns the description of a name, with or without the prefix
// `net.ipv4.` (or `net/ipv4/`) that sysctl(8) uses.
func FindSysctl(name string) (*SysctlInfo, error) {
	name = strings.TrimPrefix(strings.ReplaceAll(name, "/", "."), "net.ipv4.")
	all := make([]string, len(Sysctls))
	for i := range Sysctls {
		if Sysctls[i].Name == name {
			return &Sysctls[i], nil
		}
		all[i] = Sysctls[i].Name
	}
	if n := nearest(name, all); n != "" {
		return nil, fmt.Errorf("unknown sysctl %q: did you mean %s?", name, n)
	}
	return nil, fmt.Errorf("unknown sysctl %q", name)
}

// Check reports why value cannot be set, in words that say what could.
func (s *SysctlInfo) Check(value string) error {
	if s.ReadOnly {
		return fmt.Errorf("%s is read-only", s.Name)
	}
	if s.text != nil {
		if err := s.text(value); err != nil {
			return fmt.Errorf("%s %q: %w", s.Name, value, err)
		}
		return nil
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n < s.Min || n > s.Max {
		return fmt.Errorf("%s %q: want a number from %d to %d", s.Name, value, s.Min, s.Max)
	}
	return nil
}

func checkMatch(v string) error {
	if v != "linux" && v != "exact" {
		return fmt.Errorf("want linux or exact")
	}
	return nil
}

func port(s string) (uint16, bool) {
	n, err := strconv.ParseUint(s, 10, 16)
	return uint16(n), err == nil && s[0] != '+'
}

func checkPortRange(v string) error {
	f := strings.Fields(v)
	if len(f) != 2 {
		return fmt.Errorf("want two ports such as \"32768 60999\"")
	}
	lo, ok1 := port(f[0])
	hi, ok2 := port(f[1])
	if !ok1 || !ok2 || lo == 0 {
		return fmt.Errorf("want ports from 1 to 65535")
	}
	if hi < lo {
		return fmt.Errorf("the second port is below the first")
	}
	return nil
}

func checkPortList(v string) error {
	if v == "" {
		return nil
	}
	for item := range strings.SplitSeq(v, ",") {
		a, b, isRange := strings.Cut(item, "-")
		lo, ok := port(a)
		hi := lo
		if isRange {
			var ok2 bool
			hi, ok2 = port(b)
			ok = ok && ok2
		}
		if !ok || lo == 0 || hi < lo {
			return fmt.Errorf("%q: want ports and ranges such as 8080,9000-9010", item)
		}
	}
	return nil
}

// ParseSet reads the argument of `replay --set`: [VRF:]NAME=VALUE.
func ParseSet(arg string) (Sysctl, error) {
	name, value, ok := strings.Cut(arg, "=")
	if !ok {
		return Sysctl{}, fmt.Errorf("--set %q: want [VRF:]NAME=VALUE", arg)
	}
	vrf, n, ok := strings.Cut(name, ":")
	if !ok {
		vrf, n = "", name
	} else if !validName(vrf) {
		return Sysctl{}, fmt.Errorf("--set %q: %q is no VRF name", arg, vrf)
	}
	info, err := FindSysctl(n)
	if err == nil && vrf != "" && info.Global {
		err = fmt.Errorf("%s is one for all VRFs", info.Name)
	}
	if err == nil {
		err = info.Check(value)
	}
	if err != nil {
		return Sysctl{}, fmt.Errorf("--set %q: %w", arg, err)
	}
	return Sysctl{Name: info.Name, Value: value, Set: true, VRF: vrf}, nil
}

// validName is the rule for the names of VRFs, interfaces, pools and sockets.
func validName(s string) bool {
	if s == "" || len(s) > 31 {
		return false
	}
	for _, c := range []byte(s) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '.', c == '-':
		default:
			return false
		}
	}
	return true
}

// validMember is a name, or NAME/INDEX.
func validMember(s string) bool {
	name, index, ok := strings.Cut(s, "/")
	if ok {
		if _, err := strconv.ParseUint(index, 10, 31); err != nil || index[0] == '+' {
			return false
		}
	}
	return validName(name)
}
