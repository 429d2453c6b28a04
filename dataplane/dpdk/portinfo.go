//go:build dpdk

package dpdk

/*
#include "shim.h"
*/
import "C"

import (
	"fmt"
	"math/bits"
	"unsafe"
)

// Info is what the port can do and what of it is on.
func (p *Port) Info() PortInfo {
	c := &p.info
	return PortInfo{
		Device: p.o.Device, Name: C.GoString(&c.name[0]), Driver: C.GoString(&c.driver[0]),
		ID: p.id, NUMA: int(c.numa), MAC: p.MAC(),
		MTU: int(c.mtu), MinMTU: int(c.min_mtu), MaxMTU: int(c.max_mtu),
		MaxRxQueues: int(c.max_rxq), MaxTxQueues: int(c.max_txq),
		RxQueues: p.o.RxQueues, TxQueues: p.o.TxQueues, RxDesc: int(c.rx_desc), TxDesc: int(c.tx_desc),
		RETA: int(c.reta), RSSKeyLen: int(c.key_len), RSSCapable: uint64(c.rss_capa), RSSOn: uint64(c.rss_on),
		RxCapable: uint64(c.rx_capa), RxOn: uint64(c.rx_on), TxCapable: uint64(c.tx_capa), TxOn: uint64(c.tx_on),
		RxOffloads: names(uint64(c.rx_on), func(b uint64) *C.char { return C.rte_eth_dev_rx_offload_name(C.uint64_t(b)) }),
		TxOffloads: names(uint64(c.tx_on), func(b uint64) *C.char { return C.rte_eth_dev_tx_offload_name(C.uint64_t(b)) }),
		Notes:      p.notes(),
	}
}

func names(set uint64, name func(uint64) *C.char) (out []string) {
	for ; set != 0; set &= set - 1 {
		out = append(out, C.GoString(name(1<<bits.TrailingZeros64(set))))
	}
	return out
}

// notes lists what was asked for and the device leaves to software or refuses.
func (p *Port) notes() (n []string) {
	c, o := &p.info, &p.o
	lacks := func(asked bool, bit C.uint64_t, text string) {
		if asked && c.rx_on&bit == 0 {
			n = append(n, text)
		}
	}
	lacks(o.Checksum, C.RTE_ETH_RX_OFFLOAD_IPV4_CKSUM, "IPv4 checksums in software")
	lacks(o.Checksum, C.RTE_ETH_RX_OFFLOAD_UDP_CKSUM, "UDP checksums in software")
	lacks(o.Checksum, C.RTE_ETH_RX_OFFLOAD_TCP_CKSUM, "TCP checksums in software")
	lacks(o.VLANStrip, C.RTE_ETH_RX_OFFLOAD_VLAN_STRIP, "VLAN tags stay in the bytes")
	room := o.Pools[0].size.DataRoom
	lacks(int(c.mtu)+l2Overhead > room, C.RTE_ETH_RX_OFFLOAD_SCATTER, fmt.Sprintf("does not promise to split frames over the data room of %d bytes", room))
	if o.RxQueues > 1 && c.rss_on == 0 {
		n = append(n, "no RSS: the device spreads packets over queues in its own way")
	}
	if c.lacks_mtu != 0 {
		n = append(n, fmt.Sprintf("MTU stays %d", c.mtu))
	}
	if c.lacks_promiscuous != 0 {
		n = append(n, "promiscuous mode cannot be set")
	}
	return append(n, p.lacks...)
}

// Link is the link state; does not wait for it to settle.
func (p *Port) Link() (Link, error) {
	var l C.struct_edx_link
	mark := C.edx_log_mark()
	if code := C.edx_link(C.uint16_t(p.id), &l); code < 0 {
		return Link{}, failed(p.o.Device, "read the link", code, mark)
	}
	return Link{Up: l.up != 0, FullDuplex: l.full_duplex != 0, Autoneg: l.autoneg != 0, Mbps: uint32(l.mbps)}, nil
}

// Stats are the device's basic counters.
func (p *Port) Stats() (Stats, error) {
	var s C.struct_rte_eth_stats
	mark := C.edx_log_mark()
	if code := C.rte_eth_stats_get(C.uint16_t(p.id), &s); code < 0 {
		return Stats{}, failed(p.o.Device, "read statistics", code, mark)
	}
	return Stats{
		RxPackets: uint64(s.ipackets), TxPackets: uint64(s.opackets), RxBytes: uint64(s.ibytes), TxBytes: uint64(s.obytes),
		Missed: uint64(s.imissed), RxErrors: uint64(s.ierrors), TxErrors: uint64(s.oerrors), NoMbuf: uint64(s.rx_nombuf),
	}, nil
}

// XStats are the device's extended counters, by its own names.
func (p *Port) XStats() ([]XStat, error) {
	mark := C.edx_log_mark()
	cap := C.edx_xstats(C.uint16_t(p.id), nil, nil, 0)
	if cap < 0 {
		return nil, failed(p.o.Device, "read extended statistics", cap, mark)
	}
	if cap == 0 {
		return nil, nil
	}
	name := make([]C.struct_rte_eth_xstat_name, cap)
	value := make([]C.uint64_t, cap)
	n := C.edx_xstats(C.uint16_t(p.id), &name[0], &value[0], C.uint(cap))
	if n < 0 {
		return nil, failed(p.o.Device, "read extended statistics", n, mark)
	}
	out := make([]XStat, min(n, cap))
	for i := range out {
		out[i] = XStat{C.GoString((*C.char)(unsafe.Pointer(&name[i]))), uint64(value[i])}
	}
	return out, nil
}

// ResetStats sets the device's counters to zero.
func (p *Port) ResetStats() error {
	mark := C.edx_log_mark()
	if code := C.rte_eth_stats_reset(C.uint16_t(p.id)); code < 0 {
		return failed(p.o.Device, "reset statistics", code, mark)
	}
	return nil
}

// SetPromiscuous lets frames for other MAC addresses in, or not.
func (p *Port) SetPromiscuous(on bool) error {
	mark := C.edx_log_mark()
	var code C.int
	if on {
		code = C.rte_eth_promiscuous_enable(C.uint16_t(p.id))
	} else {
		code = C.rte_eth_promiscuous_disable(C.uint16_t(p.id))
	}
	if code < 0 {
		return failed(p.o.Device, "set promiscuous", code, mark)
	}
	return nil
}

// SetMTU changes the MTU; some devices must be stopped for it.
func (p *Port) SetMTU(mtu int) error {
	mark := C.edx_log_mark()
	if code := C.rte_eth_dev_set_mtu(C.uint16_t(p.id), C.uint16_t(mtu)); code < 0 {
		return failed(p.o.Device, fmt.Sprintf("set the MTU to %d", mtu), code, mark)
	}
	p.info.mtu = C.uint16_t(mtu)
	return nil
}
