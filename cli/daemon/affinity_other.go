//go:build !linux

package daemon

// pin does nothing where threads cannot be kept on a CPU.
func (d *Daemon) pin(cpu int, what string) bool {
	if cpu >= 0 {
		d.log.Warn("not pinned", "thread", what, "cpu", cpu)
	}
	return false
}

// housekeeping leaves the threads where they are.
func (d *Daemon) housekeeping() {}
