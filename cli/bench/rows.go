package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"reflect"
	"strings"
	"text/tabwriter"
)

// printJSON prints the shape that every benchmark shares.
func printJSON(w io.Writer, name string, rows any) error {
	b, err := json.MarshalIndent(map[string]any{"bench": name, "rows": rows}, "", "  ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(b, '\n'))
	return err
}

// printRows prints a slice of pointers to row structs for people: the JSON names are the
// heads of the columns.
func printRows(w io.Writer, rows any) error {
	v := reflect.ValueOf(rows)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, f := range reflect.VisibleFields(v.Type().Elem().Elem()) {
		fmt.Fprint(t, strings.Split(f.Tag.Get("json"), ",")[0], "\t")
	}
	fmt.Fprintln(t)
	for i := range v.Len() {
		for j := range v.Index(i).Elem().NumField() {
			fmt.Fprint(t, cell(v.Index(i).Elem().Field(j)), "\t")
		}
		fmt.Fprintln(t)
	}
	return t.Flush()
}

func cell(v reflect.Value) string {
	if s, ok := v.Interface().(fmt.Stringer); ok {
		return s.String()
	}
	if v.Kind() != reflect.Float64 {
		return fmt.Sprint(v.Interface())
	}
	x := v.Float()
	switch a := math.Abs(x); {
	case x == 0:
		return "-"
	case a >= 1000:
		return fmt.Sprintf("%.0f", x)
	case a >= 20:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.3g", x)
}
