package dpdk

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func command(n, args int) *Command {
	return &Command{Path: "/edemux/x", Args: args, Answer: func(a []string) ([]Field, error) {
		if len(a) > 0 && a[0] == "nobody" {
			return nil, errors.New(`vrf nobody: there is none`)
		}
		var f []Field
		for i := range n {
			f = append(f, Field{fmt.Sprintf("counter_%04d", i), uint64(i) << 40})
		}
		return f, nil
	}}
}

func TestPagesCoverEverythingOnce(t *testing.T) {
	for _, n := range []int{0, 1, 239, 240, 241, 1000} {
		c := command(n, 0)
		first := c.run("")
		pages, seen := 1, 0
		if len(first) > 1 && first[1].Name == "pages" {
			pages = int(first[1].Value.(uint64))
		}
		for p := 1; p <= pages; p++ {
			for _, f := range c.run(fmt.Sprint(p)) {
				if f.Name != "page" && f.Name != "pages" {
					require.Equal(t, fmt.Sprintf("counter_%04d", seen), f.Name)
					seen++
				}
			}
		}
		require.Equal(t, n, seen)
		require.Equal(t, "error", c.run(fmt.Sprint(pages + 1))[0].Name)
	}
}

// A page's JSON stays below what DPDK sends even when every string is as long
// and every number as large as can be.
func TestPagesFit(t *testing.T) {
	var fields []Field
	for i := range 300 {
		fields = append(fields, Field{fmt.Sprintf("%s%d", strings.Repeat("n", 56), i), strings.Repeat("v", 200)})
		fields = append(fields, Field{fmt.Sprintf("a%d", i), []uint64{1<<64 - 1, 1<<64 - 1}})
		fields = append(fields, Field{fmt.Sprintf("d%d", i), []Field{{"x", ^uint64(0)}}})
	}
	total := 0
	for _, p := range pages(fields) {
		m := map[string]any{}
		for _, f := range p {
			switch v := f.Value.(type) {
			case string:
				m[telName(f.Name)] = telText(v)
			case []Field:
				m[telName(f.Name)] = map[string]any{v[0].Name: v[0].Value}
			default:
				m[telName(f.Name)] = v
			}
		}
		b, err := json.Marshal(m)
		require.NoError(t, err)
		require.Less(t, len(b), 15<<10)
		require.LessOrEqual(t, len(p), telFields)
		total += len(p)
	}
	require.Equal(t, len(fields), total)
}

func TestCommandParameters(t *testing.T) {
	c := command(300, 1)
	require.Equal(t, Field{"page", uint64(1)}, c.run("1")[0], "a VRF may be called 1")
	require.Equal(t, Field{"page", uint64(2)}, c.run("red,2")[0])
	require.Equal(t, []Field{{"error", "vrf nobody: there is none"}}, c.run("nobody"))
	require.Equal(t, []Field{{"error", `/edemux/x: page "x": want a number from 1`}}, c.run("red,x"))
	require.Equal(t, []Field{{"error", "/edemux/x: 0 parameters: want 1, then a page"}}, c.run(""))
	require.Equal(t, []Field{{"error", "/edemux/x: 3 parameters: want 1, then a page"}}, c.run("a,b,c"))
}

func TestTelemetryNames(t *testing.T) {
	require.Equal(t, "eth0_100_20", telName("eth0.100-20"))
	require.Len(t, telName(strings.Repeat("x", 200)), 60)
	require.Equal(t, "a_b__c", telText("a\"b\\\nc"))
}
