package port

// Pace says when the frames of a capture are due. The zero Pace is at once.
type Pace struct {
	Times float64 // multiple of real time; 0: not by capture time
	PPS   float64 // frames a second; 0: not by rate
}

// due is when a frame is due, in ns since the start of its pass: since is the
// capture time since the first frame, number counts from 0.
func (p Pace) due(since int64, number uint64) int64 {
	switch {
	case p.PPS > 0:
		return int64(float64(number) / p.PPS * 1e9)
	case p.Times > 0:
		return max(0, int64(float64(since)/p.Times))
	}
	return 0
}
