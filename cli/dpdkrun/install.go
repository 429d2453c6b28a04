package dpdkrun

import (
	"edemux/cli/daemon"
	"edemux/dataplane/dpdk"
)

// Install plugs DPDK into the commands that can use it.
func Install() {
	if !dpdk.Built {
		return
	}
	daemon.OpenDPDK = func(o daemon.DPDKOptions) (daemon.Backend, error) {
		b, err := open(o)
		if err != nil {
			return nil, err
		}
		return b, nil
	}
}
