package filter

import (
	"sort"

	"edemux/dataplane/mib"
)

// protocols are the names that `proto` takes and, those marked, words of their
// own. The numbers are IANA's.
var protocols = map[string]struct {
	num  uint16
	word bool
}{
	"icmp": {1, true}, "igmp": {2, true}, "ipip": {4, false}, "tcp": {6, true}, "udp": {17, true},
	"dccp": {33, true}, "ipv6": {41, false}, "gre": {47, false}, "esp": {50, true}, "ah": {51, true},
	"icmp6": {58, true}, "ipv6-icmp": {58, false}, "ospf": {89, false}, "pim": {103, true},
	"vrrp": {112, true}, "sctp": {132, true}, "udplite": {136, true},
}

// paths are the words of the decisions' path column.
var paths = []string{"early", "established", "rule", "listener", "mcast", "icmp"}

func verdicts() (out []string) {
	for v := range mib.NVerdicts {
		out = append(out, v.String())
	}
	return out
}

// reasons are the words of the reason column: of drops, then of punts.
func reasons() (out []string) {
	for r := mib.NotDropped + 1; r < mib.NReasons; r++ {
		out = append(out, r.String())
	}
	for w := mib.NotPunted + 1; w < mib.NPunts; w++ {
		out = append(out, w.String())
	}
	return out
}

// names maps the tests that take a word to what they look at.
var names = map[string]kind{
	"vrf": isVRF, "verdict": isVerdict, "reason": isReason, "path": isPath, "socket": isSocket, "worker": isWorker,
}

// Words are all words that may start a primitive, sorted, for completion.
func Words() []string {
	out := []string{"not", "ip", "ip6", "src", "dst", "host", "net", "port", "portrange", "proto", "frag", "vlan"}
	for w := range names {
		out = append(out, w)
	}
	for w, p := range protocols {
		if p.word {
			out = append(out, w)
		}
	}
	sort.Strings(out)
	return out
}

// nearest is the word of list within two edits of w and closest to it. A word
// that merely goes on after w wins: `prot` is rather `proto` than `port`.
func nearest(w string, list []string) string {
	best, at := "", min(2, len(w)/2)+1
	for _, l := range list {
		if len(w) > 2 && len(l)-len(w) == 1 && l[:len(w)] == w {
			return l
		}
		if d := distance(w, l); d < at {
			best, at = l, d
		}
	}
	return best
}

// distance counts insertions, deletions, replacements and exchanges of
// neighbours that turn a into b (optimal string alignment).
func distance(a, b string) int {
	if d := len(a) - len(b); d > 3 || d < -3 {
		return 4
	}
	prev2, prev := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := range len(a) {
		cur := make([]int, len(b)+1)
		cur[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			cur[j+1] = min(prev[j+1]+1, cur[j]+1, prev[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				cur[j+1] = min(cur[j+1], prev2[j-1]+1)
			}
		}
		prev2, prev = prev, cur
	}
	return prev[len(b)]
}
