package cbpf

// Parts of an instruction code: linux/bpf_common.h.
const (
	clsLD, clsLDX, clsST, clsSTX    = 0x00, 0x01, 0x02, 0x03
	clsALU, clsJMP, clsRET, clsMISC = 0x04, 0x05, 0x06, 0x07

	szW, szH, szB = 0x00, 0x08, 0x10

	modeIMM, modeABS, modeIND, modeMEM, modeLEN, modeMSH = 0x00, 0x20, 0x40, 0x60, 0x80, 0xa0

	aluAdd, aluSub, aluMul, aluDiv, aluOr  = 0x00, 0x10, 0x20, 0x30, 0x40
	aluAnd, aluLsh, aluRsh, aluNeg, aluMod = 0x50, 0x60, 0x70, 0x80, 0x90
	aluXor                                 = 0xa0

	jmpJA, jmpJEQ, jmpJGT, jmpJGE, jmpJSET = 0x00, 0x10, 0x20, 0x30, 0x40

	srcK, srcX, retA = 0x00, 0x08, 0x10
	miscTAX, miscTXA = 0x00, 0x80

	memWords = 16
)

// Ancillary loads, as offsets from adOff: linux/filter.h.
const (
	adProto     = 0
	adPktType   = 4
	adIfindex   = 8
	adNlattr    = 12
	adNlattrN   = 16
	adMark      = 20
	adQueue     = 24
	adHaType    = 28
	adRxHash    = 32
	adCPU       = 36
	adXorX      = 40
	adVLANTCI   = 44
	adVLANAvail = 48
	adPayOff    = 52
	adRandom    = 56
	adVLANTPID  = 60
)

// ancillary is a load of something other than packet bytes.
type ancillary struct {
	off    uint32 // from adOff
	op     kind   // how it runs; 0 = refused
	refuse string // why
}

// ancillaries by their bpf_asm name.
var ancillaries = map[string]ancillary{
	"proto":      {adProto, opProto, ""},
	"type":       {adPktType, opPktType, ""},
	"ifidx":      {adIfindex, opIfindex, ""},
	"nla":        {adNlattr, 0, "a packet has no netlink attributes"},
	"nlan":       {adNlattrN, 0, "a packet has no netlink attributes"},
	"mark":       {adMark, 0, "packets carry no mark here"},
	"queue":      {adQueue, opQueue, ""},
	"hatype":     {adHaType, opHaType, ""},
	"rxhash":     {adRxHash, opRxHash, ""},
	"cpu":        {adCPU, opCPU, ""},
	"vlan_tci":   {adVLANTCI, opVLANTCI, ""},
	"vlan_avail": {adVLANAvail, opVLANAvail, ""},
	"vlan_pr":    {adVLANAvail, opVLANAvail, ""},
	"poff":       {adPayOff, 0, "offset 0 is the payload already; the kernel's answer is not an offset here"},
	"rand":       {adRandom, opRand, ""},
	"vlan_tpid":  {adVLANTPID, opVLANTPID, ""},
}

// ancillaryAt finds an ancillary load by its offset.
func ancillaryAt(off uint32) (name string, a ancillary, ok bool) {
	if off == adXorX {
		return "xor x", ancillary{off, opXorX, ""}, true
	}
	for n, a := range ancillaries {
		if a.off == off && n != "vlan_pr" {
			return n, a, true
		}
	}
	return "", ancillary{}, false
}
