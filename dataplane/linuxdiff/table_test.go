package linuxdiff

import (
	"flag"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/differences.md")

const page = "../../docs/differences.md"

func TestPageIsTheTable(t *testing.T) {
	if *update {
		if err := os.WriteFile(page, []byte(Markdown()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != Markdown() {
		t.Fatal("docs/differences.md is not what the table says: run go test ./dataplane/linuxdiff -update")
	}
}

func TestRowsAreWhole(t *testing.T) {
	for i, d := range Table {
		for _, s := range []string{d.Area, d.Linux, d.Edemux, d.Why} {
			if s == "" || strings.ContainsAny(s, "|\n") {
				t.Errorf("row %d: %q cannot stand in the table", i, s)
			}
		}
	}
}
