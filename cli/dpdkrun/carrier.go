package dpdkrun

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"edemux/dataplane/dpdk"
	"edemux/dataplane/packet"
)

// carrier takes the frames of a replay through mbufs and a ring port to an EAL
// lcore. Feed belongs to one goroutine, Take to the lcore.
type carrier struct {
	eal    *dpdk.EAL
	pool   *dpdk.Pool
	port   *dpdk.Port
	feeder *dpdk.Feeder
	rx     *dpdk.RxQueue
}

// feedRing is how many mbufs the ring of a ring port holds.
const feedRing = 1024

// openCarrier starts EAL with room for two batches: the one that is walked and the
// one that is being fed.
func openCarrier(batch, bytes int) (c *carrier, err error) {
	if batch >= feedRing {
		return nil, fmt.Errorf("a batch of %d frames: the ring holds %d", batch, feedRing-1)
	}
	size := dpdk.SizePool(dpdk.PoolNeed{
		RxQueues: 1, RxDesc: 2 * batch, Lcores: 1, Burst: dpdk.MaxBurst, Reassembly: 2 * bytes / 2048, Meta: true,
	})
	cpus := lcoreCPUs([]int{-1})
	c = &carrier{}
	c.eal, err = dpdk.Init(dpdk.Options{
		CPUs: cpus, Housekeeping: housekeeping(cpus, nil), MemoryMB: dpdk.MemoryMB(size),
		Prefix: fmt.Sprintf("edemux-replay-%d", os.Getpid()), NoTelemetry: true,
	})
	if err != nil {
		return nil, err
	}
	if err := c.open(size); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (c *carrier) open(size dpdk.PoolSize) (err error) {
	if c.pool, err = c.eal.NewPool("replay", size); err != nil {
		return err
	}
	port, feeders, err := c.eal.OpenFeed(dpdk.PortOptions{Pools: []*dpdk.Pool{c.pool}})
	if err != nil {
		return err
	}
	c.port, c.feeder, c.rx = port, feeders[0], port.Rx(0)
	return c.port.Start()
}

// Feed copies frames into mbufs and puts those into the ring.
func (c *carrier) Feed(ctx context.Context, frames []packet.Frame) error {
	for i := range frames {
		for !c.feeder.Stage(&frames[i], uint64(i)) {
			if err := c.push(ctx); err != nil {
				return err
			}
		}
	}
	return c.push(ctx)
}

// push moves on what is staged; the lcore makes room.
func (c *carrier) push(ctx context.Context) error {
	for tries := 0; c.feeder.Push() > 0; tries++ {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if tries < 100 {
			runtime.Gosched()
		} else {
			time.Sleep(20 * time.Microsecond)
		}
	}
	return nil
}

// Take polls for the next frames.
func (c *carrier) Take(n int) []packet.Frame {
	c.rx.SetBurst(n)
	for {
		if frames := c.rx.Poll(); len(frames) > 0 {
			return frames
		}
		runtime.Gosched()
	}
}

// Start runs f on the lcore.
func (c *carrier) Start(f func()) (wait func() error, err error) {
	id := c.eal.Lcores()[0].ID
	if err := c.eal.Launch(id, f, nil); err != nil {
		return nil, err
	}
	return func() error { return c.eal.Wait(id) }, nil
}

// Close frees what is left and ends EAL. It fails when an mbuf did not come back.
func (c *carrier) Close() error {
	var errs []error
	if c.feeder != nil {
		c.feeder.Close()
	}
	if c.port != nil {
		errs = append(errs, c.port.Close())
	}
	if c.pool != nil {
		errs = append(errs, c.pool.Close())
	}
	return errors.Join(append(errs, c.eal.Close())...)
}
