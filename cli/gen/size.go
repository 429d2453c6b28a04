package gen

import (
	"fmt"
	"strconv"
	"strings"
)

// sizes is a distribution of frame sizes: an Ethernet frame without tags and
// FCS, whatever the link type of the capture, so that the IP datagram has the
// size less 14 bytes on all of them.
type sizes struct {
	lo   int
	span uint64 // sizes lo .. lo+span-1, evenly
	imix bool
}

// imix is the simple Internet mix: 7 small, 4 middle, 1 large frame of 64, 594
// and 1518 bytes with FCS.
var imix = [12]int{60, 590, 60, 60, 590, 60, 1514, 60, 590, 60, 590, 60}

func parseSizes(s string) (sizes, error) {
	if s == "imix" {
		return sizes{imix: true}, nil
	}
	a, b, ok := strings.Cut(s, "-")
	if !ok {
		b = a
	}
	lo, err1 := strconv.Atoi(a)
	hi, err2 := strconv.Atoi(b)
	if err1 != nil || err2 != nil || lo < 60 || hi < lo || hi > maxFrame {
		return sizes{}, fmt.Errorf("gen: --size %q: want bytes from 60 to %d, a range such as 60-1514, or imix", s, maxFrame)
	}
	return sizes{lo: lo, span: uint64(hi-lo) + 1}, nil
}

// next draws a size.
func (s *sizes) next(r *random) int {
	switch {
	case s.imix:
		return imix[r.below(uint64(len(imix)))]
	case s.span == 1:
		return s.lo
	}
	return s.lo + int(r.below(s.span))
}
