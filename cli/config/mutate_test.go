package config

import (
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// line of the example: indentation, key, value, remark.
var exampleLine = regexp.MustCompile(`^( *(?:- )?)("?[A-Za-z0-9_.]+"?):( +)?("[^"]*"|\[[^]]*\]|[^#]*?)?( +#.*)?$`)

// mutator changes one token of the example so that it becomes invalid.
type mutator struct {
	r     *rand.Rand
	lines []string
	table map[string]Key
	paths []string // key path of each line, "" for none
}

func newMutator(seed uint64) *mutator {
	m := &mutator{r: rand.New(rand.NewPCG(seed, 1)), table: map[string]Key{}}
	Walk(Keys(), func(k Key) { m.table[k.Path] = k })
	var path pathStack
	for _, l := range strings.Split(exampleText, "\n") {
		p := path.next(l)
		if strings.HasPrefix(strings.TrimLeft(l, " "), "#") {
			p = ""
		}
		m.lines, m.paths = append(m.lines, l), append(m.paths, p)
	}
	return m
}

// misspell makes one typing error: a letter lost, doubled, swapped or changed.
func (m *mutator) misspell(s string) string {
	b := []byte(s)
	i := m.r.IntN(len(b))
	switch m.r.IntN(4) {
	case 0:
		return string(b[:i]) + string(b[i+1:])
	case 1:
		return string(b[:i]) + string(b[i]) + string(b[i:])
	case 2:
		if i+1 < len(b) {
			b[i], b[i+1] = b[i+1], b[i]
		}
	case 3:
		b[i] = "abcdefghijklmnopqrstuvwxyz"[m.r.IntN(26)]
	}
	return string(b)
}

// mutate returns the changed file, its changed line (from 1) and what was done.
func (m *mutator) mutate() (text string, line int, what string) {
	for {
		i := m.r.IntN(len(m.lines))
		if m.paths[i] == "" {
			continue
		}
		g := exampleLine.FindStringSubmatch(m.lines[i])
		if g == nil {
			continue
		}
		kind := m.r.IntN(4)
		key, value := g[2], strings.TrimSpace(g[4])
		switch kind {
		case 0:
			key = m.misspell(key)
		case 1:
			value = m.wrongType(value, m.table[m.paths[i]].Type)
		case 2:
			value = m.outOfRange(value, m.table[m.paths[i]].Type)
		case 3:
			value = m.dangle(value, m.paths[i])
		}
		if value == "" && g[4] != "" || key == g[2] && value == strings.TrimSpace(g[4]) {
			continue
		}
		changed := g[1] + key + ": " + value
		out := append([]string(nil), m.lines...)
		out[i] = strings.TrimRight(changed, " ")
		return strings.Join(out, "\n"), i + 1, fmt.Sprintf("%q -> %q", m.lines[i], out[i])
	}
}

func (m *mutator) wrongType(value, typ string) string {
	if value == "" {
		return "" // the value is on the lines below
	}
	options := []string{"[x, y]", "{x: 1}", "true", "[]", "~"}
	if strings.HasPrefix(typ, "number") || strings.HasPrefix(typ, "power") || typ == "0|1" {
		options = append(options, "abc", "1.5", `"`+value+`"`, "yes")
	}
	if strings.HasPrefix(value, "[") {
		options = []string{"5", "abc", "{a: 1}", "true", "[[1]]"}
	}
	return options[m.r.IntN(len(options))]
}

var numbers = regexp.MustCompile(`(\d+)\.\.(\d+)`)

func (m *mutator) outOfRange(value, typ string) string {
	switch {
	case strings.HasPrefix(typ, "number"), strings.HasPrefix(typ, "power"):
		if g := numbers.FindStringSubmatch(typ); g != nil {
			hi, _ := strconv.ParseUint(g[2], 10, 64)
			return []string{"-7", strconv.FormatUint(hi+1, 10), "99999999999999999999"}[m.r.IntN(3)]
		}
	case typ == "0|1":
		return "2"
	case strings.Contains(typ, "ADDR:PORT"):
		return []string{`"10.0.0.1:70000"`, `"10.0.0.300:53"`, `"[::1]:65536"`}[m.r.IntN(3)]
	case strings.Contains(typ, "prefix"):
		return strings.Replace(value, "/24", "/33", 1)
	case strings.Contains(typ, "LOW-HIGH"):
		return "0-65536"
	case strings.Contains(typ, "|"):
		return "never"
	}
	return ""
}

// dangle turns a reference, not a definition, into one that leads nowhere.
func (m *mutator) dangle(value, path string) string {
	switch path[strings.LastIndexByte(path, '.')+1:] {
	case "interfaces", "via", "dev", "workers", "worker", "socket", "vrf":
	default:
		return ""
	}
	if value == "" {
		return ""
	}
	i := strings.IndexAny(value, "abcdefghijklmnopqrstuvwxyz")
	return value[:i] + m.misspell(value[i:])
}

// TestMutations: of 1,000 single-token mistakes in the example at least 95 %
// are reported on the line that has the mistake, and none passes unnoticed
// unless the mutation happens to be valid.
func TestMutations(t *testing.T) {
	seed := uint64(20260801)
	if s := os.Getenv("EDEMUX_SEED"); s != "" {
		n, err := strconv.ParseUint(s, 10, 64)
		require.NoError(t, err)
		seed = n
	}
	m := newMutator(seed)
	const want = 1000
	found, hit, valid := 0, 0, 0
	for found < want {
		text, line, what := m.mutate()
		_, err := Parse("example.yaml", []byte(text))
		if err == nil {
			valid++
			require.Less(t, valid, want, "mutations do not make the file invalid")
			if testing.Verbose() && valid < 200 {
				t.Logf("valid: %s", what)
			}
			continue
		}
		found++
		p := err.(*Error).Problems[0]
		if p.Line == line {
			hit++
		} else {
			t.Logf("line %d: %s: reported: %v", line, what, err)
		}
	}
	t.Logf("seed %d: %d of %d on the mutated line, %d mutations were valid", seed, hit, found, valid)
	require.GreaterOrEqual(t, hit, want*95/100)
}
