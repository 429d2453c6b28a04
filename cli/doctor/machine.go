package doctor

import (
	"fmt"
	"strconv"
	"strings"

	"edemux/dataplane/dpdk"
)

func library(h Host) Finding {
	f := Finding{Name: "dpdk", Found: h.Version}
	if !h.Built {
		f.Status, f.Found, f.Needed = Lack, "not built in", "run, replay --engine dpdk"
		f.Mend = "apt-get install libdpdk-dev && make build"
	}
	return f
}

func cpus(h Host) Finding {
	allowed := field(h.read("/proc/self/status"), "Cpus_allowed_list")
	n := cpuList(allowed)
	f := Finding{Name: "cpus", Found: fmt.Sprintf("%d usable (%s)", n, allowed)}
	if n < 2 {
		f.Status, f.Needed = Slow, "an lcore that nothing else runs on"
		f.Mend = "give the process two or more CPUs (taskset, cpuset, docker --cpuset-cpus)"
	}
	return f
}

func clock(h Host) Finding {
	src := h.read("/sys/devices/system/clocksource/clocksource0/current_clocksource")
	flags := " " + field(h.read("/proc/cpuinfo"), "flags") + " "
	steady := strings.Contains(flags, " constant_tsc ") && strings.Contains(flags, " nonstop_tsc ")
	f := Finding{Name: "clock", Found: fmt.Sprintf("clock source %s, invariant TSC: %v", orNone(src), steady)}
	if strings.Contains(flags, " tsc ") && !steady {
		f.Status, f.Needed = Slow, "times of day that agree between CPUs"
		f.Mend = "let the guest see the invariant TSC (qemu: -cpu host,+invtsc)"
	}
	return f
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// wantPages are the 2 MB pages that the default configuration's packet memory
// takes.
const wantPages = 256

func hugepages(h Host) Finding {
	p := dpdk.ReadHugePages(h.path("/sys"))
	f := Finding{Name: "hugepages", Found: fmt.Sprintf("%d MiB free: %s", p.FreeMB, p)}
	if p.FreeMB >= wantPages*2 {
		return f
	}
	f.Status, f.Needed = Slow, "speed, and any NIC whose driver wants contiguous memory; without them edemux runs with --no-huge"
	f.Mend = fmt.Sprintf("echo %d > /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", wantPages+(p.TotalMB-p.FreeMB)/2)
	if nodes := h.numaNodes(); len(nodes) > 1 {
		f.Mend = fmt.Sprintf("for n in %s; do echo %d > /sys/devices/system/node/$n/hugepages/hugepages-2048kB/nr_hugepages; done",
			strings.Join(nodes, " "), wantPages)
	}
	return f
}

func (h Host) numaNodes() (out []string) {
	for _, n := range h.names("/sys/devices/system/node") {
		if _, err := strconv.Atoi(strings.TrimPrefix(n, "node")); err == nil {
			out = append(out, n)
		}
	}
	return out
}

func memlock(h Host) Finding {
	f := Finding{Name: "memlock", Found: "no limit"}
	if h.Memlock == ^uint64(0) {
		return f
	}
	f.Found = fmt.Sprintf("%d MiB", h.Memlock>>20)
	if h.EUID != 0 && h.Memlock < 1<<30 {
		f.Status, f.Needed = Lack, "vfio-pci, AF_XDP"
		f.Mend = "ulimit -l unlimited (systemd: LimitMEMLOCK=infinity; docker: --ulimit memlock=-1)"
	}
	return f
}

// capabilities are bits of CapEff and the modes that want them.
var capabilities = []struct {
	bit    uint
	name   string
	needed string
}{
	{12, "NET_ADMIN", "net_tap, net_af_xdp, attach, promiscuous mode"},
	{13, "NET_RAW", "net_af_packet, net_af_xdp, mlx5"},
	{14, "IPC_LOCK", "vfio-pci with a memlock limit"},
	{39, "BPF", "net_af_xdp, attach"},
}

// rights is one finding for what the process may, and one for all it may not,
// because setcap replaces what was set before.
func rights(h Host) (out []Finding) {
	eff, err := strconv.ParseUint(field(h.read("/proc/self/status"), "CapEff"), 16, 64)
	if err != nil {
		eff = 0
	}
	var have, lack, needed []string
	for _, c := range capabilities {
		if eff>>c.bit&1 != 0 {
			have = append(have, "CAP_"+c.name)
			continue
		}
		lack = append(lack, "CAP_"+c.name)
		needed = append(needed, fmt.Sprintf("%s: %s", c.name, c.needed))
	}
	if len(have) > 0 {
		out = append(out, Finding{Name: "rights", Found: strings.Join(have, ", ")})
	}
	if len(lack) > 0 {
		out = append(out, Finding{
			Name: "rights", Status: Lack, Found: "no " + strings.Join(lack, ", "), Needed: strings.Join(needed, "; "),
			Mend: fmt.Sprintf("run as root, or setcap %s+ep bin/edemux (docker: --cap-add for each)", strings.ToLower(strings.Join(lack, ","))),
		})
	}
	return out
}

func tun(h Host) Finding {
	f := Finding{Name: "tun", Found: "/dev/net/tun"}
	if !h.exists("/dev/net/tun") {
		f.Status, f.Found, f.Needed = Lack, "no /dev/net/tun", "net_tap"
		f.Mend = "modprobe tun (docker: --device /dev/net/tun)"
	}
	return f
}

func bpffs(h Host) Finding {
	for line := range strings.Lines(h.read("/proc/self/mounts")) {
		if w := strings.Fields(line); len(w) > 2 && w[2] == "bpf" {
			return Finding{Name: "bpffs", Found: w[1]}
		}
	}
	return Finding{
		Name: "bpffs", Status: Lack, Found: "not mounted", Needed: "attach that outlives its process",
		Mend: "mount -t bpf bpf /sys/fs/bpf",
	}
}

func isolation(h Host) Finding {
	isolated := h.read("/sys/devices/system/cpu/isolated")
	f := Finding{Name: "isolation", Found: fmt.Sprintf("isolated CPUs %s, nohz_full %s", orNone(isolated), orNone(h.read("/sys/devices/system/cpu/nohz_full")))}
	n := cpuList(field(h.read("/proc/self/status"), "Cpus_allowed_list"))
	if isolated != "" || n < 2 {
		return f
	}
	list := "1"
	if n > 2 {
		list = fmt.Sprintf("1-%d", n-1)
	}
	f.Status, f.Needed = Slow, "polls without gaps"
	f.Mend = h.kernelArgument(fmt.Sprintf("isolcpus=managed_irq,domain,%s nohz_full=%s rcu_nocbs=%s", list, list, list))
	return f
}

// kernelArgument is the command that adds to the kernel's command line.
func (h Host) kernelArgument(args string) string {
	if h.exists("/sbin/grubby") || h.exists("/usr/sbin/grubby") {
		return fmt.Sprintf("grubby --update-kernel=ALL --args='%s' && reboot", args)
	}
	return fmt.Sprintf(`echo 'GRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX %s"' > /etc/default/grub.d/edemux.cfg && update-grub && reboot`, args)
}
