package dpdk

import (
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// surface lists the exported functions and methods of the package's files that
// are built with or without the tag.
func surface(t *testing.T, dpdk bool) (out []string) {
	t.Helper()
	entries, err := os.ReadDir(".")
	require.NoError(t, err)
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		src, err := os.ReadFile(e.Name())
		require.NoError(t, err)
		line, _, _ := strings.Cut(string(src), "\n")
		if x, err := constraint.Parse(line); err == nil && !x.Eval(func(tag string) bool { return dpdk && tag == "dpdk" }) {
			continue
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, e.Name(), src, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Name.IsExported() {
				out = append(out, signature(t, fset, fn))
			}
		}
	}
	slices.Sort(out)
	return out
}

// signature prints a function without the names of its parameters.
func signature(t *testing.T, fset *token.FileSet, fn *ast.FuncDecl) string {
	t.Helper()
	strip := func(l *ast.FieldList) *ast.FieldList {
		if l == nil {
			return nil
		}
		out := &ast.FieldList{}
		for _, f := range l.List {
			for range max(1, len(f.Names)) {
				out.List = append(out.List, &ast.Field{Type: f.Type})
			}
		}
		return out
	}
	var b strings.Builder
	c := &ast.FuncDecl{Recv: strip(fn.Recv), Name: fn.Name, Type: &ast.FuncType{Params: strip(fn.Type.Params), Results: strip(fn.Type.Results)}}
	require.NoError(t, printer.Fprint(&b, fset, c))
	return b.String()
}

func TestStubHasTheSameSurface(t *testing.T) {
	require.Equal(t, surface(t, true), surface(t, false))
}
