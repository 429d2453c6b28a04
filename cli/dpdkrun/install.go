package dpdkrun

import (
	"fmt"

	"edemux/cli/daemon"
	"edemux/cli/replay"
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
	replay.OpenDPDK = func(batch, bytes int) (replay.Carrier, error) {
		c, err := openCarrier(batch, bytes)
		if err != nil {
			return nil, fmt.Errorf("replay: %w", err)
		}
		return c, nil
	}
}
