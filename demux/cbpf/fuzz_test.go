package cbpf

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/bpf"
)

// instrsFrom reads eight bytes per instruction.
func instrsFrom(b []byte) []Instr {
	var code []Instr
	for ; len(b) >= 8 && len(code) < 64; b = b[8:] {
		code = append(code, Instr{binary.LittleEndian.Uint16(b), b[2], b[3], binary.LittleEndian.Uint32(b[4:])})
	}
	return code
}

// sameAsVM runs a program here and in the VM of x/net where that one takes it.
// Where the VM differs from the kernel by design the program is left out:
// shifts by 32 and more, and areas before the packet that the VM does not know.
func sameAsVM(t *testing.T, code []Instr, data []byte) {
	p, err := New(code)
	if err != nil {
		return
	}
	raw := make([]bpf.RawInstruction, len(code))
	for i, in := range code {
		if in.Code&7 == clsALU && in.Code&srcX != 0 && (in.Code&0xf0 == aluLsh || in.Code&0xf0 == aluRsh) {
			p.Run(&Input{Data: data, Len: uint32(len(data))})
			return
		}
		if in.Code == clsLDX|modeLEN {
			return // x/net reads it as a load into A
		}
		raw[i] = bpf.RawInstruction{Op: in.Code, Jt: in.Jt, Jf: in.Jf, K: in.K}
	}
	got := p.Run(&Input{Data: data, Len: uint32(len(data))})
	p.fast = quick{}
	require.Equal(t, got, p.Run(&Input{Data: data, Len: uint32(len(data))}), "straight-line form of %v", code)
	ins, all := bpf.Disassemble(raw)
	if !all {
		return
	}
	for _, i := range ins {
		switch i := i.(type) {
		case bpf.LoadExtension:
			if i.Num != bpf.ExtLen {
				return
			}
		case bpf.LoadIndirect:
			return // wraps around in the kernel, not in the VM
		case bpf.LoadMemShift:
			if i.Off >= 1<<31 {
				return
			}
		}
	}
	vm, err := bpf.NewVM(ins)
	if err != nil {
		return
	}
	want, err := vm.Run(data)
	if err != nil {
		return
	}
	require.Equal(t, uint32(want), got, "%v on %x", ins, data)
}

func FuzzRun(f *testing.F) {
	f.Add([]byte{32, 0, 0, 0, 0, 0, 0, 0, 148, 0, 0, 0, 4, 0, 0, 0, 22, 0, 0, 0, 0, 0, 0, 0}, []byte{0, 0, 0, 7})
	f.Fuzz(func(t *testing.T, prog, data []byte) { sameAsVM(t, instrsFrom(prog), data) })
}

func FuzzLoad(f *testing.F) {
	f.Add("ld [0]; mod #4; ret a")
	f.Add("l: jeq #0x1, l, m\nm: ldx 4*([14]&0xf)\nld [x + 2]\nst M[3]\nret #1")
	f.Add("1\n6 0 0 0")
	f.Fuzz(func(t *testing.T, text string) {
		if p, err := Load(text); err == nil {
			q, err := Load(p.String())
			require.NoError(t, err)
			require.Equal(t, p.Instructions(), q.Instructions())
			p.Run(&Input{Data: []byte(text)})
		}
	})
}

// TestRandomPrograms runs programs of valid instructions, which fuzzing from
// bytes seldom meets.
func TestRandomPrograms(t *testing.T) {
	const seed = 20260601
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	codes := []uint16{0x20, 0x28, 0x30, 0x00, 0x80, 0x60, 0x01, 0x81, 0x61, 0xb1, 0x02, 0x03,
		0x04, 0x14, 0x24, 0x34, 0x44, 0x54, 0x64, 0x74, 0x84, 0x94, 0xa4, 0x0c, 0x1c, 0x2c, 0x3c, 0x4c, 0x5c, 0x9c, 0xac,
		0x05, 0x15, 0x25, 0x35, 0x45, 0x1d, 0x2d, 0x3d, 0x4d, 0x07, 0x87}
	ran := 0
	for range 200000 {
		n := 1 + r.IntN(12)
		code := make([]Instr, n, n+1)
		for i := range code {
			c := codes[r.IntN(len(codes))]
			code[i] = Instr{Code: c, K: uint32(r.IntN(12))}
			if c&7 == clsJMP {
				code[i].Jt, code[i].Jf, code[i].K = uint8(r.IntN(n-i)), uint8(r.IntN(n-i)), uint32(r.IntN(n-i))
			} else if c&0xf0 != aluLsh && c&0xf0 != aluRsh && r.IntN(4) == 0 && c&7 == clsALU {
				code[i].K = r.Uint32()
			}
		}
		code = append(code, Instr{Code: clsRET | retA})
		data := make([]byte, r.IntN(16))
		for i := range data {
			data[i] = byte(r.Uint32())
		}
		if check(code) == nil {
			ran++
		}
		sameAsVM(t, code, data)
	}
	require.Greater(t, ran, 20000)
}
