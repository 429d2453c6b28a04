package capture

import "io"

// Sizes in bytes. A buffer starts at bufStart, which is also how far a pcapng
// reader looks ahead for interfaces, and grows to bufMax at most.
const (
	bufStart = 128 << 10
	bufMax   = 512 << 10
)

// stream is a window on a byte stream. Bytes buf[r:w] are read but not yet
// consumed; slices of them stay valid until the next call of need or skip.
type stream struct {
	src  io.Reader
	buf  []byte
	r, w int
	base int64 // offset of buf[0] in the stream
	err  error // why src gives no more; io.EOF at its end
}

func (s *stream) reset(src io.Reader) {
	s.src, s.r, s.w, s.base, s.err = src, 0, 0, 0, nil
	if s.buf == nil {
		s.buf = make([]byte, bufStart)
	}
}

// offset is the position in the stream of the next byte to consume.
func (s *stream) offset() int64 { return s.base + int64(s.r) }

// avail is the number of bytes at hand.
func (s *stream) avail() int { return s.w - s.r }

// need reports whether the next n bytes (at most bufMax) are at hand, reading
// as far as necessary.
func (s *stream) need(n int) bool {
	if s.w-s.r >= n {
		return true
	}
	return s.fill(n)
}

func (s *stream) fill(n int) bool {
	if n > bufMax || s.err != nil {
		return false
	}
	dst := s.buf
	if n > len(dst) {
		dst = make([]byte, growTo(len(dst), n))
	}
	copy(dst, s.buf[s.r:s.w])
	s.buf = dst
	s.base += int64(s.r)
	s.w -= s.r
	s.r = 0
	for s.w < n {
		m, err := io.ReadAtLeast(s.src, s.buf[s.w:], 1)
		s.w += m
		if err != nil {
			s.err = err
			return s.w >= n
		}
	}
	return true
}

func growTo(have, n int) int {
	for have < n {
		have *= 2
	}
	return min(have, bufMax)
}

// take consumes n bytes that need has shown to be there.
func (s *stream) take(n int) []byte {
	b := s.buf[s.r : s.r+n : s.r+n]
	s.r += n
	return b
}

// skip consumes n bytes of any number without keeping them and reports whether
// they were all there.
func (s *stream) skip(n int64) bool {
	for n > int64(s.avail()) {
		n -= int64(s.avail())
		s.base += int64(s.w)
		s.r, s.w = 0, 0
		if s.err != nil {
			return false
		}
		s.w, s.err = io.ReadAtLeast(s.src, s.buf, 1)
	}
	s.r += int(n)
	return true
}
