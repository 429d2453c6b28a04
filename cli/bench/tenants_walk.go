package bench

import (
	"fmt"

	"edemux/cli/gen"
	"edemux/dataplane"
	"edemux/dataplane/packet"
	"edemux/demux"
	"edemux/flowtable"

	"net/netip"
)

// pipeline is the whole walk over the victim's packets, one VLAN for each VRF.
// Its flows belong to one socket for each VRF, so that demux stays as small as
// the victim is and only the flow table differs.
func (t *tenants) pipeline() (side, error) {
	frames, err := gen.Frames(t.gen)
	if err != nil {
		return side{}, err
	}
	e, err := t.engine()
	if err != nil {
		return side{}, err
	}
	l, src, b := e.NewLcore(), &memorySource{frames: framesOf(frames)}, dataplane.NewBurst()
	now := int64(0)
	s := side{run: func(n int) (done int) {
		for done < n {
			now++
			src.fill(b)
			l.Walk(b, now)
			done += b.N
		}
		return done
	}}
	s.run(len(frames))
	c := e.Counters()
	if got := c.Workers[0].Packets; got < c.Frames/3 || got > c.Frames*2/3 {
		return s, fmt.Errorf("%d of %d packets were delivered, not half of them", got, c.Frames)
	}
	return s, nil
}

// engine walks over the victim's tables.
func (t *tenants) engine() (*dataplane.Engine, error) {
	b := demux.NewBuilder(secretOf(0))
	b.Hasher = t.hs
	tcp, err := flowtable.New(flowtable.Config{Name: "tcp", Buckets: 1024, Max: 1024, Hasher: t.hs})
	if err != nil {
		return nil, err
	}
	t.closers = append(t.closers, tcp.Close)
	none, err := tcp.Space("default", t.hs.Seed("default"), flowtable.Limits{})
	if err != nil {
		return nil, err
	}
	b.SetSpaces(0, none, none)
	b.SetMatchExact(true)
	// VRFs come first, so that device and socket numbers are those of dev.
	for v, space := range t.victims {
		i, err := b.AddVRF(vrfName(v))
		if err != nil {
			return nil, err
		}
		b.SetSpaces(i, none, space)
	}
	for v := range t.victims {
		vid := []uint16{uint16(vlanOf(v))}
		if _, err := b.AddIface(demux.IfaceSpec{Name: fmt.Sprintf("mem0.%d", vlanOf(v)), VIDs: vid, VRF: uint16(1 + v)}); err != nil {
			return nil, err
		}
		_, err := b.Add(&demux.Spec{
			Name: "s" + vrfName(v), Proto: demux.UDP, Dev: vrfName(v), IncomingCPU: -1,
			Bind: netip.AddrPortFrom(netip.IPv4Unspecified(), 1),
		})
		if err != nil {
			return nil, err
		}
	}
	return dataplane.New(dataplane.Config{
		Hasher: t.hs, Builder: b, Tables: append([]*flowtable.Table{tcp}, t.tables...), Ports: []dataplane.Port{{Name: "mem0"}},
		Workers: []*dataplane.Worker{dataplane.NewWorker("w", 0, dataplane.HandleCount)},
		Parse:   packet.Options{VerifyIP: true}, LookAhead: true,
	})
}
