package doctor

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const status = "Name:\tx\nCpus_allowed_list:\t0-3\nCapEff:\t0000000000000000\n"

// lay makes a machine of files: path, then content; a content "-> x" is a link.
func lay(t *testing.T, files map[string]string) Host {
	t.Helper()
	root := t.TempDir()
	for p, c := range files {
		p = filepath.Join(root, p)
		require.NoError(t, os.MkdirAll(filepath.Dir(p), 0o755))
		if to, ok := strings.CutPrefix(c, "-> "); ok {
			require.NoError(t, os.Symlink(to, p))
			continue
		}
		require.NoError(t, os.WriteFile(p, []byte(c), 0o644))
	}
	return Host{Root: root, Built: true, Version: "DPDK 22.11", EUID: 1000, Memlock: ^uint64(0)}
}

func find(t *testing.T, fs []Finding, name, found string) Finding {
	t.Helper()
	for _, f := range fs {
		if f.Name == name && strings.Contains(f.Found, found) {
			return f
		}
	}
	require.Fail(t, "no finding", "%s with %q in %+v", name, found, fs)
	return Finding{}
}

func TestBareMachine(t *testing.T) {
	h := lay(t, map[string]string{"/proc/self/status": status})
	h.Built, h.Version, h.Memlock = false, "", 8<<20
	fs := Examine(h)
	require.Equal(t, Lack, Worst(fs))
	require.Equal(t, Finding{Name: "dpdk", Status: Lack, Found: "not built in", Needed: "run, replay --engine dpdk", Mend: "apt-get install libdpdk-dev && make build"},
		find(t, fs, "dpdk", ""))
	require.Equal(t, "echo 256 > /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", find(t, fs, "hugepages", "0 MiB free: none reserved").Mend)
	require.Equal(t, Lack, find(t, fs, "memlock", "8 MiB").Status)
	require.Contains(t, find(t, fs, "rights", "no CAP_NET_ADMIN").Mend, "setcap cap_net_admin,cap_net_raw,cap_ipc_lock,cap_bpf+ep")
	require.Equal(t, OK, find(t, fs, "vfio-pci", "no PCI NIC").Status)
	require.Equal(t, OK, find(t, fs, "nic", "no PCI Ethernet controller").Status)
	require.Contains(t, find(t, fs, "tun", "no /dev/net/tun").Mend, "modprobe tun")
	require.Equal(t, "mount -t bpf bpf /sys/fs/bpf", find(t, fs, "bpffs", "not mounted").Mend)
	require.Contains(t, find(t, fs, "isolation", "none").Mend, "isolcpus=managed_irq,domain,1-3 nohz_full=1-3 rcu_nocbs=1-3")
	for _, f := range fs {
		if f.Status == Lack {
			require.NotEmpty(t, f.Mend, "%s: a lack names its command", f.Name)
			require.NotEmpty(t, f.Needed, f.Name)
		}
	}
}

func TestReadyMachine(t *testing.T) {
	h := lay(t, map[string]string{
		"/proc/self/status": "Cpus_allowed_list:\t0-7\nCapEff:\t000001ffffffffff\n",
		"/proc/cpuinfo":     "flags\t\t: fpu tsc constant_tsc nonstop_tsc\n",
		"/proc/self/mounts": "bpf /sys/fs/bpf bpf rw 0 0\n",
		"/sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc\n",
		"/sys/devices/system/cpu/isolated":                                 "2-7\n",
		"/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages":           "1024\n",
		"/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages":         "1000\n",
		"/sys/kernel/iommu_groups/1/type":                                  "DMA\n",
		"/sys/bus/pci/drivers/vfio-pci/new_id":                             "",
		"/dev/vfio/vfio":                                                   "",
		"/dev/net/tun":                                                     "",
		"/sys/bus/pci/devices/0000:3b:00.0/class":                          "0x020000\n",
		"/sys/bus/pci/devices/0000:3b:00.0/vendor":                         "0x8086\n",
		"/sys/bus/pci/devices/0000:3b:00.0/device":                         "0x1572\n",
		"/sys/bus/pci/devices/0000:3b:00.0/numa_node":                      "0\n",
		"/sys/bus/pci/devices/0000:3b:00.0/driver":                         "-> ../../../bus/pci/drivers/vfio-pci",
		"/sys/bus/pci/devices/0000:00:01.0/class":                          "0x010000\n",
	})
	fs := Examine(h)
	require.Equal(t, OK, Worst(fs), "%+v", fs)
	find(t, fs, "nic", "0000:3b:00.0 [8086:1572] driver vfio-pci, NUMA node 0")
	find(t, fs, "clock", "clock source tsc, invariant TSC: true")
	find(t, fs, "hugepages", "2000 MiB free: 1000 of 1024 pages of 2048 kB free")
	find(t, fs, "isolation", "isolated CPUs 2-7")
}

func TestNICsInTheKernelsHands(t *testing.T) {
	h := lay(t, map[string]string{
		"/proc/self/status":                                    status,
		"/proc/cpuinfo":                                        "vendor_id : AuthenticAMD\nflags : tsc\n",
		"/proc/net/route":                                      "Iface Destination Gateway Flags RefCnt Use Metric Mask\neth0 00000000 0100000A 0003 0 0 0 00000000 0 0 0\n",
		"/proc/net/ipv6_route":                                 "00000000000000000000000000000000 00 00000000000000000000000000000000 00 fe800000000000000000000000000001 00000400 00000001 00000000 00000003 eth2\n",
		"/sys/bus/pci/devices/0000:00:03.0/class":              "0x020000",
		"/sys/bus/pci/devices/0000:00:03.0/driver":             "-> drivers/virtio-pci",
		"/sys/bus/pci/devices/0000:00:03.0/virtio0/net/eth0/x": "",
		"/sys/bus/pci/devices/0000:00:04.0/class":              "0x020000",
		"/sys/bus/pci/devices/0000:00:04.0/driver":             "-> drivers/ixgbe",
		"/sys/bus/pci/devices/0000:00:04.0/net/eth1/x":         "",
		"/sys/bus/pci/devices/0000:00:05.0/class":              "0x020000",
		"/sys/bus/pci/devices/0000:00:05.0/driver":             "-> drivers/mlx5_core",
		"/sys/bus/pci/devices/0000:00:05.0/net/eth2/x":         "",
		"/sys/bus/pci/devices/0000:00:06.0/class":              "0x020000",
		"/sys/bus/pci/devices/0000:00:06.0/net/eth2/x":         "",
		"/sys/devices/system/node/node0/x":                     "",
		"/sys/devices/system/node/node1/x":                     "",
		"/sys/devices/system/node/possible":                    "0-1",
	})
	fs := Examine(h)
	f := find(t, fs, "nic", "0000:00:03.0")
	require.Equal(t, Slow, f.Status)
	require.Contains(t, f.Needed, "carries the default route")
	require.Contains(t, f.Found, "interface eth0")
	require.Equal(t, "dpdk-devbind.py -b vfio-pci 0000:00:04.0", find(t, fs, "nic", "0000:00:04.0").Mend)
	require.Equal(t, OK, find(t, fs, "nic", "0000:00:05.0").Status)
	require.Equal(t, Slow, find(t, fs, "nic", "0000:00:06.0").Status, "an IPv6 default route counts")
	require.Contains(t, find(t, fs, "iommu", "off").Mend, " iommu=pt")
	require.NotContains(t, find(t, fs, "iommu", "off").Mend, "intel_iommu")
	require.Equal(t, "modprobe vfio-pci", find(t, fs, "vfio-pci", "not loaded").Mend)
	require.Contains(t, find(t, fs, "hugepages", "").Mend, "for n in node0 node1; do")
	require.Equal(t, Slow, find(t, fs, "clock", "invariant TSC: false").Status)
}

func TestPrintAndJSON(t *testing.T) {
	fs := []Finding{{Name: "tun", Status: Lack, Found: "no /dev/net/tun", Needed: "net_tap", Mend: "modprobe tun"}, {Name: "cpus", Found: "2"}}
	var b bytes.Buffer
	require.NoError(t, Print(&b, fs))
	require.Equal(t, "lack  tun          no /dev/net/tun\n                    needed for: net_tap\n                    mend: modprobe tun\nok    cpus         2\n", b.String())
	j, err := json.Marshal(fs)
	require.NoError(t, err)
	require.JSONEq(t, `[{"name":"tun","status":"lack","found":"no /dev/net/tun","needed_for":"net_tap","mend":"modprobe tun"},{"name":"cpus","status":"ok","found":"2"}]`, string(j))
}

func TestThisMachine(t *testing.T) {
	h := ThisHost()
	fs := Examine(h)
	require.NotEmpty(t, fs)
	var b bytes.Buffer
	require.NoError(t, Print(&b, fs))
	t.Log("\n" + b.String())
	for _, f := range fs {
		require.NotEmpty(t, f.Found, f.Name)
		require.NotContains(t, f.Found+f.Needed+f.Mend, "\n", f.Name)
	}
}

func TestCPUList(t *testing.T) {
	require.Equal(t, 6, cpuList("0-3,5,7"))
	require.Zero(t, cpuList(""))
	require.Zero(t, cpuList("3-1"))
}
