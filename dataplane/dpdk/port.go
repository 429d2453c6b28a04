//go:build dpdk

package dpdk

/*
#include "shim.h"
#include <stdlib.h>
*/
import "C"

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Port is an Ethernet device: opened and configured, then started.
type Port struct {
	id    uint16
	o     PortOptions
	conf  *C.struct_edx_conf
	info  C.struct_edx_info
	rx    []*RxQueue
	tx    []*TxQueue
	rings []*Ring // what a feed port's device keeps packets in
	lacks []string
	open  bool
	up    bool
}

// OpenPort attaches and configures a device. A capability that the device lacks
// is no error but a note in Info, except more queues than it has.
func (e *EAL) OpenPort(o PortOptions) (*Port, error) {
	o.RxQueues, o.TxQueues = max(o.RxQueues, 1), max(o.TxQueues, 1)
	if err := o.check(); err != nil {
		return nil, err
	}
	p := &Port{o: o}
	name, _, _ := strings.Cut(o.Device, ",")
	name = strings.TrimPrefix(strings.TrimPrefix(name, "pci:"), "vdev:")
	cdev, cname := C.CString(o.Device), C.CString(name)
	defer C.free(unsafe.Pointer(cdev))
	defer C.free(unsafe.Pointer(cname))
	mark := C.edx_log_mark()
	if code := C.edx_probe(cdev, cname, (*C.uint16_t)(&p.id)); code < 0 {
		step := "attach"
		if code == -C.EFAULT { // rte_dev_probe's word for a string that no bus claims
			step += ": no bus or driver of DPDK knows it"
		}
		return nil, failed(o.Device, step, code, mark)
	}
	p.open = true
	if err := p.configure(); err != nil {
		_ = p.Close()
		return nil, err
	}
	return p, nil
}

// check refuses what no device could do.
func (o *PortOptions) check() error {
	bad := func(format string, a ...any) error {
		return &Error{Object: o.Device, Step: "options", Reason: fmt.Sprintf(format, a...), Code: int(unix.EINVAL)}
	}
	switch {
	case o.Device == "":
		return bad("no device string")
	case o.RxQueues > maxQueues || o.TxQueues > maxQueues:
		return bad("%d rx and %d tx queues: at most %d", o.RxQueues, o.TxQueues, maxQueues)
	case len(o.Pools) != 1 && len(o.Pools) != o.RxQueues:
		return bad("%d pools: want one, or one for each of the %d rx queues", len(o.Pools), o.RxQueues)
	case len(o.RSSKey) > C.EDX_KEY:
		return bad("RSS key of %d bytes: at most %d", len(o.RSSKey), C.EDX_KEY)
	case o.Burst < 0 || o.Burst > MaxBurst:
		return bad("burst of %d: at most %d", o.Burst, MaxBurst)
	}
	for _, q := range o.RETA {
		if int(q) >= o.RxQueues {
			return bad("redirection to queue %d of %d", q, o.RxQueues)
		}
	}
	return nil
}

func flag(b bool) C.uint8_t {
	if b {
		return 1
	}
	return 0
}

func orDefault(n, d int) C.uint16_t {
	if n == 0 {
		n = d
	}
	return C.uint16_t(n)
}

// configure asks, checks queue counts and the key, and sets the device up.
func (p *Port) configure() error {
	o := &p.o
	var step *C.char
	mark := C.edx_log_mark()
	if code := C.edx_info(C.uint16_t(p.id), &p.info, &step); code < 0 {
		return failed(o.Device, C.GoString(step), code, mark)
	}
	if o.TxFewer {
		o.TxQueues = min(o.TxQueues, p.mostTx())
	}
	if o.RxQueues > int(p.info.max_rxq) || o.TxQueues > int(p.info.max_txq) {
		return &Error{Object: o.Device, Step: "configure", Reason: fmt.Sprintf("%d rx and %d tx queues: the device has %d and %d",
			o.RxQueues, o.TxQueues, p.info.max_rxq, p.info.max_txq), Code: int(unix.EINVAL)}
	}
	key, err := p.key()
	if err != nil {
		return err
	}
	fields := o.RSSFields
	if fields == 0 {
		fields = RSSDefault
	}
	// The device may keep a pointer into it (the key), so it is C's.
	p.conf = (*C.struct_edx_conf)(C.calloc(1, C.sizeof_struct_edx_conf))
	*p.conf = C.struct_edx_conf{
		nrx: C.uint16_t(o.RxQueues), ntx: C.uint16_t(o.TxQueues),
		rx_desc: orDefault(o.RxDesc, defaultRing), tx_desc: orDefault(o.TxDesc, defaultRing), mtu: C.uint16_t(o.MTU),
		promiscuous: flag(o.Promiscuous), checksum: flag(o.Checksum), vlan_strip: flag(o.VLANStrip), tx_checksum: flag(o.TxChecksum),
		rss_fields: C.uint64_t(fields), key_len: C.uint8_t(len(key)),
	}
	copy(unsafe.Slice((*byte)(&p.conf.key[0]), C.EDX_KEY), key)
	pools := make([]*C.struct_rte_mempool, o.RxQueues)
	for i := range pools {
		pools[i] = o.Pools[min(i, len(o.Pools)-1)].p
	}
	if code := C.edx_configure(C.uint16_t(p.id), p.conf, &pools[0], &p.info, &step); code < 0 {
		return failed(o.Device, C.GoString(step), code, mark)
	}
	return p.makeQueues()
}

// mostTx is how many transmit queues the device can have beside its receive
// queues. Those of net_tap and net_af_xdp come in pairs.
func (p *Port) mostTx() int {
	switch C.GoString(&p.info.driver[0]) {
	case "net_tap", "net_af_xdp":
		return p.o.RxQueues
	}
	return max(1, int(p.info.max_txq))
}

// key is the RSS key cut to what the device takes.
func (p *Port) key() ([]byte, error) {
	want := int(p.info.key_len)
	if len(p.o.RSSKey) == 0 {
		return nil, nil
	}
	if want == 0 {
		want = 40 // what DPDK takes a device for that does not say
	}
	if len(p.o.RSSKey) < want {
		return nil, &Error{Object: p.o.Device, Step: "configure", Reason: fmt.Sprintf("RSS key of %d bytes: the device wants %d", len(p.o.RSSKey), want), Code: int(unix.EINVAL)}
	}
	return p.o.RSSKey[:want], nil
}

func (p *Port) makeQueues() error {
	burst, slot := p.o.Burst, p.o.MaxFrame
	if burst == 0 {
		burst = MaxBurst
	}
	if slot == 0 {
		slot = int(p.info.mtu) + 64
		if p.o.Meta {
			slot = maxFrame
		}
	}
	for i := range p.o.RxQueues {
		q := newRxQueue(p.id, i, burst, uint32(slot), int(p.info.numa), &p.o)
		if q == nil {
			return &Error{Object: p.o.Device, Step: "receive queue", Reason: "out of memory", Code: int(unix.ENOMEM)}
		}
		p.rx = append(p.rx, q)
	}
	insert := C.int(flag(p.info.tx_on&C.RTE_ETH_TX_OFFLOAD_VLAN_INSERT != 0))
	for i := range p.o.TxQueues {
		c := C.edx_txq_new(C.uint16_t(p.id), C.uint16_t(i), insert, p.info.numa)
		if c == nil {
			return &Error{Object: p.o.Device, Step: "transmit queue", Reason: "out of memory", Code: int(unix.ENOMEM)}
		}
		p.tx = append(p.tx, &TxQueue{c: c})
	}
	return nil
}

// Start lets packets in.
func (p *Port) Start() error {
	var step *C.char
	mark := C.edx_log_mark()
	if code := C.edx_start(C.uint16_t(p.id), p.conf, &p.info, &step); code < 0 {
		return failed(p.o.Device, C.GoString(step), code, mark)
	}
	p.up = true
	if len(p.o.RETA) == 0 || p.o.RxQueues == 1 {
		return nil
	}
	n := int(p.info.reta)
	if n == 0 {
		p.lacks = append(p.lacks, "no redirection table")
		return nil
	}
	t := make([]uint16, n)
	for i := range t {
		t[i] = p.o.RETA[i%len(p.o.RETA)]
	}
	switch code := C.edx_reta(C.uint16_t(p.id), (*C.uint16_t)(&t[0]), C.uint16_t(n)); {
	case code == -C.ENOTSUP:
		p.lacks = append(p.lacks, "redirection table is fixed")
	case code < 0:
		return failed(p.o.Device, "set the redirection table", code, mark)
	}
	return nil
}

// Stop stops receiving and sending; Start goes on.
func (p *Port) Stop() error {
	mark := C.edx_log_mark()
	if code := C.rte_eth_dev_stop(C.uint16_t(p.id)); code < 0 {
		return failed(p.o.Device, "stop", code, mark)
	}
	p.up = false
	return nil
}

// Close frees what the queues hold, stops the port and detaches its device. No
// lcore may use the port any more.
func (p *Port) Close() error {
	if !p.open {
		return nil
	}
	p.open, p.up = false, false
	for _, q := range p.rx {
		q.close()
	}
	for _, t := range p.tx {
		t.close()
	}
	for _, r := range p.rings {
		r.Close()
	}
	p.rx, p.tx, p.rings = nil, nil, nil
	mark := C.edx_log_mark()
	code := C.edx_close(C.uint16_t(p.id))
	C.free(unsafe.Pointer(p.conf))
	p.conf = nil
	p.writeOff()
	if code < 0 {
		return failed(p.o.Device, "close", code, mark)
	}
	return nil
}

// writeOff counts what net_af_xdp kept at close, at most what its rings hold, so
// that anything beyond still shows as a leak.
func (p *Port) writeOff() {
	const fill = 2048 // ETH_AF_XDP_DFLT_NUM_DESCS
	if C.GoString(&p.info.driver[0]) != "net_af_xdp" {
		return
	}
	for i, pool := range p.o.Pools {
		if i == 0 || pool != p.o.Pools[i-1] {
			queues := (p.o.RxQueues + len(p.o.Pools) - 1) / len(p.o.Pools)
			pool.lost += min(pool.InUse(), queues*2*fill)
		}
	}
}

// Rx is receive queue i.
func (p *Port) Rx(i int) *RxQueue { return p.rx[i] }

// Tx is transmit queue i.
func (p *Port) Tx(i int) *TxQueue { return p.tx[i] }

// ID is DPDK's number of the port.
func (p *Port) ID() uint16 { return p.id }

// MAC is the port's address.
func (p *Port) MAC() net.HardwareAddr {
	return slices.Clone(unsafe.Slice((*byte)(&p.info.mac[0]), 6))
}
