package judge

import (
	"fmt"
	"strings"

	"edemux/dataplane/mib"
)

// notCompared are counters that one side cannot have.
var notCompared = map[mib.Counter]string{
	mib.TcpExtTW:               "our FIN is not seen: who closed first is not known",
	mib.TcpExtListenOverflows:  "there is no accept queue",
	mib.TcpExtListenDrops:      "counts what an accept queue refuses",
	mib.TcpExtOutOfWindowIcmps: "the send window is not seen",
}

// counters compares the changes of the MIB counters.
func counters(o *Outcome, v *Verdict) string {
	var b strings.Builder
	for c := range mib.NCounters {
		if _, skip := notCompared[c]; skip || o.MIB[c] == v.MIB[c] {
			continue
		}
		fmt.Fprintf(&b, " %s: kernel %+d, edemux %+d;", c, o.MIB[c], v.MIB[c])
	}
	if b.Len() == 0 {
		return ""
	}
	return "counters differ:" + strings.TrimSuffix(b.String(), ";")
}
