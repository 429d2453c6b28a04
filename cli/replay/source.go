package replay

import (
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"edemux/cli/exit"
	"edemux/dataplane/capture"
)

// source is the merged input: opened captures, loop passes and frame numbers.
// The reading stage owns it.
type source struct {
	merge  *capture.Merge
	files  []*countedFile
	loops  int // passes; 0 = for ever
	pass   int
	shift  int64 // added to the times of the present pass, ns
	next   uint64
	stop   uint64 // last frame wanted
	until  int64  // capture time to stop before, 0 = none
	length time.Duration
}

// openSource opens the captures of ins, whose ports are named.
func openSource(ins []Source, stdin io.Reader, o *Options, frames frameRange) (*source, error) {
	s := &source{loops: o.Loop, next: 1, stop: frames.to, length: o.Duration}
	var readers []*capture.Reader
	for _, in := range ins {
		r, err := s.open(in, stdin)
		if err != nil {
			for _, f := range s.files {
				f.Close()
			}
			return nil, exit.AsUsage(fmt.Errorf("replay: %w", err))
		}
		readers = append(readers, r)
	}
	s.merge = capture.NewMerge(readers...)
	return s, nil
}

func (s *source) open(in Source, stdin io.Reader) (*capture.Reader, error) {
	opt := capture.Options{Port: in.Port}
	if in.Port != "" && !capture.ValidName(in.Port) {
		return nil, fmt.Errorf("port name %q: want 1 to 31 of A-Z a-z 0-9 _ . -", in.Port)
	}
	if in.Path == "-" {
		return capture.NewReader(stdin, "-", opt)
	}
	f, err := os.Open(in.Path)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err == nil && st.IsDir() {
		err = fmt.Errorf("%s: is a directory", in.Path)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	cf := &countedFile{File: f, size: st.Size()}
	s.files = append(s.files, cf)
	return capture.NewReader(cf, in.Path, opt)
}

// read fills the next batch.
func (s *source) read(b *batch) error {
	b.n, b.first = 0, s.next
	if s.next > s.stop {
		return io.EOF
	}
	n, err := s.merge.Fill(b.cap)
	if err == io.EOF && s.again() {
		if err = s.rewind(); err == nil {
			n, err = s.merge.Fill(b.cap)
		}
	}
	if err != nil {
		return err
	}
	b.n = int(min(uint64(n), s.stop-s.next+1))
	for i := range b.n {
		f := &b.cap.Frames[i]
		f.TS += s.shift
		if s.length > 0 {
			if s.until == 0 {
				s.until = f.TS + int64(s.length)
			}
			if f.TS >= s.until {
				b.n = i
				s.stop = 0
				break
			}
		}
	}
	s.next += uint64(b.n)
	return nil
}

// again reports whether another pass follows. An input without frames has
// nothing to play again.
func (s *source) again() bool {
	s.pass++
	_, _, any := s.merge.Span()
	return any && (s.loops == 0 || s.pass < s.loops)
}

func (s *source) rewind() error {
	first, last, _ := s.merge.Span()
	s.shift += last - first + capture.LoopGap
	return s.merge.Rewind()
}

// progress is the share of the files' bytes that was read, negative when not
// all inputs are files.
func (s *source) progress() float64 {
	var read, size int64
	for _, f := range s.files {
		read += f.read.Load()
		size += f.size
	}
	if size == 0 || len(s.files) < len(s.merge.Readers()) || s.loops != 1 {
		return -1
	}
	return min(1, float64(read)/float64(size))
}

// warnings are what the readers found damaged.
func (s *source) warnings() (all []capture.Warning) {
	for _, r := range s.merge.Readers() {
		all = append(all, r.Warnings()...)
	}
	return all
}

func (s *source) close() {
	s.merge.Close()
	for _, f := range s.files {
		f.Close()
	}
}

// countedFile counts what was read of a file, for the progress line.
type countedFile struct {
	*os.File
	size int64
	read atomic.Int64
}

func (f *countedFile) Read(p []byte) (int, error) {
	n, err := f.File.Read(p)
	f.read.Add(int64(n))
	return n, err
}

func (f *countedFile) Seek(offset int64, whence int) (int64, error) {
	n, err := f.File.Seek(offset, whence)
	if err == nil {
		f.read.Store(n)
	}
	return n, err
}
