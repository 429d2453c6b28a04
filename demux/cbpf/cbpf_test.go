package cbpf

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func prog(t testing.TB, text string) *Program {
	t.Helper()
	p, err := Assemble(text)
	require.NoError(t, err, text)
	return p
}

func sample() *Input {
	return &Input{
		Data: []byte{0, 0, 0, 7, 0xff, 0xee, 0xdd, 0xcc},
		Net:  []byte{0x45, 0, 0, 36, 1, 2, 3, 4, 64, 17, 0, 0, 10, 0, 0, 9, 10, 0, 0, 1},
		Link: []byte{2, 0, 0, 0, 0, 1},
		Len:  8, CPU: 3, RxHash: 0xdeadbeef, Ifindex: 5, Queue: 2, HaType: 1,
		VLANTCI: 10, VLANTPID: 0x8100, VLANAvail: true, EtherType: 0x800, PktType: 1,
	}
}

// runCases are programs with their results on sample().
var runCases = []struct {
	text string
	want uint32
}{
	{"ld [0]; mod #4; ret a", 3},
	{"ld [4]\nret a", 0xffeeddcc},
	{"ldh [4]; ret a", 0xffee},
	{"ldb [7]; ret a", 0xcc},
	{"ldb [3]; and #3; ret a", 3}, {"ldh [2]; div #2; ret a", 3}, {"ld [4]; rsh #28; ret a", 15},
	{"ldb [7]; mod #1; ret a", 0}, {"ld [4]; mod #0xffffffff; ret a", 0xffeeddcc}, {"ld len; mod #3; ret a", 2},
	{"ld rxhash; and #0xff; ret a", 0xef}, {"ld [5]; mod #3; ret a", 0}, {"ldh [0x7fffffff]; ret a", 0},
	{"ld [5]; ret a", 0}, // one byte short: the program ends with 0
	{"ld [8]; ret #9", 0},
	{"ld [0x7fffffff]; ret #9", 0},
	{"ldh [7]; ret #9", 0},
	{"ldb [8]; ret #9", 0},
	{"ldi #5; tax; ldb [x - 1]; ret a", 0xff},
	{"ldx #2; ldh [x + 2]; ret a", 0xffee},
	{"ldx #2; ld [%x+2]; ret %a", 0xffeeddcc},
	{"ldx #9; ldb [x + 0]; ret #1", 0},
	{"ld [-1048576]; ret a", 0x45000024}, // SKF_NET_OFF
	{"ldb [0xfff00009]; ret a", 17},
	{"ldb [-2097152]; ret a", 2}, // SKF_LL_OFF
	{"ld [-2097148]; ret #1", 0}, // beyond the link header
	{"ldx #-1048576; ldb [x + 9]; ret a", 17},
	{"ldxb 4*([0xfff00000]&0xf); txa; ret a", 20},
	{"ldx 4*([8]&0xf); ret #1", 0},
	{"ld #cpu; ret a", 3}, {"ld cpu; ret a", 3}, {"ldb #cpu; ret a", 3},
	{"ld rxhash; ret a", 0xdeadbeef},
	{"ld #len; ret a", 8}, {"ld pktlen; ret a", 8}, {"ldx #len; txa; ret a", 8},
	{"ld proto; ret a", 0x800}, {"ld type; ret a", 1}, {"ld ifidx; ret a", 5},
	{"ld queue; ret a", 2}, {"ld hatype; ret a", 1}, {"ld vlan_tci; ret a", 10},
	{"ld vlan_avail; ret a", 1}, {"ld vlan_pr; ret a", 1}, {"ld vlan_tpid; ret a", 0x8100},
	{"ldi 6; st M[3]; ldx M[3]; ldi 7; mul x; ret a", 42},
	{"ldi 6; tax; stx M[15]; ldi 0; ld M[15]; ret a", 6},
	{"ldi 10; sub #3; add #1; lsh #2; rsh #1; or #1; xor #3; and #0xfe; ret a", 18},
	{"ldi 1; neg; ret a", 0xffffffff},
	{"ldi 20; ldx #6; div x; ret a", 3}, {"ldi 20; ldx #6; mod x; ret a", 2},
	{"ldi 20; ldx #0; div x; ret #5", 0}, {"ldi 20; ldx #0; mod x; ret #5", 0},
	{"ldi 20; div #6; ret a", 3},
	{"ldi 3; ldx #33; lsh x; ret a", 6}, {"ldi 6; ldx #33; rsh x; ret a", 3},
	{"ldi 6; ldx #3; sub x; add x; and x; or x; xor x; ret a", 0},
	{"ldi 5; jeq #5, y, n; y: ret #1; n: ret #2", 1},
	{"ldi 5; jne #5, y; ret #1; y: ret #2", 1},
	{"ldi 5; jlt #6, y; ret #1; y: ret #2", 2},
	{"ldi 5; jle #5, y; ret #1; y: ret #2", 2},
	{"ldi 5; jgt #5, y, n; y: ret #1; n: ret #2", 2},
	{"ldi 5; jge #5, y; ret #1; y: ret #2", 2},
	{"ldi 5; jset #4, y; ret #1; y: ret #2", 2},
	{"ldi 5; ldx #5; jeq x, y; ret #1; y: ret #2", 2},
	{"ldi 5; ldx #5; jgt %x, y; ret #1; y: ret #2", 1},
	{"ldi 5; ldx #5; jge x, y; ret #1; y: ret #2", 2},
	{"ldi 5; ldx #8; jset x, y; ret #1; y: ret #2", 1},
	{"ja l; ret #1; l: ret #2", 2}, {"jmp l\nret #1\nl:\nret #2", 2},
	{"/* a\n comment */ ret #010 // octal", 8}, {"ret #0b11", 3}, {"ret #-1", 0xffffffff},
}

func TestRun(t *testing.T) {
	for _, c := range runCases {
		p := prog(t, c.text)
		require.Equal(t, c.want, p.Run(sample()), c.text)
		p.fast = quick{}
		require.Equal(t, c.want, p.Run(sample()), "interpreted: "+c.text)
	}
}

func TestRandIsSeeded(t *testing.T) {
	p := prog(t, "ld rand; ret a")
	a, b := Input{Rand: 7}, Input{Rand: 7}
	first := p.Run(&a)
	require.Equal(t, first, p.Run(&b))
	require.NotEqual(t, first, p.Run(&b))
}

func TestRefused(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "empty program"},
		{"ld [0]", "instruction 1: the last instruction does not return"},
		{"ld [0]; mod #0; ret a", "instruction 2: division by zero"},
		{"ldi 1; lsh #32; ret a", "instruction 2: shift by 32"},
		{"ld M[3]; ret a", "instruction 1: M[3] is read before it is written"},
		{"ldi 1; jeq #1, y; st M[0]; y: ld M[0]; ret a", "instruction 4: M[0] is read"},
		{"st M[16]; ret #0", "instruction 1: M[16]"},
		{"jeq #1, y; ret #0", "instruction 1: no label y"},
		{"y: ldi 1; jeq #1, y; ret #0", "instruction 2: label y lies behind"},
		{"ldi 1; ld #mark; ret a", "instruction 2: ld mark: packets carry no mark here"},
		{"ld nla; ret a", "instruction 1: ld nla: a packet has no netlink attributes"},
		{"ld poff; ret a", "instruction 1: ld poff: offset 0"},
		{"ret x", "instruction 1: ret x"},
		{"ldi 1; frob #2; ret a", `instruction 2: "frob" is not an instruction`},
		{"ld 4; ret a", "instruction 1: ld 4"},
		{"ld [0xfffffff0]; ret a", "instruction 1: ancillary load"},
		{"ld [0xfffff014]; ret a", "instruction 1: mark"},
		{"ret #5000000000", "instruction 1: ret #5000000000"},
		{"tax 1; ret a", "instruction 1: tax takes no operand"},
		{"a: a: ret a", "instruction 1: label a stands twice"},
		{"jeq #1; ret a", "instruction 1: jeq #1: one or two labels"},
		{"/* open", "comment without end"},
		{strings.Repeat("ldi 1;", MaxInstrs) + "ret a", "4097 instructions, at most 4096"},
		{"jeq #1, y;" + strings.Repeat("ldi 1;", 300) + "y: ret a", "instruction 1: label y is 300 instructions away"},
	} {
		_, err := Assemble(c.text)
		require.Error(t, err, c.text)
		require.Contains(t, err.Error(), c.want)
	}
}

func TestParse(t *testing.T) {
	p, err := Load("3\n32 0 0 0\n148 0 0 4\n22 0 0 0\n")
	require.NoError(t, err)
	require.Equal(t, uint32(3), p.Run(sample()))
	require.Equal(t, "3\n32 0 0 0\n148 0 0 4\n22 0 0 0\n", p.String())
	q, err := Load("3,32 0 0 0,148 0 0 4,22 0 0 0,")
	require.NoError(t, err)
	require.Equal(t, p.Instructions(), q.Instructions())
	require.Equal(t, p.Instructions(), prog(t, "ld [0]; mod #4; ret a").Instructions())
	for _, c := range []struct{ text, want string }{
		{"2\n6 0 0 0\n", "2 instructions announced, 1 given"},
		{"1\n6 0 0\n", "instruction 1: \"6 0 0\": four numbers"},
		{"1\n6 0 0 4294967296\n", "instruction 1: \"4294967296\" is not a number of 32 bits"},
		{"1\n65535 0 0 0\n", "instruction 1: code 0xffff is not an instruction"},
		{"2\n21 9 0 0\n6 0 0 0\n", "instruction 1: jump by 9 or 0 leaves the program"},
		{"2\n5 0 0 1\n6 0 0 0\n", "instruction 1: jump by 1 leaves"},
	} {
		_, err := Load(c.text)
		require.ErrorContains(t, err, c.want, c.text)
	}
}

func TestRunAllocatesNothing(t *testing.T) {
	in := sample()
	for _, text := range []string{"ld [0]; mod #4; ret a", "ldi 6; st M[3]; ldx M[3]; mul x; ret a", "ld rand; ret a"} {
		p := prog(t, text)
		require.Zero(t, testing.AllocsPerRun(100, func() { p.Run(in) }), text)
	}
}

// TestRemainder checks the reciprocal against the operator.
func TestRemainder(t *testing.T) {
	for _, k := range []uint32{1, 2, 3, 5, 7, 641, 65537, 1 << 31, 1<<31 + 1, 1<<32 - 1} {
		p, err := New([]Instr{{Code: 0x20}, {Code: 0x94, K: k}, {Code: 0x16}})
		require.NoError(t, err)
		for _, a := range []uint32{0, 1, k - 1, k, k + 1, 2*k - 1, 1<<32 - 1, 1<<32 - 2, 0x12345678} {
			in := Input{Data: []byte{byte(a >> 24), byte(a >> 16), byte(a >> 8), byte(a)}}
			require.Equal(t, a%k, p.Run(&in), "%d mod %d", a, k)
			require.Equal(t, a%k, run(p.code, &in, nil), "%d mod %d", a, k)
		}
	}
}

func BenchmarkRun(b *testing.B) {
	in := sample()
	for _, text := range []string{"ld [0]; mod #4; ret a", "ld #cpu; mod #4; ret a", "ldh [4]; and #7; ret a"} {
		p := prog(b, text)
		b.Run(text, func(b *testing.B) {
			var n uint32
			for b.Loop() {
				n += p.Run(in)
			}
			sink = n
		})
	}
}

var sink uint32
