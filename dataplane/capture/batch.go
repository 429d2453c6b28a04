package capture

import "edemux/dataplane/packet"

// Batch holds copies of frames in memory of its own, which Fill uses again and
// again. It belongs to whoever fills it until handed over.
type Batch struct {
	Frames  []packet.Frame // the frames of the last Fill
	Origins []Origin       // where each comes from
	arena   []byte
}

// NewBatch makes room for up to frames frames, at least one, of together size
// bytes, at least MaxRecord.
func NewBatch(frames, size int) *Batch {
	frames = max(frames, 1)
	return &Batch{
		Frames:  make([]packet.Frame, 0, frames),
		Origins: make([]Origin, 0, frames),
		arena:   make([]byte, 0, max(size, MaxRecord)),
	}
}

// Fill replaces the contents of b by the next frames, as many as fit, and
// returns their number. It returns an error, io.EOF at the end, only with 0
// frames: what comes before an error is delivered first. It allocates nothing
// but names of new ports.
func (m *Merge) Fill(b *Batch) (int, error) {
	b.Frames, b.Origins, b.arena = b.Frames[:0], b.Origins[:0], b.arena[:0]
	for len(b.Frames) < cap(b.Frames) {
		i, err := m.next()
		if err != nil {
			if len(b.Frames) > 0 {
				return len(b.Frames), nil
			}
			return 0, err
		}
		in := &m.in[i]
		at, n := len(b.arena), len(in.head.Data)
		if n > cap(b.arena)-at {
			return len(b.Frames), nil
		}
		b.arena = append(b.arena, in.head.Data...)
		b.Frames = append(b.Frames, in.head)
		b.Frames[len(b.Frames)-1].Data = b.arena[at : at+n : at+n]
		b.Origins = append(b.Origins, Origin{int(i), in.r.frames})
		m.stale = i
	}
	return len(b.Frames), nil
}
