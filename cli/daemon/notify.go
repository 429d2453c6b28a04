package daemon

import (
	"net"
	"os"
)

// notify tells systemd (Type=notify) what became of us. Without it, or when it
// does not listen, nothing happens: nobody waits for us then.
func (d *Daemon) notify(state string) {
	path := os.Getenv("NOTIFY_SOCKET")
	if path == "" {
		return
	}
	if path[0] == '@' {
		path = "\x00" + path[1:]
	}
	c, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		d.log.Warn("systemd does not listen", "error", err)
		return
	}
	defer c.Close()
	if _, err := c.Write([]byte(state)); err != nil {
		d.log.Warn("systemd does not listen", "error", err)
	}
}
