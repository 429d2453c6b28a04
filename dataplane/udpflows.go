package dataplane

import (
	"errors"
	"fmt"

	"edemux/demux"
	"edemux/flowtable"
)

// connectFlows enters the sockets that connected since the last view into the
// flow tables: udp_lib_hash4, and the ehash for TCP. The view that knows them is
// in force already; a burst that began under the one before passes them over
// (Lcore.probe).
func (e *Engine) connectFlows(v *demux.View, ops []demux.FlowOp) error {
	for _, op := range ops {
		if op.Delete {
			continue
		}
		for id := op.Sock; id < op.Sock+op.N; id++ {
			if s := v.Sock(id); s.Has(demux.Connected) {
				if err := e.connectFlow(v, op.VRF, id, s); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// connectFlow enters one socket. Of two sockets with one identity the one that
// connected last is found, as hash4 inserts at the head.
func (e *Engine) connectFlow(v *demux.View, vrf uint16, id demux.SockID, s *demux.Sock) error {
	t, k := spaceOf(&v.VRFs[vrf], s.Proto()), s.Key()
	h := e.hasher.Sum(v.VRFs[vrf].Seed, k.Laddr, k.Faddr, k.Fport).Hash(k.Lport)
	f := flowtable.Flow{Sock: id, Bdi: s.Bdi}
	_, err := t.Insert(h, &k, f, 0)
	for errors.Is(err, flowtable.ErrExist) || errors.Is(err, flowtable.ErrContended) {
		if ref := e.flowOf(t, h, &k, s.Bdi); ref != 0 {
			_ = t.Delete(ref, &k) // gone already is as good
		}
		_, err = t.Insert(h, &k, f, 0)
	}
	if err != nil {
		return fmt.Errorf("socket %s: connect: %w", v.Name(id), err)
	}
	return nil
}

// disconnectFlows removes the flows of sockets that closed or connected anew.
// A socket with the same identity that was hidden behind one comes forward.
func (e *Engine) disconnectFlows(v *demux.View, ops []demux.FlowOp) {
	for _, op := range ops {
		if !op.Delete {
			continue
		}
		vrf := &v.VRFs[op.VRF]
		t, k := spaceOf(vrf, op.Proto), op.Key
		h := e.hasher.Sum(vrf.Seed, k.Laddr, k.Faddr, k.Fport).Hash(k.Lport)
		ref := e.flowOf(t, h, &k, op.Bdi)
		if ref == 0 || t.Sock(ref) < op.Sock || t.Sock(ref) >= op.Sock+op.N {
			continue
		}
		for errors.Is(t.Delete(ref, &k), flowtable.ErrContended) {
		}
		if op.Proto != demux.UDP {
			continue
		}
		if id := hidden(v, &k, op.Bdi); id != 0 {
			_ = e.connectFlow(v, op.VRF, id, v.Sock(id)) // the place was just freed
		}
	}
}

// noDevice is an ifindex that no socket is bound to.
const noDevice = 1<<32 - 1

// flowOf finds the flow with exactly this device.
func (e *Engine) flowOf(t *flowtable.Space, h uint32, k *flowtable.Key, bdi uint32) flowtable.Ref {
	d := flowtable.Dev{Dif: bdi}
	if bdi != 0 {
		d.Sdif = noDevice // keeps unbound sockets out
	}
	return t.Lookup(h, k, d, 0)
}

// hidden is the connected socket with this identity and device, if any.
func hidden(v *demux.View, k *flowtable.Key, bdi uint32) demux.SockID {
	sdif := uint32(0)
	if bdi != 0 {
		sdif = noDevice
	}
	return v.Connected(k, !k.Is4(), bdi, sdif, false)
}

func spaceOf(v *demux.VRF, proto uint8) *flowtable.Space {
	if proto == demux.UDP {
		return v.UDP
	}
	return v.TCP
}
