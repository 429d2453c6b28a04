package top

import (
	"context"
	"io"
	"time"

	"edemux/cli/control"
	"edemux/cli/render"
)

// readKeys sends keys one by one until the end of input: a character as it is,
// the arrows as up, down, left and right, other sequences not at all.
func readKeys(in io.Reader, keys chan<- string) {
	defer close(keys)
	buf := make([]byte, 64)
	var rest []byte
	for {
		n, err := in.Read(buf)
		rest = append(rest, buf[:n]...)
		var list []string
		list, rest = splitKeys(rest)
		for _, k := range list {
			keys <- k
		}
		if err != nil {
			return
		}
	}
}

var arrows = map[byte]string{'A': "up", 'B': "down", 'C': "right", 'D': "left"}

// splitKeys cuts what was read into keys; rest may be the begin of one.
func splitKeys(b []byte) (keys []string, rest []byte) {
	for len(b) > 0 {
		if b[0] != 0x1b {
			keys = append(keys, string(b[:1]))
			b = b[1:]
			continue
		}
		if len(b) == 1 || (b[1] == '[' || b[1] == 'O') && len(b) == 2 {
			return keys, b
		}
		if b[1] != '[' && b[1] != 'O' {
			b = b[1:]
			continue
		}
		n := 2
		for n < len(b) && (b[n] < 0x40 || b[n] > 0x7e) {
			n++
		}
		if n == len(b) {
			if n > 16 {
				return keys, nil
			}
			return keys, b
		}
		if k := arrows[b[n]]; k != "" && n == 2 {
			keys = append(keys, k)
		}
		b = b[n+1:]
	}
	return keys, nil
}

// press carries out a key; true ends the program.
func (l *loop) press(key string) bool {
	switch key {
	case "q", "Q", "\x03", "\x04":
		return true
	case "1", "2", "3", "4", "5":
		l.show(render.View(key[0] - '1'))
	case "\t", "right":
		l.show((l.View + 1) % render.NViews)
	case "left":
		l.show((l.View + render.NViews - 1) % render.NViews)
	case "up", "k":
		l.Move(-1)
	case "down", "j":
		l.Move(1)
	case "s":
		l.sort()
	case "r":
		l.Reverse = !l.Reverse
	case " ":
		l.Paused = !l.Paused
	case "h", "?":
		l.Help = !l.Help
	case "+":
		l.setInterval(l.Interval * 2)
	case "-":
		l.setInterval(l.Interval / 2)
	case "i":
		l.toggle("ip")
	case "t":
		l.toggle("tcp")
	case "u":
		l.toggle("udp")
	}
	return false
}

func (l *loop) show(v render.View) {
	l.View, l.Sort, l.Reverse, l.Scroll, l.Help = v, 0, false, 0, false
}

func (l *loop) sort() {
	if n := l.Columns(); n > 0 {
		l.Sort = (l.Sort + 1) % (n + 1)
		return
	}
	l.say("choose a view with 2 to 5 to sort it")
}

func (l *loop) setInterval(d time.Duration) {
	l.Interval = min(longest, max(shortest, d))
	l.next.Reset(l.Interval)
}

// toggle turns a switch of the chosen VRF over.
func (l *loop) toggle(proto string) {
	vrf, s := "", control.Switches{}
	if l.View == render.ViewVRFs && !l.Help {
		vrf, s = l.VRF()
	}
	if vrf == "" {
		l.say("press 3 and choose a VRF with the arrows; then i, t and u turn its switches")
		return
	}
	on := map[string]bool{"ip": !s.IP, "tcp": !s.TCP, "udp": !s.UDP}[proto]
	go func() {
		ctx, cancel := context.WithTimeout(l.ctx, 10*time.Second)
		defer cancel()
		c, err := l.daemon.SetEarlyDemux(ctx, control.SetEarlyDemux{Proto: proto, On: on, VRF: vrf})
		if err != nil {
			l.send(event{err: err})
			return
		}
		l.send(event{changed: c})
		snap, err := l.daemon.Snapshot(ctx, 0)
		if err == nil {
			l.send(event{snapshot: snap})
		}
	}()
}
