// Package doctor looks at what a machine has of what DPDK wants and names the
// command that mends each lack.
//
// Job: reading /proc and /sys, judging, nothing else: it changes nothing and
// needs no rights. Threads: any; a Host is only read. Errors: what cannot be read
// counts as absent.
package doctor

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Status is how a finding weighs.
type Status uint8

const (
	// OK needs nothing.
	OK Status = iota
	// Slow works, but not at the machine's speed.
	Slow
	// Lack keeps some mode from working at all.
	Lack
)

var statusNames = [...]string{"ok", "slow", "lack"}

// String is the word printed and used in JSON.
func (s Status) String() string { return statusNames[s] }

// MarshalText makes JSON carry the word.
func (s Status) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Finding is one thing looked at.
type Finding struct {
	Name   string `json:"name"`
	Status Status `json:"status"`
	Found  string `json:"found"`
	Needed string `json:"needed_for,omitempty"` // what does not work, or not well, without it
	Mend   string `json:"mend,omitempty"`       // the command; several joined by " && "
}

// Host is the machine. Root is prepended to every path, so that a test can lay
// one out in a folder; "" is this machine.
type Host struct {
	Root    string
	Built   bool   // the program has DPDK
	Version string // DPDK's name and version
	EUID    int
	Memlock uint64 // bytes that may be locked; all ones: no limit
}

// Examine looks at everything, in the order one would mend it.
func Examine(h Host) []Finding {
	out := []Finding{library(h), cpus(h), clock(h), hugepages(h), memlock(h)}
	out = append(out, rights(h)...)
	out = append(out, iommu(h), vfio(h))
	out = append(out, nics(h)...)
	return append(out, tun(h), bpffs(h), isolation(h))
}

// Worst is the heaviest status among the findings.
func Worst(fs []Finding) (w Status) {
	for _, f := range fs {
		w = max(w, f.Status)
	}
	return w
}

// Print writes the findings for people: a line each, and under a lack what it is
// needed for and the command.
func Print(w io.Writer, fs []Finding) error {
	for _, f := range fs {
		s := fmt.Sprintf("%-4s  %-12s %s\n", f.Status, f.Name, f.Found)
		if f.Needed != "" {
			s += fmt.Sprintf("%20sneeded for: %s\n", "", f.Needed)
		}
		if f.Mend != "" {
			s += fmt.Sprintf("%20smend: %s\n", "", f.Mend)
		}
		if _, err := io.WriteString(w, s); err != nil {
			return err
		}
	}
	return nil
}

func (h Host) path(p string) string { return filepath.Join("/", h.Root, p) }

// read is a file's text without the space around it, "" when absent.
func (h Host) read(p string) string {
	b, err := os.ReadFile(h.path(p))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

func (h Host) exists(p string) bool {
	_, err := os.Stat(h.path(p))
	return err == nil
}

// names lists a folder.
func (h Host) names(p string) (out []string) {
	es, _ := os.ReadDir(h.path(p))
	for _, e := range es {
		out = append(out, e.Name())
	}
	return out
}

// link is the last element of where a symbolic link leads, "" when absent.
func (h Host) link(p string) string {
	to, err := os.Readlink(h.path(p))
	if err != nil {
		return ""
	}
	return filepath.Base(to)
}

// field is the value of "name: value" in a text like /proc/self/status.
func field(text, name string) string {
	for line := range strings.Lines(text) {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == name {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// cpuList counts the CPUs of a list like 0-3,5.
func cpuList(s string) (n int) {
	for p := range strings.SplitSeq(s, ",") {
		a, b, isRange := strings.Cut(strings.TrimSpace(p), "-")
		first, err := strconv.Atoi(a)
		if err != nil {
			continue
		}
		last := first
		if isRange {
			last, _ = strconv.Atoi(b)
		}
		n += max(0, last-first+1)
	}
	return n
}
