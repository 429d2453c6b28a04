// Package edemux_test holds the checks that are about the repository as a whole
// and about the built program as its users run it: which package may import
// which, how long files get, what the documents say, golden replays of
// testdata/pcap, real captures with expectations, and command-line scripts.
package edemux_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The budget of DESIGN's style is 400 lines a file and 60 a function; these are
// the lengths at which the build breaks.
const (
	maxFileLines = 450
	maxFuncLines = 80
)

// layers are the top-level folders, lowest first. A package may import its own
// layer and those before it.
var layers = []string{"flowtable", "demux", "dataplane", "cli", "app"}

// layer returns the index of a package of this module in layers, -1 for others.
func layer(importPath string) int {
	rel, ok := strings.CutPrefix(importPath, "edemux/")
	if !ok {
		return -1
	}
	top, _, _ := strings.Cut(rel, "/")
	return slices.Index(layers, top)
}

// goFile is one parsed source file.
type goFile struct {
	name string // slash-separated, from the root of the repository
	ast  *ast.File
	fset *token.FileSet
	src  []byte
}

func (f goFile) isTest() bool { return strings.HasSuffix(f.name, "_test.go") }

func (f goFile) imports() []string {
	var all []string
	for _, s := range f.ast.Imports {
		p, err := strconv.Unquote(s.Path.Value)
		if err == nil {
			all = append(all, p)
		}
	}
	return all
}

// trackedFiles lists what git knows, or, in an unpacked archive, every file
// outside the folders of build results.
func trackedFiles(t *testing.T) []string {
	t.Helper()
	out, err := exec.Command("git", "-c", "safe.directory=*", "ls-files", "-z").Output()
	if err == nil && len(out) > 0 {
		names := strings.Split(strings.TrimRight(string(out), "\x00"), "\x00")
		return slices.DeleteFunc(names, func(n string) bool {
			_, err := os.Stat(n)
			return err != nil // deleted in the work tree, not yet committed
		})
	}
	var names []string
	require.NoError(t, filepath.WalkDir(".", func(p string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && slices.Contains([]string{".git", "bin", "dist"}, d.Name()) {
			return filepath.SkipDir
		}
		if d.Type().IsRegular() {
			names = append(names, filepath.ToSlash(p))
		}
		return nil
	}))
	return names
}

// goFiles parses every tracked Go file, whatever its build constraints.
func goFiles(t *testing.T) []goFile {
	t.Helper()
	var files []goFile
	for _, name := range trackedFiles(t) {
		if path.Ext(name) != ".go" {
			continue
		}
		src, err := os.ReadFile(name)
		require.NoError(t, err)
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
		require.NoError(t, err)
		files = append(files, goFile{name: name, ast: f, fset: fset, src: src})
	}
	return files
}

func TestRepoImportDirection(t *testing.T) {
	for _, f := range goFiles(t) {
		own := "edemux/" + path.Dir(f.name)
		if layer(own) < 0 {
			continue
		}
		for _, imp := range f.imports() {
			assert.LessOrEqualf(t, layer(imp), layer(own),
				"%s imports %s: imports run %s, never back", f.name, imp, strings.Join(reversed(layers), " -> "))
			if !f.isTest() && layer(imp) == layer(own) {
				above := own != imp && strings.HasPrefix(own+"/", imp+"/")
				isEngine := imp == "edemux/dataplane"
				assert.Falsef(t, above && isEngine, "%s imports %s: the packages below dataplane are leaves", f.name, imp)
			}
			if strings.HasSuffix(imp, "test") && strings.HasPrefix(imp, "edemux/") && !strings.HasSuffix(own, "test") {
				assert.Truef(t, f.isTest() || layer(own) > slices.Index(layers, "dataplane"),
					"%s imports %s: the packet path builds no frames", f.name, imp)
			}
		}
	}
}

func reversed(s []string) []string {
	r := slices.Clone(s)
	slices.Reverse(r)
	return r
}

// TestRepoDependencies asks the go command for what is really linked, so that
// an import behind a build tag or through another module counts as well.
func TestRepoDependencies(t *testing.T) {
	for _, tags := range []string{"", "dpdk"} {
		cmd := exec.Command("go", "list", "-e", "-tags="+tags, "-deps", "-json=ImportPath,Deps,Standard", "./...")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		out, err := cmd.Output()
		require.NoError(t, err)
		for dec := json.NewDecoder(bytes.NewReader(out)); ; {
			var p struct {
				ImportPath string
				Deps       []string
			}
			if err := dec.Decode(&p); err == io.EOF {
				break
			} else {
				require.NoError(t, err)
			}
			own := layer(p.ImportPath)
			if own < 0 {
				continue
			}
			for _, dep := range p.Deps {
				assert.LessOrEqualf(t, layer(dep), own, "%s depends on %s (tags %q)", p.ImportPath, dep, tags)
				if own <= slices.Index(layers, "dataplane") {
					assert.NotContainsf(t, []string{"github.com/urfave/cli/v2", "github.com/google/gopacket"}, dep,
						"%s is on the packet path and depends on %s", p.ImportPath, dep)
				}
			}
		}
	}
}

func TestRepoHotPathImports(t *testing.T) {
	forbidden := []string{"fmt", "log", "log/slog", "time", "os", "sync"}
	for _, f := range goFiles(t) {
		base := path.Base(f.name)
		if path.Dir(f.name) != "dataplane" || !strings.HasPrefix(base, "walk") || f.isTest() {
			continue
		}
		for _, imp := range f.imports() {
			assert.NotContainsf(t, forbidden, imp, "%s: the walk formats nothing, reads no clock and takes no lock", f.name)
		}
	}
}

func TestRepoCgo(t *testing.T) {
	for _, f := range goFiles(t) {
		if slices.Contains(f.imports(), "C") {
			assert.Equalf(t, "dataplane/dpdk", path.Dir(f.name), "%s: cgo is for dataplane/dpdk alone", f.name)
			assert.Regexpf(t, `(?m)^//go:build .*\bdpdk\b`, string(f.src), "%s: cgo needs the build tag dpdk", f.name)
		}
	}
}

func TestRepoLengths(t *testing.T) {
	generated := regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)
	for _, f := range goFiles(t) {
		if generated.Match(f.src) {
			continue
		}
		lines := bytes.Count(f.src, []byte("\n"))
		assert.LessOrEqualf(t, lines, maxFileLines, "%s is too long", f.name)
		for _, d := range f.ast.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			from, to := f.fset.Position(fn.Pos()).Line, f.fset.Position(fn.End()).Line
			assert.LessOrEqualf(t, to-from+1, maxFuncLines, "%s:%d: function %s is too long", f.name, from, fn.Name.Name)
		}
	}
}

func TestRepoPackageComments(t *testing.T) {
	documented := map[string]bool{}
	for _, f := range goFiles(t) {
		key := path.Dir(f.name) + " " + f.ast.Name.Name
		if f.isTest() && strings.HasSuffix(f.ast.Name.Name, "_test") && path.Dir(f.name) != "." {
			continue // an external test package is described by the package it tests
		}
		documented[key] = documented[key] || f.ast.Doc != nil
	}
	for pkg, ok := range documented {
		assert.Truef(t, ok, "package %s has no doc comment", pkg)
	}
}

// TestRepoSkips: a test that cannot run fails under EDEMUX_STRICT=1, so a
// package that skips must know the variable. testing.Short is a wish of the
// caller, not something that is missing.
func TestRepoSkips(t *testing.T) {
	skips := regexp.MustCompile(`\.Skip(f|Now)?\(`)
	strict := map[string]bool{}
	skipping := map[string]string{}
	for _, f := range goFiles(t) {
		if !f.isTest() || f.name == "repo_test.go" {
			continue
		}
		dir := path.Dir(f.name)
		strict[dir] = strict[dir] || bytes.Contains(f.src, []byte("EDEMUX_STRICT"))
		for _, d := range f.ast.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			body := f.src[f.fset.Position(fn.Pos()).Offset:f.fset.Position(fn.End()).Offset]
			if skips.Match(body) && !bytes.Contains(body, []byte("testing.Short")) {
				skipping[dir] = fmt.Sprintf("%s: %s", f.name, fn.Name.Name)
			}
		}
	}
	for dir, where := range skipping {
		assert.Truef(t, strict[dir], "%s skips and nothing in its package reads EDEMUX_STRICT", where)
	}
}
