package judge

import (
	"bytes"
	"fmt"
	"os"
	"strconv"

	"edemux/dataplane/mib"
)

// mibReader reads the MIB counters of the namespace in which it was opened.
type mibReader struct {
	files [3]*os.File // snmp, netstat: columns under headers; snmp6: lines
	buf   []byte
	cols  map[string][]mib.Counter // by the text of a header line
	lines map[string]mib.Counter
}

func openMIB() (*mibReader, error) {
	m := &mibReader{buf: make([]byte, 1<<16), lines: map[string]mib.Counter{}, cols: map[string][]mib.Counter{}}
	for i, name := range []string{"snmp", "netstat", "snmp6"} {
		f, err := os.Open("/proc/thread-self/net/" + name)
		if err != nil {
			return nil, fmt.Errorf("kernel counters: %w", err)
		}
		m.files[i] = f
	}
	for c := range mib.NCounters {
		m.lines[c.String()] = c
	}
	return m, nil
}

// text is the present content of a file, valid until the next call.
func (m *mibReader) text(i int) ([]byte, error) {
	n := 0
	for {
		k, err := m.files[i].ReadAt(m.buf[n:], int64(n))
		n += k
		if err != nil || k == 0 {
			break // at the end
		}
	}
	if n == 0 {
		return nil, fmt.Errorf("kernel counters: %s is empty", m.files[i].Name())
	}
	return m.buf[:n], nil
}

// columns maps the names of a header line to counters, -1: not ours. Linux adds
// columns to some lines when they are first counted.
func (m *mibReader) columns(head []byte) []mib.Counter {
	if cols, ok := m.cols[string(head)]; ok {
		return cols
	}
	group, names, _ := bytes.Cut(head, []byte(":"))
	var cols []mib.Counter
	for _, name := range bytes.Fields(names) {
		c, ok := m.lines[string(group)+string(name)]
		if !ok {
			c = mib.NCounters
		}
		cols = append(cols, c)
	}
	m.cols[string(head)] = cols
	return cols
}

// read returns all counters.
func (m *mibReader) read() (v [mib.NCounters]uint64, err error) {
	for i := range 2 {
		text, err := m.text(i)
		if err != nil {
			return v, err
		}
		m.pairs(text, &v)
	}
	text, err := m.text(2)
	if err != nil {
		return v, err
	}
	for _, line := range bytes.Split(text, []byte("\n")) {
		f := bytes.Fields(line)
		if len(f) != 2 {
			continue
		}
		if c, ok := m.lines[string(f[0])]; ok {
			v[c] = number(f[1])
		}
	}
	return v, nil
}

// pairs reads lines of names, each followed by a line of values.
func (m *mibReader) pairs(text []byte, v *[mib.NCounters]uint64) {
	for len(text) > 0 {
		var head, values []byte
		head, text, _ = bytes.Cut(text, []byte("\n"))
		values, text, _ = bytes.Cut(text, []byte("\n"))
		_, values, _ = bytes.Cut(values, []byte(":"))
		cols := m.columns(head)
		for i, f := range bytes.Fields(values) {
			if i < len(cols) && cols[i] < mib.NCounters {
				v[cols[i]] = number(f)
			}
		}
	}
}

func number(b []byte) uint64 {
	n, _ := strconv.ParseUint(string(b), 10, 64) // Tcp MaxConn is -1: none of ours
	return n
}

func (m *mibReader) close() {
	if m == nil {
		return
	}
	for _, f := range m.files {
		if f != nil {
			f.Close()
		}
	}
}
