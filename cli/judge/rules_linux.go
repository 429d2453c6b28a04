package judge

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"
)

// ruleProgram carries out rules as a BPF sk_lookup program: rule i selects the
// socket in slot i of a map.
type ruleProgram struct {
	targets *ebpf.Map
	prog    *ebpf.Program
	link    link.Link
}

// maxRules keeps the program far below what the verifier takes.
const maxRules = 4096

func (p *ruleProgram) close() {
	if p == nil {
		return
	}
	if p.link != nil {
		p.link.Close()
	}
	p.prog.Close()
	p.targets.Close()
}

// SetRules replaces the lookup rules.
func (k *Kernel) SetRules(rules []Rule) error {
	k.lookups.close()
	k.lookups = nil
	if len(rules) == 0 {
		return nil
	}
	if len(rules) > maxRules {
		return fmt.Errorf("%d rules: the judge takes at most %d", len(rules), maxRules)
	}
	p := &ruleProgram{}
	k.lookups = p
	var err error
	p.targets, err = ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.SockMap, KeySize: 4, ValueSize: 8, MaxEntries: uint32(len(rules))})
	if err != nil {
		return fmt.Errorf("rules: BPF map: %w", err)
	}
	names := make([]string, len(rules))
	for i := range rules {
		names[i] = rules[i].Socket
	}
	if err := k.retarget(names); err != nil {
		return err
	}
	p.prog, err = ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.SkLookup, AttachType: ebpf.AttachSkLookup, License: "GPL",
		Instructions: k.ruleCode(rules)})
	if err != nil {
		return fmt.Errorf("rules: BPF program: %w", err)
	}
	p.link, err = link.AttachNetNs(int(k.host), p.prog)
	if err != nil {
		return fmt.Errorf("rules: attach: %w", err)
	}
	return nil
}

// retarget puts the sockets that rules lead to into their slots. Slots of
// closed sockets empty by themselves.
func (k *Kernel) retarget(names []string) error {
	if k.lookups == nil {
		return nil
	}
	for i, name := range names {
		s := k.socks[name]
		if s == nil {
			continue
		}
		if err := k.lookups.targets.Put(uint32(i), uint64(s.fd)); err != nil {
			return fmt.Errorf("rule %d: socket %s: %w", i+1, name, err)
		}
	}
	return nil
}

// Offsets in struct bpf_sk_lookup.
const (
	lookupFamily   = 8
	lookupProtocol = 12
	lookupLocal4   = 40
	lookupLocal6   = 44
	lookupPort     = 60 // host order
	lookupIfindex  = 64
)

// ruleCode is: for each rule, unless something does not match, assign the
// socket in its slot and pass. An empty slot, or a socket that cannot take the
// packet, leaves the normal lookup to go on.
func (k *Kernel) ruleCode(rules []Rule) asm.Instructions {
	code := asm.Instructions{asm.Mov.Reg(asm.R6, asm.R1)}
	label := "rule0"
	for i := range rules {
		next := fmt.Sprintf("rule%d", i+1)
		block := k.ruleMatch(&rules[i], next)
		block = append(block,
			asm.StoreImm(asm.R10, -4, int64(i), asm.Word),
			asm.LoadMapPtr(asm.R1, k.lookups.targets.FD()), asm.Mov.Reg(asm.R2, asm.R10), asm.Add.Imm(asm.R2, -4),
			asm.FnMapLookupElem.Call(), asm.JEq.Imm(asm.R0, 0, "pass"),
			asm.Mov.Reg(asm.R7, asm.R0), asm.Mov.Reg(asm.R1, asm.R6), asm.Mov.Reg(asm.R2, asm.R0), asm.Mov.Imm(asm.R3, 0),
			asm.FnSkAssign.Call(), asm.Mov.Reg(asm.R1, asm.R7), asm.FnSkRelease.Call(), asm.Ja.Label("pass"))
		block[0] = block[0].WithSymbol(label)
		code = append(code, block...)
		label = next
	}
	return append(code, asm.Mov.Reg(asm.R6, asm.R6).WithSymbol(label), asm.Mov.Imm(asm.R0, 1).WithSymbol("pass"), asm.Return())
}

// ruleMatch jumps to next unless the packet matches. R6 is the context.
func (k *Kernel) ruleMatch(r *Rule, next string) asm.Instructions {
	field := func(at int16) asm.Instruction { return asm.LoadMem(asm.R1, asm.R6, at, asm.Word) }
	code := asm.Instructions{field(lookupProtocol), asm.JNE.Imm(asm.R1, int32(r.Proto), next),
		field(lookupPort), asm.JLT.Imm(asm.R1, int32(r.Low), next), asm.JGT.Imm(asm.R1, int32(r.High), next)}
	if r.VRF != "" {
		code = append(code, field(lookupIfindex))
		for i := range k.net.VRFs {
			v := &k.net.VRFs[i]
			switch {
			case v.Name == r.VRF && i > 0:
				code = append(code, asm.JNE.Imm(asm.R1, int32(k.ifaces[v.Name].index), next))
			case i > 0 && r.VRF == k.net.VRFs[0].Name:
				code = append(code, asm.JEq.Imm(asm.R1, int32(k.ifaces[v.Name].index), next))
			}
		}
	}
	if r.Dst.IsValid() {
		code = append(code, prefixMatch(r.Dst, next)...)
	}
	return code
}

// prefixMatch compares the local address word by word.
func prefixMatch(p netip.Prefix, next string) asm.Instructions {
	family, at := int32(unix.AF_INET6), int16(lookupLocal6)
	if p.Addr().Is4() {
		family, at = unix.AF_INET, lookupLocal4
	}
	code := asm.Instructions{asm.LoadMem(asm.R1, asm.R6, lookupFamily, asm.Word), asm.JNE.Imm(asm.R1, family, next)}
	words := p.Masked().Addr().AsSlice()
	for bits := p.Bits(); bits > 0; bits -= 32 {
		word := binary.BigEndian.Uint32(words)
		mask := ^uint32(0)
		if bits < 32 {
			mask <<= 32 - bits
		}
		code = append(code, asm.LoadMem(asm.R1, asm.R6, at, asm.Word), asm.HostTo(asm.BE, asm.R1, asm.Word),
			asm.LoadImm(asm.R2, int64(mask), asm.DWord), asm.And.Reg(asm.R1, asm.R2),
			asm.LoadImm(asm.R2, int64(word), asm.DWord), asm.JNE.Reg(asm.R1, asm.R2, next))
		words, at = words[4:], at+4
	}
	return code
}
