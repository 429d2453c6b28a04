package edemux_test

import (
	"bytes"
	"os"
	"os/exec"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// text returns the tracked files that hold text, by name.
func text(t *testing.T) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for _, name := range trackedFiles(t) {
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		if !bytes.Contains(b[:min(len(b), 8000)], []byte{0}) {
			files[name] = b
		}
	}
	return files
}

// TestRepoText: what is committed names no home folder of whoever wrote it and
// no package registry (those are the settings of a machine, not of a project).
func TestRepoText(t *testing.T) {
	paths := regexp.MustCompile(`(^|[\s"'=:(])/(root|home/\w+|Users/\w+|work)/[\w.]`)
	hosts := regexp.MustCompile(`\b(proxy\.golang|sum\.golang|registry\.npmjs|deb\.debian|security\.debian|pypi\.python)\.org\b|\bpypi\.org\b|\b(docker|ghcr|quay|gcr)\.io/`)
	leftover := regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X)\b`)
	for name, b := range text(t) {
		for i, line := range strings.Split(string(b), "\n") {
			if name == "repo_text_test.go" && strings.Contains(line, "regexp.MustCompile") {
				continue
			}
			assert.NotRegexpf(t, paths, line, "%s:%d: a path of one machine", name, i+1)
			assert.NotRegexpf(t, hosts, line, "%s:%d: a registry's host name", name, i+1)
			if ext := path.Ext(name); ext == ".go" || ext == ".sh" || ext == ".md" {
				assert.NotRegexpf(t, leftover, line, "%s:%d: unfinished business", name, i+1)
			}
		}
	}
}

func TestRepoCaptureSizes(t *testing.T) {
	for _, name := range trackedFiles(t) {
		if path.Dir(name) != "testdata/pcap" {
			continue
		}
		st, err := os.Stat(name)
		require.NoError(t, err)
		assert.LessOrEqualf(t, st.Size(), int64(64<<10), "%s", name)
	}
}

// TestRepoCaptureList: testdata/pcap/README.md has a line for every capture and
// for nothing else.
func TestRepoCaptureList(t *testing.T) {
	b, err := os.ReadFile("testdata/pcap/README.md")
	require.NoError(t, err)
	var listed []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllSubmatch(b, -1) {
		listed = append(listed, string(m[1]))
	}
	var there []string
	for _, c := range goldenCaptures(t) {
		there = append(there, path.Base(c))
	}
	assert.ElementsMatch(t, there, listed)
}

var (
	fencedBlock = regexp.MustCompile("(?s)```[a-z]*\n(.*?)```")
	makeCall    = regexp.MustCompile(`(?m)(?:^|[$&;` + "`" + `])\s*(?:\w+=\S+ )*make ([a-z][a-z-]*)`)
	edemuxCall  = regexp.MustCompile(`(?m)(?:^|[$&;|` + "`" + `])\s*(?:sudo )?(?:\./)?(?:bin/)?edemux ([a-z][a-z-]*)`)
	repoPath    = regexp.MustCompile(`\b(?:testdata|docs|docker|app|cli|dataplane|demux|flowtable)/[\w./-]*\w`)
)

// documents are the pages whose commands are checked.
func documents(t *testing.T) map[string]string {
	t.Helper()
	docs := map[string]string{}
	for name, b := range text(t) {
		if name == "README.md" || path.Dir(name) == "docs" && path.Ext(name) == ".md" {
			docs[name] = string(b)
		}
	}
	require.True(t, docs["README.md"] != "", "README.md is missing")
	return docs
}

func TestRepoDocumentedTargets(t *testing.T) {
	mk, err := os.ReadFile("Makefile")
	require.NoError(t, err)
	for name, doc := range documents(t) {
		for _, m := range makeCall.FindAllStringSubmatch(doc, -1) {
			assert.Regexpf(t, `(?m)^`+regexp.QuoteMeta(m[1])+`:`, string(mk), "%s: make %s", name, m[1])
		}
	}
}

// TestRepoDocumentedCommands: every `edemux X` in a command block is a command
// of the program, and every path of the repository that a page names exists.
func TestRepoDocumentedCommands(t *testing.T) {
	for name, doc := range documents(t) {
		for _, block := range fencedBlock.FindAllStringSubmatch(doc, -1) {
			for _, m := range edemuxCall.FindAllStringSubmatch(block[1], -1) {
				out, _ := exec.Command(program(t), m[1], "--help").CombinedOutput()
				assert.NotRegexpf(t, `(?i)unknown command|no such command`, string(out), "%s: edemux %s", name, m[1])
			}
		}
		for _, p := range repoPath.FindAllString(doc, -1) {
			_, err := os.Stat(p)
			assert.NoErrorf(t, err, "%s names %s", name, p)
		}
	}
}

func TestRepoMakefile(t *testing.T) {
	mk, err := os.ReadFile("Makefile")
	require.NoError(t, err)
	for _, target := range []string{"demo", "build", "test", "lint", "bench", "fuzz", "install", "clean", "help", "golden"} {
		assert.Regexpf(t, `(?m)^`+target+`:`, string(mk), "target %s", target)
	}
	if _, err := exec.LookPath("make"); err != nil {
		unavailable(t, "make")
	}
	out, err := exec.Command("make", "-n", "demo", "build", "lint", "bench", "fuzz", "install", "clean", "golden").CombinedOutput()
	require.NoErrorf(t, err, "%s", out)
}
