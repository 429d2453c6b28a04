package doctor

import (
	"fmt"
	"slices"
	"strings"
)

func iommu(h Host) Finding {
	groups := len(h.names("/sys/kernel/iommu_groups"))
	f := Finding{Name: "iommu", Found: fmt.Sprintf("%d groups", groups)}
	if groups > 0 || len(h.networkDevices()) == 0 {
		return f
	}
	arg := "intel_iommu=on iommu=pt"
	if strings.Contains(h.read("/proc/cpuinfo"), "AuthenticAMD") {
		arg = "iommu=pt" // AMD's is on by default
	}
	f.Status, f.Found, f.Needed = Lack, "off or absent", "vfio-pci that cannot write outside its memory"
	f.Mend = h.kernelArgument(arg) + "; in a guest without one: modprobe vfio enable_unsafe_noiommu_mode=1"
	return f
}

func vfio(h Host) Finding {
	f := Finding{Name: "vfio-pci", Found: "loaded"}
	switch {
	case h.exists("/sys/bus/pci/drivers/vfio-pci"):
		if !h.exists("/dev/vfio/vfio") {
			f.Status, f.Found, f.Needed = Lack, "loaded, but no /dev/vfio/vfio", "PCI NICs"
			f.Mend = "docker: --device /dev/vfio"
		}
	case len(h.networkDevices()) == 0:
		f.Found = "not loaded, and there is no PCI NIC that would want it"
	default:
		f.Status, f.Found, f.Needed = Lack, "not loaded", "PCI NICs other than mlx4, mlx5"
		f.Mend = "modprobe vfio-pci"
	}
	return f
}

const pciDevices = "/sys/bus/pci/devices"

// networkDevices are the PCI addresses of Ethernet controllers.
func (h Host) networkDevices() (out []string) {
	for _, a := range h.names(pciDevices) {
		if strings.HasPrefix(h.read(pciDevices+"/"+a+"/class"), "0x0200") {
			out = append(out, a)
		}
	}
	return out
}

// userspace drivers let DPDK in; bifurcated ones leave the kernel its share.
var (
	userspace  = []string{"vfio-pci", "uio_pci_generic", "igb_uio"}
	bifurcated = []string{"mlx4_core", "mlx5_core", "mana"}
)

// nics judges each PCI Ethernet controller: which driver holds it and whether
// the machine talks to the world through it.
func nics(h Host) (out []Finding) {
	for _, a := range h.networkDevices() {
		dir := pciDevices + "/" + a
		driver := h.link(dir + "/driver")
		ifs := h.names(dir + "/net")
		// virtio keeps its interface one level down.
		for _, v := range h.names(dir) {
			if strings.HasPrefix(v, "virtio") {
				ifs = append(ifs, h.names(dir+"/"+v+"/net")...)
			}
		}
		f := Finding{Name: "nic", Found: fmt.Sprintf("%s [%s:%s] driver %s, NUMA node %s", a,
			strings.TrimPrefix(h.read(dir+"/vendor"), "0x"), strings.TrimPrefix(h.read(dir+"/device"), "0x"), orNone(driver), orNone(h.read(dir+"/numa_node")))}
		if len(ifs) > 0 {
			f.Found += ", interface " + strings.Join(ifs, " ")
		}
		switch {
		case slices.Contains(userspace, driver):
		case slices.Contains(bifurcated, driver):
			f.Found += " (shared with the kernel)"
		case slices.ContainsFunc(ifs, h.hasDefaultRoute):
			f.Status, f.Needed = Slow, "this NIC through DPDK; it carries the default route: leave it to the kernel, or use net_af_xdp or edemux attach"
		default:
			f.Status, f.Needed = Lack, "this NIC through DPDK"
			f.Mend = "dpdk-devbind.py -b vfio-pci " + a
		}
		out = append(out, f)
	}
	if len(out) == 0 {
		out = append(out, Finding{Name: "nic", Found: "no PCI Ethernet controller; net_af_packet, net_af_xdp, net_tap and net_pcap work without one"})
	}
	return out
}

// hasDefaultRoute reports whether packets to anywhere leave by the interface.
func (h Host) hasDefaultRoute(iface string) bool {
	for line := range strings.Lines(h.read("/proc/net/route")) {
		if w := strings.Fields(line); len(w) > 7 && w[0] == iface && w[1] == "00000000" && w[7] == "00000000" {
			return true
		}
	}
	for line := range strings.Lines(h.read("/proc/net/ipv6_route")) {
		if w := strings.Fields(line); len(w) == 10 && w[9] == iface && w[1] == "00" && strings.Trim(w[0], "0") == "" {
			return true
		}
	}
	return false
}
