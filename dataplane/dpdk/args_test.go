package dpdk

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestArgListChoosesMemory(t *testing.T) {
	pages := HugePages{FreeMB: 512, TotalMB: 512, Sizes: []HugePageSize{{2048, 256, 256}}}
	cases := []struct {
		name   string
		o      Options
		huge   HugePages
		want   string
		memory string
	}{
		{"none free", Options{}, HugePages{}, "edemux --lcores 0@(0-1) -m 256 --no-huge --no-shconf --file-prefix edemux --no-pci", "256 MiB of ordinary pages, --no-huge: 0 MiB of hugepages are free"},
		{"enough free", Options{CPUs: []int{1}}, pages, "edemux --lcores 0@(0),1@1 -m 256 --in-memory --file-prefix edemux --no-pci", "256 MiB of hugepages (256 of 256 pages of 2048 kB free), --in-memory"},
		{"too few free", Options{CPUs: []int{0, 1}, MemoryMB: 600}, pages, "edemux --lcores 0@(0-1),1@0,2@1 -m 600 --no-huge --no-shconf --file-prefix edemux --no-pci", "600 MiB of ordinary pages, --no-huge: 512 MiB"},
		{"the user's choice", Options{Extra: []string{"--no-huge", "-m", "64"}}, pages, "edemux --lcores 0@(0-1) --file-prefix edemux --no-pci --no-huge -m 64", "memory as the EAL arguments say"},
		{"glued -m", Options{Extra: []string{"-m64"}}, HugePages{}, "edemux --lcores 0@(0-1) --no-huge --no-shconf --file-prefix edemux --no-pci -m64", "ordinary"},
		{"prefix", Options{Prefix: "x", NoTelemetry: true}, HugePages{}, "edemux --lcores 0@(0-1) -m 256 --no-huge --no-shconf --file-prefix x --no-telemetry --no-pci", "ordinary"},
		{"the user's prefix", Options{Extra: []string{"--file-prefix=y"}}, HugePages{}, "edemux --lcores 0@(0-1) -m 256 --no-huge --no-shconf --no-pci --file-prefix=y", "ordinary"},
		{"PCI devices only", Options{Devices: []string{"0000:3b:00.0,rx=1", "net_tap0", "pci:3b:00.1"}}, HugePages{}, "edemux --lcores 0@(0-1) -m 256 --no-huge --no-shconf --file-prefix edemux -a 0000:3b:00.0,rx=1 -a 3b:00.1", "ordinary"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			args, memory, err := argList(&c.o, []int{0, 1}, c.huge)
			require.NoError(t, err)
			require.Equal(t, c.want, strings.Join(args, " "))
			require.Contains(t, memory, c.memory)
		})
	}
}

func TestArgListRefuses(t *testing.T) {
	cases := []struct {
		o    Options
		want string
	}{
		{Options{Extra: []string{"-l", "0-3"}}, "EAL argument -l: belongs to the configuration: use lcores"},
		{Options{Extra: []string{"-l0-3"}}, "EAL argument -l0-3: belongs to the configuration: use lcores"},
		{Options{Extra: []string{"--lcores=0@1"}}, "EAL argument --lcores=0@1: belongs to the configuration: use lcores"},
		{Options{Extra: []string{"--in-memory", "--no-huge"}}, "EAL argument --in-memory: DPDK refuses it with --no-huge: use --no-huge --no-shconf"},
		{Options{CPUs: []int{7}}, "lcores: CPU 7: not among the CPUs this process may use (0-2)"},
		{Options{CPUs: []int{1, 1}}, "lcores: CPU 1: named twice"},
	}
	for _, c := range cases {
		_, _, err := argList(&c.o, []int{0, 1, 2}, HugePages{})
		require.EqualError(t, err, c.want)
	}
}

func TestRanges(t *testing.T) {
	require.Equal(t, "", ranges(nil))
	require.Equal(t, "3", ranges([]int{3}))
	require.Equal(t, "0-2,5,7-8", ranges([]int{8, 0, 1, 2, 7, 5}))
}

func TestHousekeeping(t *testing.T) {
	o := Options{CPUs: []int{1, 2}}
	require.Equal(t, []int{0, 3}, o.housekeeping([]int{0, 1, 2, 3}))
	require.Equal(t, []int{1, 2}, o.housekeeping([]int{1, 2}), "nowhere else to go")
	o.Housekeeping = []int{9}
	require.Equal(t, []int{9}, o.housekeeping([]int{0, 1, 2, 3}))
}

func TestExplain(t *testing.T) {
	require.Empty(t, explain("\n"))
	require.Equal(t, "EAL: failed to parse device \"x\"", explain("EAL: failed to parse device \"x\"\nEAL: Failed to attach device on primary process\n"))
	require.Equal(t, "EAL: Failed to attach device on primary process", explain("EAL: Failed to attach device on primary process\n"))
	require.Equal(t, "a; b; c", explain("a\na\nb\n c \nd\n"))
}
