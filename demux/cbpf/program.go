package cbpf

// Instr is one instruction in the kernel's struct sock_filter.
type Instr struct {
	Code   uint16
	Jt, Jf uint8
	K      uint32
}

// Program is a checked and compiled program.
type Program struct {
	raw  []Instr
	code []op
}

// Instructions returns the program as the kernel would take it.
func (p *Program) Instructions() []Instr { return append([]Instr(nil), p.raw...) }
