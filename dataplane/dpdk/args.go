package dpdk

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// owned are the EAL options that follow from our own configuration, with what to
// use instead.
var owned = map[string]string{
	"-l": "lcores", "-c": "lcores", "-s": "lcores", "-S": "lcores",
	"--lcores": "lcores", "--main-lcore": "lcores", "--master-lcore": "lcores",
	"--proc-type": "nothing: edemux is its own primary process",
}

// memoryOptions are those by which a user takes the choice of memory into their
// own hands.
var memoryOptions = []string{"--no-huge", "--in-memory", "--huge-dir", "--socket-mem", "--numa-mem", "--huge-unlink", "--legacy-mem", "--single-file-segments"}

var pciAddress = regexp.MustCompile(`^(pci:)?([0-9a-fA-F]{4}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]`)

// argList builds EAL's arguments from o, the CPUs this thread may use and the
// machine's hugepages, and says in one or two clauses how memory was chosen.
func argList(o *Options, allowed []int, huge HugePages) (args []string, memory string, err error) {
	for _, a := range o.Extra {
		name, _, _ := strings.Cut(a, "=")
		if instead, ok := owned[optionName(name)]; ok {
			return nil, "", fmt.Errorf("EAL argument %s: belongs to the configuration: use %s", a, instead)
		}
	}
	if has(o.Extra, "--in-memory") && has(o.Extra, "--no-huge") {
		return nil, "", fmt.Errorf("EAL argument --in-memory: DPDK refuses it with --no-huge: use --no-huge --no-shconf")
	}
	cpus, err := lcoreMap(o, allowed)
	if err != nil {
		return nil, "", err
	}
	args = []string{"edemux", "--lcores", cpus}
	mem, memory := memoryArgs(o, huge)
	args = append(args, mem...)
	if !has(o.Extra, "--file-prefix") {
		args = append(args, "--file-prefix", o.prefix())
	}
	if o.NoTelemetry && !has(o.Extra, "--no-telemetry") {
		args = append(args, "--no-telemetry")
	}
	return append(append(args, pciArgs(o)...), o.Extra...), memory, nil
}

// optionName strips what getopt lets stand glued to a short option (-l0-3).
func optionName(a string) string {
	if len(a) > 2 && a[0] == '-' && a[1] != '-' {
		return a[:2]
	}
	return a
}

// has reports whether the option stands among args, alone or as name=value.
func has(args []string, option string) bool {
	return slices.ContainsFunc(args, func(a string) bool {
		return optionName(a) == option || strings.HasPrefix(a, option+"=")
	})
}

func (o *Options) prefix() string {
	for i, a := range o.Extra {
		if v, ok := strings.CutPrefix(a, "--file-prefix="); ok {
			return v
		}
		if a == "--file-prefix" && i+1 < len(o.Extra) {
			return o.Extra[i+1]
		}
	}
	if o.Prefix != "" {
		return o.Prefix
	}
	return defaultPrefix
}

// lcoreMap is the value of --lcores: the main lcore, which only waits, on the
// housekeeping CPUs, and a worker per polling CPU.
func lcoreMap(o *Options, allowed []int) (string, error) {
	for i, c := range o.CPUs {
		if !slices.Contains(allowed, c) {
			return "", fmt.Errorf("lcores: CPU %d: not among the CPUs this process may use (%s)", c, ranges(allowed))
		}
		if slices.Contains(o.CPUs[:i], c) {
			return "", fmt.Errorf("lcores: CPU %d: named twice", c)
		}
	}
	parts := []string{"0@(" + ranges(o.housekeeping(allowed)) + ")"}
	for i, c := range o.CPUs {
		parts = append(parts, fmt.Sprintf("%d@%d", i+1, c))
	}
	return strings.Join(parts, ","), nil
}

// housekeeping are the CPUs of everything that does not poll; all of them when
// every CPU polls.
func (o *Options) housekeeping(allowed []int) []int {
	if len(o.Housekeeping) > 0 {
		return o.Housekeeping
	}
	rest := slices.DeleteFunc(slices.Clone(allowed), func(c int) bool { return slices.Contains(o.CPUs, c) })
	if len(rest) == 0 {
		return allowed
	}
	return rest
}

// ranges writes CPU numbers as 0-3,5.
func ranges(cpus []int) string {
	s := slices.Clone(cpus)
	slices.Sort(s)
	var parts []string
	for i := 0; i < len(s); {
		j := i
		for j+1 < len(s) && s[j+1] == s[j]+1 {
			j++
		}
		p := strconv.Itoa(s[i])
		if j > i {
			p += "-" + strconv.Itoa(s[j])
		}
		parts = append(parts, p)
		i = j + 1
	}
	return strings.Join(parts, ",")
}

// memoryArgs chooses where packet memory comes from: hugepages without files
// when enough are free, else ordinary pages.
func memoryArgs(o *Options, huge HugePages) (args []string, why string) {
	mb := o.MemoryMB
	if mb == 0 {
		mb = defaultMemory
	}
	if !has(o.Extra, "-m") && !has(o.Extra, "--socket-mem") && !has(o.Extra, "--numa-mem") {
		args = []string{"-m", strconv.Itoa(mb)}
	}
	if slices.ContainsFunc(memoryOptions, func(m string) bool { return has(o.Extra, m) }) {
		return args, "memory as the EAL arguments say"
	}
	if huge.FreeMB >= mb {
		return append(args, "--in-memory"),
			fmt.Sprintf("%d MiB of hugepages (%s), --in-memory: no files, nothing left behind after a crash", mb, huge)
	}
	return append(args, "--no-huge", "--no-shconf"),
		fmt.Sprintf("%d MiB of ordinary pages, --no-huge: %d MiB of hugepages are free (edemux doctor says how to get them)", mb, huge.FreeMB)
}

// pciArgs keeps EAL away from devices nobody asked for: it would bind every NIC
// that a userspace driver holds.
func pciArgs(o *Options) (args []string) {
	if has(o.Extra, "--no-pci") || has(o.Extra, "-a") || has(o.Extra, "-b") || has(o.Extra, "--allow") || has(o.Extra, "--block") {
		return nil
	}
	for _, d := range o.Devices {
		if pciAddress.MatchString(d) {
			args = append(args, "-a", strings.TrimPrefix(d, "pci:"))
		}
	}
	if len(args) == 0 {
		return []string{"--no-pci"}
	}
	return args
}
