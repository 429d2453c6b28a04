package replay

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"edemux/dataplane/mib"
)

// writeHuman prints what a person wants first: how much came in, what was
// taken as local, where it went, what early demux found, how even the workers
// are, and why packets were dropped.
func writeHuman(w io.Writer, s *Summary, assumed string) error {
	b := &strings.Builder{}
	fmt.Fprintf(b, "%s frames, %s bytes in %s (%s pps, %s engine)\n",
		count(s.Input.Frames), count(s.Input.Bytes), seconds(s.Elapsed), count(uint64(s.PPS)), s.Engine)
	fmt.Fprintf(b, "local side: %s\n\n", assumed)
	verdictRows(b, s)
	earlyRows(b, s)
	workerRows(b, s)
	dropRows(b, s)
	_, err := io.WriteString(w, b.String())
	return err
}

func verdictRows(b *strings.Builder, s *Summary) {
	for v := range mib.NVerdicts {
		n := s.Verdicts[v.String()]
		if n == 0 {
			continue
		}
		fmt.Fprintf(b, "  %-8s %12s  %5s", v, count(n), share(n, s.Input.Frames))
		switch v {
		case mib.Deliver:
			fmt.Fprintf(b, "  by path: %s", ranked(s.Paths))
		case mib.Egress:
			b.WriteString("  sent by this host")
		case mib.Punt:
			b.WriteString("  not TCP or UDP for a socket: ARP, ICMP, other protocols")
		case mib.Hold:
			b.WriteString("  fragments kept until their datagram was whole")
		case mib.Forward:
			b.WriteString("  routed elsewhere")
		}
		b.WriteByte('\n')
	}
	if s.Copies > 0 {
		fmt.Fprintf(b, "  and %s extra multicast copies\n", count(s.Copies))
	}
}

func earlyRows(b *strings.Builder, s *Summary) {
	b.WriteString("\nearly demux\n")
	for _, p := range []struct {
		name string
		EarlyProto
	}{{"tcp", s.EarlyDemux.TCP}, {"udp", s.EarlyDemux.UDP}} {
		fmt.Fprintf(b, "  %-4s %12s looked up, %s found (%s), %s routes saved\n",
			p.name, count(p.Tried), count(p.Hit), share(p.Hit, p.Tried), count(p.RouteSkipped))
	}
	if t := ranked(s.EarlyDemux.NotTried); t != "" {
		fmt.Fprintf(b, "  not looked up: %s\n", t)
	}
}

func workerRows(b *strings.Builder, s *Summary) {
	var total, most uint64
	names := make([]string, 0, len(s.Workers))
	for n, w := range s.Workers {
		names = append(names, n)
		total += w.Packets
		most = max(most, w.Packets)
	}
	if total == 0 {
		return
	}
	slices.SortFunc(names, naturalOrder)
	b.WriteString("\nworkers\n")
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	for _, n := range names {
		w := s.Workers[n]
		fmt.Fprintf(t, "  %s\t%s packets\t%s bytes\t%s\t%s\n", n, count(w.Packets), count(w.Bytes),
			share(w.Packets, total), strings.Repeat("#", int(30*w.Packets/max(most, 1))))
	}
	t.Flush()
}

func dropRows(b *strings.Builder, s *Summary) {
	if len(s.Drops) == 0 {
		return
	}
	b.WriteString("\ndrops\n")
	for r := mib.NotDropped + 1; r < mib.NReasons; r++ {
		if n := s.Drops[r.String()]; n > 0 {
			fmt.Fprintf(b, "  %-20s %12s  %s\n", r, count(n), r.Hint())
		}
	}
}

// ranked prints the counts that are not zero, largest first.
func ranked(m map[string]uint64) string {
	var keys []string
	for k, n := range m {
		if n > 0 {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(a, b string) int {
		if m[a] != m[b] {
			if m[a] > m[b] {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
	for i, k := range keys {
		keys[i] = fmt.Sprintf("%s %s", k, count(m[k]))
	}
	return strings.Join(keys, ", ")
}

// naturalOrder sorts web/2 before web/10.
func naturalOrder(a, b string) int {
	if len(a) != len(b) && strings.TrimRight(a, "0123456789") == strings.TrimRight(b, "0123456789") {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}

// count groups digits by three.
func count(n uint64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func share(n, of uint64) string {
	if of == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f%%", 100*float64(n)/float64(of))
}

func seconds(s float64) string {
	if s < 1 {
		return fmt.Sprintf("%.0f ms", s*1000)
	}
	return fmt.Sprintf("%.2f s", s)
}
