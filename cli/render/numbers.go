package render

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// short writes a rate or count in at most five columns: 999, 12.3k, 4.56M.
func short(n float64) string {
	for _, u := range []struct {
		unit string
		size float64
	}{{"", 1}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}} {
		x := n / u.size
		switch {
		case u.unit == "" && x < 999.5:
			return strconv.FormatFloat(x, 'f', 0, 64)
		case x < 9.995 && u.unit != "":
			return strconv.FormatFloat(x, 'f', 2, 64) + u.unit
		case x < 99.95 && u.unit != "":
			return strconv.FormatFloat(x, 'f', 1, 64) + u.unit
		case x < 999.5:
			return strconv.FormatFloat(x, 'f', 0, 64) + u.unit
		}
	}
	return strconv.FormatFloat(n, 'e', 0, 64)
}

// rate writes packets per second, exact to one.
func rate(n float64) string { return strconv.FormatFloat(n, 'f', 0, 64) }

// share writes part of whole in percent, "-" of nothing.
func share(part, whole uint64) string {
	if whole == 0 {
		return "-"
	}
	return percent(float64(part) / float64(whole))
}

// percent writes a share. What is neither none nor all never looks so.
func percent(x float64) string {
	switch {
	case x > 0 && x < 0.001:
		return "<0.1%"
	case x < 1 && x > 0.999:
		return ">99%"
	}
	return strconv.FormatFloat(100*x, 'f', 1, 64) + "%"
}

// span writes a time of ns nanoseconds in two to four digits: 812ns, 1.25ms.
func span(ns uint64) string {
	d := time.Duration(ns)
	switch {
	case d < time.Microsecond:
		return fmt.Sprintf("%dns", ns)
	case d < time.Millisecond:
		return decimal(float64(ns)/1e3) + "us"
	case d < time.Second:
		return decimal(float64(ns)/1e6) + "ms"
	}
	return decimal(float64(ns)/1e9) + "s"
}

func decimal(x float64) string {
	switch {
	case x < 9.995:
		return strconv.FormatFloat(x, 'f', 2, 64)
	case x < 99.95:
		return strconv.FormatFloat(x, 'f', 1, 64)
	}
	return strconv.FormatFloat(x, 'f', 0, 64)
}

func onOff(b bool) string {
	if b {
		return "on"
	}
	return "off"
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// orNone writes a CPU number, "-" for -1.
func orNone(n int) string {
	if n < 0 {
		return "-"
	}
	return strconv.Itoa(n)
}

// byCount writes the entries of m that are not 0, the largest first.
func byCount(m map[string]uint64) string {
	keys := slices.DeleteFunc(slices.Sorted(maps.Keys(m)), func(k string) bool { return m[k] == 0 })
	slices.SortStableFunc(keys, func(a, b string) int {
		switch {
		case m[a] > m[b]:
			return -1
		case m[a] < m[b]:
			return 1
		}
		return 0
	})
	for i, k := range keys {
		keys[i] = fmt.Sprintf("%s %d", k, m[k])
	}
	return strings.Join(keys, ", ")
}
