package config

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestExampleIsValid(t *testing.T) {
	c, err := Parse("example.yaml", []byte(Example()))
	require.NoError(t, err)
	require.Empty(t, c.Warnings)
	if os.Getenv("EDEMUX_PRINT") != "" {
		t.Log("\n" + Example())
	}
}

func TestDefaultIsValid(t *testing.T) {
	c := Default()
	require.Empty(t, c.Warnings)
	require.True(t, c.VRFs[0].EveryLocal)
}

// TestExampleHasEveryKey: each key of the table stands in the example, active
// or commented out, with its default.
func TestExampleHasEveryKey(t *testing.T) {
	shown := Example()
	seen := map[string]bool{}
	var path pathStack
	for _, line := range strings.Split(exampleText, "\n") {
		p := path.next(line)
		require.True(t, strings.Contains(shown, line), line)
		seen[p] = true
	}
	// Wrapped remarks, read as one line.
	words := strings.Join(strings.Fields(strings.ReplaceAll(shown, "# ", " ")), " ")
	var missing []string
	Walk(Keys(), func(k Key) {
		if !seen[k.Path] {
			missing = append(missing, k.Path)
		}
		if k.Default != "" && !k.List {
			require.True(t, strings.Contains(words, "default "+k.Default), k.Path)
		}
	})
	require.Empty(t, missing)
}
