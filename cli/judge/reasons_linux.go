package judge

import (
	"fmt"
	"strings"
	"sync"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"
)

// tracer counts why the kernel frees packets, by a program on the tracepoint
// kfree_skb, for the namespaces that asked for it. There is one per process:
// taking a program off a tracepoint waits for all CPUs.
type tracer struct {
	counts *ebpf.Map // inode of a namespace -> [maxReasons]uint64
	names  []string  // by enum skb_drop_reason; "" for values that are no reason
	prog   *ebpf.Program
	link   link.Link // held: the program is attached as long as it is
}

// reasonTrace is the tracer's account of one namespace.
type reasonTrace struct {
	*tracer
	inode uint32
	seen  []uint64
}

// maxReasons bounds the reasons; values of subsystems are far above.
const maxReasons = 256

// theTracer attaches the program at its first use; it stays while the process
// lives.
var theTracer = sync.OnceValues(func() (*tracer, error) {
	spec, err := btf.LoadKernelSpec()
	if err != nil {
		return nil, fmt.Errorf("kernel types: %w", err)
	}
	t := &tracer{}
	if t.names, err = reasonNames(spec); err != nil {
		return nil, err
	}
	t.counts, err = ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Hash, KeySize: 4, ValueSize: 8 * maxReasons, MaxEntries: 64})
	if err != nil {
		return nil, fmt.Errorf("BPF map: %w", err)
	}
	code, err := t.code(spec)
	if err != nil {
		return nil, err
	}
	t.prog, err = ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.RawTracepoint, License: "GPL", Instructions: code})
	if err != nil {
		return nil, fmt.Errorf("BPF program: %w", err)
	}
	t.link, err = link.AttachRawTracepoint(link.RawTracepointOptions{Name: "kfree_skb", Program: t.prog})
	if err != nil {
		return nil, fmt.Errorf("tracepoint kfree_skb: %w", err)
	}
	return t, nil
})

// traceReasons starts an account for a namespace.
func traceReasons(namespace int) (*reasonTrace, error) {
	t, err := theTracer()
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(namespace, &st); err != nil {
		return nil, fmt.Errorf("namespace: %w", err)
	}
	r := &reasonTrace{t, uint32(st.Ino), make([]uint64, maxReasons)}
	if err := t.counts.Put(r.inode, r.seen); err != nil {
		return nil, fmt.Errorf("BPF map: %w", err)
	}
	return r, nil
}

// code is: if the namespace of skb->dev has an account, count reason there.
func (t *tracer) code(spec *btf.Spec) (asm.Instructions, error) {
	path, err := offsets(spec, [][2]string{{"sk_buff", "dev"}, {"net_device", "nd_net"}, {"net", "ns"}, {"ns_common", "inum"}})
	if err != nil {
		return nil, err
	}
	read := func(size int32, offset uint32) asm.Instructions { // from R8, to R10-16
		return asm.Instructions{
			asm.Mov.Reg(asm.R1, asm.R10), asm.Add.Imm(asm.R1, -16), asm.Mov.Imm(asm.R2, size),
			asm.Mov.Reg(asm.R3, asm.R8), asm.Add.Imm(asm.R3, int32(offset)),
			asm.FnProbeReadKernel.Call(), asm.JNE.Imm(asm.R0, 0, "out"),
		}
	}
	pointer := asm.LoadMem(asm.R8, asm.R10, -16, asm.DWord)
	code := asm.Instructions{asm.Mov.Reg(asm.R6, asm.R1), asm.LoadMem(asm.R8, asm.R6, 0, asm.DWord)} // skb
	code = append(code, read(8, path[0])...)
	code = append(code, pointer, asm.JEq.Imm(asm.R8, 0, "out"))
	code = append(code, read(8, path[1])...)
	code = append(code, pointer)
	code = append(code, read(4, path[2]+path[3])...)
	return append(code,
		asm.LoadMapPtr(asm.R1, t.counts.FD()), asm.Mov.Reg(asm.R2, asm.R10), asm.Add.Imm(asm.R2, -16),
		asm.FnMapLookupElem.Call(), asm.JEq.Imm(asm.R0, 0, "out"),
		asm.LoadMem(asm.R1, asm.R6, 16, asm.DWord), // reason
		asm.JGE.Imm(asm.R1, maxReasons, "out"),
		asm.LSh.Imm(asm.R1, 3), asm.Add.Reg(asm.R0, asm.R1),
		asm.LoadMem(asm.R2, asm.R0, 0, asm.DWord), asm.Add.Imm(asm.R2, 1), asm.StoreMem(asm.R0, 0, asm.R2, asm.DWord),
		asm.Mov.Imm(asm.R0, 0).WithSymbol("out"), asm.Return(),
	), nil
}

// offsets finds members of kernel structures, bytes.
func offsets(spec *btf.Spec, members [][2]string) (all []uint32, err error) {
	for _, m := range members {
		var s *btf.Struct
		if err := spec.TypeByName(m[0], &s); err != nil {
			return nil, fmt.Errorf("kernel type %s: %w", m[0], err)
		}
		bits, ok := memberOffset(s.Members, m[1])
		if !ok {
			return nil, fmt.Errorf("kernel type %s has no member %s", m[0], m[1])
		}
		all = append(all, bits/8)
	}
	return all, nil
}

// memberOffset looks through anonymous structures and unions too.
func memberOffset(members []btf.Member, name string) (bits uint32, ok bool) {
	for _, m := range members {
		if m.Name == name {
			return uint32(m.Offset), true
		}
		if m.Name != "" {
			continue
		}
		var inner []btf.Member
		switch t := m.Type.(type) {
		case *btf.Struct:
			inner = t.Members
		case *btf.Union:
			inner = t.Members
		}
		if at, ok := memberOffset(inner, name); ok {
			return uint32(m.Offset) + at, true
		}
	}
	return 0, false
}

// reasonNames are the kernel's drop reasons as edemux spells them.
func reasonNames(spec *btf.Spec) ([]string, error) {
	var e *btf.Enum
	if err := spec.TypeByName("skb_drop_reason", &e); err != nil {
		return nil, fmt.Errorf("kernel type skb_drop_reason: %w", err)
	}
	names := make([]string, maxReasons)
	for _, v := range e.Values {
		if name, ok := strings.CutPrefix(v.Name, "SKB_DROP_REASON_"); ok && v.Value < maxReasons {
			names[v.Value] = name
		}
	}
	return names, nil
}

// read returns the reasons that were counted since the last call.
func (t *reasonTrace) read() (all []string, err error) {
	if t == nil {
		return nil, nil
	}
	now := make([]uint64, maxReasons)
	if err := t.counts.Lookup(t.inode, now); err != nil {
		return nil, fmt.Errorf("drop reasons: %w", err)
	}
	for i, n := range now {
		if n != t.seen[i] && t.names[i] != "" {
			all = append(all, t.names[i])
		}
	}
	t.seen = now
	return all, nil
}

func (t *reasonTrace) close() {
	if t != nil {
		_ = t.counts.Delete(t.inode)
	}
}
