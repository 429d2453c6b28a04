package config

import (
	_ "embed"
	"fmt"
	"strings"
)

//go:embed example.tmpl.yaml
var exampleText string

//go:embed default.yaml
var defaultText string

// DefaultName is what errors and decisions call the built-in configuration.
const DefaultName = "default.yaml"

// DefaultText is the configuration that runs without -c.
func DefaultText() string { return defaultText }

// Default is the configuration that runs without -c, parsed. The caller owns it.
func Default() *Config {
	c, err := Parse(DefaultName, []byte(defaultText))
	if err != nil {
		panic(err) // a test parses it
	}
	return c
}

// Keys returns the table of every key.
func Keys() []Key { return rootSpec.list("") }

// Walk calls f for every key of the table and those below it.
func Walk(keys []Key, f func(Key)) {
	for _, k := range keys {
		f(k)
		Walk(k.Sub, f)
	}
}

// columns of the example: where remarks begin, and how long a line may get.
const (
	remarkColumn = 44
	lineLength   = 120
)

// Example is the commented configuration: every key with its meaning, what it
// may be and its default. Keys that name files are commented out, so that it
// is valid anywhere.
func Example() string {
	table := map[string]Key{}
	Walk(Keys(), func(k Key) { table[k.Path] = k })
	var b strings.Builder
	b.WriteString("# edemux configuration. Every key has a default; an empty file is valid.\n" +
		"# Relative file names are relative to this file.\n\n")
	var path pathStack
	done := map[string]bool{}
	for _, line := range strings.Split(strings.TrimSuffix(exampleText, "\n"), "\n") {
		key := path.next(line)
		k, known := table[key]
		if !known || done[key] {
			b.WriteString(line + "\n")
			continue
		}
		done[key] = true
		remark(&b, line, k)
	}
	return b.String()
}

// remark writes line with what the table says of its key: at its end, or above
// it when that would get too long.
func remark(b *strings.Builder, line string, k Key) {
	text := "# " + k.Doc
	var facts []string
	if len(k.Sub) == 0 {
		facts = append(facts, k.Type)
		switch {
		case k.Must:
			facts = append(facts, "must be given")
		case k.Default != "":
			facts = append(facts, "default "+k.Default)
		}
	}
	if len(facts) > 0 {
		text += " (" + strings.Join(facts, "; ") + ")"
	}
	if max(len(line)+2, remarkColumn)+len(text) <= lineLength {
		fmt.Fprintf(b, "%-*s  %s\n", remarkColumn-2, line, text)
		return
	}
	indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
	for _, part := range wrap(text[2:], lineLength-len(indent)-2) {
		b.WriteString(indent + "# " + part + "\n")
	}
	b.WriteString(line + "\n")
}

// wrap breaks text at spaces into parts of at most width bytes.
func wrap(text string, width int) (out []string) {
	for len(text) > width {
		i := strings.LastIndexByte(text[:width], ' ')
		if i <= 0 {
			break
		}
		out, text = append(out, text[:i]), text[i+1:]
	}
	return append(out, text)
}

// pathStack follows the indentation of the example's lines.
type pathStack []struct {
	indent int
	path   string
}

// next returns the path of the key on line, "" when there is none.
func (s *pathStack) next(line string) string {
	body := strings.TrimLeft(line, " ")
	indent := len(line) - len(body)
	if rest, ok := strings.CutPrefix(body, "# "); ok {
		body = strings.TrimLeft(rest, " ")
		indent += len(rest) - len(body)
	}
	item := strings.HasPrefix(body, "- ")
	if item {
		body, indent = body[2:], indent+2
	}
	name, _, ok := strings.Cut(body, ":")
	if !ok {
		return ""
	}
	st := *s
	for len(st) > 0 && st[len(st)-1].indent >= indent {
		st = st[:len(st)-1]
	}
	path := strings.Trim(name, `"`)
	if len(st) > 0 {
		path = st[len(st)-1].path + "." + path
	}
	if item && len(st) > 0 {
		st[len(st)-1].path = strings.TrimSuffix(st[len(st)-1].path, "[]") + "[]"
		path = st[len(st)-1].path + "." + strings.Trim(name, `"`)
	}
	*s = append(st, struct {
		indent int
		path   string
	}{indent, path})
	return path
}

// Reference is the table of keys as a page in Markdown.
func Reference() string {
	var b strings.Builder
	b.WriteString("# Configuration reference\n\nGenerated from the table of keys (`edemux example` shows them in use).\n\n" +
		"| key | value | default | meaning |\n|---|---|---|---|\n")
	esc := strings.NewReplacer("|", `\|`)
	Walk(Keys(), func(k Key) {
		def := k.Default
		switch {
		case k.Must:
			def = "must be given"
		case def != "":
			def = "`" + def + "`"
		case len(k.Sub) == 0:
			def = "absent"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", k.Path, esc.Replace(k.Type), def, esc.Replace(k.Doc))
	})
	return b.String()
}
