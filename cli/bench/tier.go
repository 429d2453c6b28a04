package bench

import (
	"fmt"
	"os"
	"strings"
)

// caches are the sizes, in bytes, of what one core has for itself (L2) and of
// the last level, as the system reports them. A virtual machine may share the
// last level with others.
type caches struct{ l2, llc uint64 }

// readCaches falls back to common sizes where the system says nothing.
func readCaches() caches {
	c := caches{1 << 20, 32 << 20}
	for i := range 8 {
		dir := fmt.Sprintf("/sys/devices/system/cpu/cpu0/cache/index%d/", i)
		var level int
		var size uint64
		var unit string
		if n, _ := fmt.Sscan(readLine(dir+"level"), &level); n != 1 || readLine(dir+"type") == "Instruction" {
			continue
		}
		if n, _ := fmt.Sscanf(readLine(dir+"size"), "%d%s", &size, &unit); n < 1 {
			continue
		}
		switch unit {
		case "K":
			size <<= 10
		case "M":
			size <<= 20
		}
		if level == 2 {
			c.l2 = size
		}
		if level >= 2 {
			c.llc = size
		}
	}
	return c
}

func readLine(name string) string {
	b, err := os.ReadFile(name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// tier names the nearest memory that holds so many bytes.
func (c caches) tier(bytes uint64) string {
	switch {
	case bytes <= c.l2:
		return "L2"
	case bytes <= c.llc:
		return "LLC"
	}
	return "DRAM"
}
