package judge

import (
	"errors"
	"fmt"

	"edemux/dataplane/packet"
	"edemux/demux"

	"golang.org/x/sys/unix"
)

// watch makes drain look at a socket.
func (k *Kernel) watch(fd int) error {
	ev := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLERR, Fd: int32(fd)}
	if err := unix.EpollCtl(k.epoll, unix.EPOLL_CTL_ADD, fd, &ev); err != nil {
		return fmt.Errorf("epoll: %w", err)
	}
	return nil
}

// drain takes everything that sockets have: datagrams, connections, bytes,
// errors. It does not wait.
func (k *Kernel) drain(o *Outcome) error {
	var events [64]unix.EpollEvent
	for range 1 << 16 {
		n, err := unix.EpollWait(k.epoll, events[:], 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return fmt.Errorf("epoll: %w", err)
		}
		if n == 0 {
			return nil
		}
		for _, ev := range events[:n] {
			s := k.fds[int(ev.Fd)]
			if s == nil {
				continue
			}
			if err := k.take(s, ev.Events, o); err != nil {
				return fmt.Errorf("socket %s: %w", s.name, err)
			}
		}
	}
	return errors.New("a socket is ready without end")
}

func (k *Kernel) take(s *ksock, events uint32, o *Outcome) error {
	switch {
	case s.proto == demux.UDP:
		return k.takeUDP(s, events, o)
	case s.child || s.spec.Connect.IsValid():
		return k.takeTCP(s, events, o)
	case s.spec.Listen:
		return k.accept4(s, o)
	}
	return k.unwatch(s) // bound only: closed for epoll, always ready
}

// takeUDP empties the error queue and the receive queue.
func (k *Kernel) takeUDP(s *ksock, events uint32, o *Outcome) error {
	if events&unix.EPOLLERR != 0 {
		found := false
		for {
			if _, _, _, _, err := unix.Recvmsg(s.fd, k.buf, k.buf[:0], unix.MSG_ERRQUEUE); err != nil {
				break
			}
			found = true
			o.Got = append(o.Got, Got{s.name, Error})
		}
		if e, err := unix.GetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_ERROR); err == nil && e != 0 && !found {
			o.Got = append(o.Got, Got{s.name, Error})
		}
	}
	for {
		_, _, err := unix.Recvfrom(s.fd, k.buf, unix.MSG_DONTWAIT)
		switch {
		case errors.Is(err, unix.EAGAIN):
			return nil
		case err != nil:
			o.Got = append(o.Got, Got{s.name, Error})
		default:
			o.Got = append(o.Got, Got{s.name, Data})
		}
	}
}

// accept4 takes every connection of a listener.
func (k *Kernel) accept4(s *ksock, o *Outcome) error {
	if s.spec.UID != 0 { // accept gives the connection to whoever calls it
		if _, err := unix.SetfsuidRetUid(int(s.spec.UID)); err != nil {
			return fmt.Errorf("accept: %w", err)
		}
		defer unix.SetfsuidRetUid(0) //nolint:errcheck // this thread's own user before
	}
	for {
		fd, sa, err := unix.Accept4(s.fd, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
		switch {
		case errors.Is(err, unix.EAGAIN):
			return nil
		case errors.Is(err, unix.ECONNABORTED), errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return fmt.Errorf("accept: %w", err)
		}
		local, err := unix.Getsockname(fd)
		if err != nil {
			unix.Close(fd)
			return fmt.Errorf("accept: %w", err)
		}
		c := &ksock{fd: fd, name: s.name, proto: demux.TCP, child: true, spec: s.spec,
			key: newFlowKey(addrPortOf(sa), addrPortOf(local))}
		c.segs = segments(fd)
		k.fds[fd] = c
		o.Got = append(o.Got, Got{s.name, Accept})
		if err := k.watch(fd); err != nil {
			return err
		}
	}
}

// takeTCP reads a connection.
func (k *Kernel) takeTCP(s *ksock, events uint32, o *Outcome) error {
	if events&unix.EPOLLERR != 0 {
		e, err := unix.GetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_ERROR)
		switch {
		case err != nil || e == 0:
		case unix.Errno(e) == unix.ECONNRESET || unix.Errno(e) == unix.EPIPE:
			o.Got = append(o.Got, Got{s.name, Ended})
			return k.unwatch(s)
		default:
			o.Got = append(o.Got, Got{s.name, Error})
		}
	}
	for {
		n, err := unix.Read(s.fd, k.buf)
		switch {
		case errors.Is(err, unix.EAGAIN):
			return nil
		case err != nil || n == 0:
			o.Got = append(o.Got, Got{s.name, Ended})
			return k.unwatch(s)
		default:
			o.Got = append(o.Got, Got{s.name, Data})
		}
	}
}

// unwatch keeps a connection that has ended from being ready for ever.
func (k *Kernel) unwatch(s *ksock) error {
	s.ended = true
	if err := unix.EpollCtl(k.epoll, unix.EPOLL_CTL_DEL, s.fd, nil); err != nil {
		return fmt.Errorf("epoll: %w", err)
	}
	return nil
}

// segments is tcpi_segs_in: the segments that the kernel gave this connection.
func segments(fd int) uint32 {
	info, err := unix.GetsockoptTCPInfo(fd, unix.SOL_TCP, unix.TCP_INFO)
	if err != nil {
		return 0
	}
	return info.Segs_in
}

// drainFlow looks at the connections of the frame's flow: whether they counted
// the segment, and whether one that has ended has an error.
func (k *Kernel) drainFlow(o *Outcome, m *packet.Meta) error {
	if !m.Has(packet.HasPorts|packet.HasTuple) || m.Proto != demux.TCP {
		return nil
	}
	key := keyOfMeta(m)
	for _, s := range k.fds {
		if s.proto != demux.TCP || s.key != key {
			continue
		}
		if n := segments(s.fd); n != s.segs {
			s.segs = n
			o.Got = append(o.Got, Got{s.name, Segment})
		}
	}
	return nil
}
