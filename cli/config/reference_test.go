package config

import (
	"flag"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

var updateReference = flag.Bool("update-reference", false, "write docs/configuration.md")

// TestReferencePage holds docs/configuration.md equal to the table of keys.
func TestReferencePage(t *testing.T) {
	const page = "../../docs/configuration.md"
	if *updateReference {
		require.NoError(t, os.WriteFile(page, []byte(Reference()), 0o644))
	}
	got, err := os.ReadFile(page)
	require.NoError(t, err)
	require.Equal(t, Reference(), string(got), "run go test ./cli/config -run Reference -update-reference")
}
