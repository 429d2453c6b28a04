package config

import (
	"strings"
	"testing"
	"time"
)

// FuzzParse: no bytes can panic or hang the parser; an error is one line with
// a place inside the file; what is accepted is complete.
func FuzzParse(f *testing.F) {
	f.Add([]byte(Example()))
	f.Add([]byte(DefaultText()))
	for _, m := range mistakes {
		f.Add([]byte(m.text))
	}
	for _, s := range []string{"[[[[[[[", "{a: {a: {a: {", "- - - - - -", "? a\n: b", "a: |\n  b\n c", "\"", "'", "!", "%", "a: >\n", "--- ---", "...\n", "a:\n- b\n-", "&a *a", "\t", "\r", ":", "{:}", "{,}", "[,]", "@", "`", "a: |9\n", "<<: 1"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		start := time.Now()
		c, err := Parse("f.yaml", data)
		if d := time.Since(start); d > 20*time.Second {
			t.Fatalf("took %v", d)
		}
		if err == nil {
			if len(c.VRFs) == 0 || c.VRFs[0].Name != "default" || c.VRFs[0].Ehash == nil {
				t.Fatal("no default VRF")
			}
			return
		}
		e := err.(*Error)
		if strings.ContainsAny(e.Error(), "\n\r") {
			t.Fatalf("more than one line: %q", e.Error())
		}
		_ = e.Detail()
		lines := strings.Count(string(data), "\n") + 1
		for _, p := range e.Problems {
			if p.Line < 0 || p.Line > lines+1 || p.Line > 0 && p.Col < 1 {
				t.Fatalf("no such place %d:%d in %d lines: %v", p.Line, p.Col, lines, p)
			}
		}
	})
}

// TestHostileSizes: files that are made to cost time are read or refused soon.
func TestHostileSizes(t *testing.T) {
	const n = 100_000
	for name, text := range map[string]string{
		"flow sequences":  strings.Repeat("[", n),
		"flow mappings":   strings.Repeat("{a: ", n),
		"block sequences": strings.Repeat("- ", n),
		"keys":            strings.Repeat("a: 1\n", n),
		"alternating":     strings.Repeat("a:\n  b: 1\n", n),
		"anchors":         strings.Repeat("&a ", n),
		"questions":       strings.Repeat("? ", n),
		"colons":          strings.Repeat(": ", n),
		"quotes":          strings.Repeat("\"", n),
		"commas":          "[" + strings.Repeat(",", n),
		"flow keys":       "{" + strings.Repeat("a: 1, ", n) + "}",
		"comments":        strings.Repeat("# x\n", n),
		"text":            "script: \"" + strings.Repeat("\\n", n) + "\"",
		"block text":      "script: |\n" + strings.Repeat("  x\n", n),
		"documents":       strings.Repeat("---\n", n),
		"bars":            strings.Repeat("|\n", n),
		"vlans":           "ports:\n  - name: a\n    vlans:\n" + strings.Repeat("      1: a\n", 4400),
		"numbers":         "lcores: [" + strings.Repeat("1, ", n) + "1]",
	} {
		start := time.Now()
		if _, err := Parse("f.yaml", []byte(text)); err == nil && name != "comments" {
			t.Errorf("%s: accepted", name)
		}
		if d := time.Since(start); d > 10*time.Second {
			t.Errorf("%s: %v", name, d)
		} else {
			t.Logf("%s: %v", name, d.Round(time.Millisecond))
		}
	}
}
