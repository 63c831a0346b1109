package model

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// Magic is how every file begins.
const Magic = magic

// Describe writes what a file is for people: the meta field, a line for each array with its element
// type and shape, and the bytes of all arrays. Long values of the meta field are cut.
func (c *Container) Describe(w io.Writer) error {
	b := bufio.NewWriter(w)
	line := func(label, format string, args ...any) {
		fmt.Fprintf(b, "%-50s%s\n", label, fmt.Sprintf(format, args...))
	}
	d := json.NewDecoder(bytes.NewReader(c.meta))
	var meta map[string]json.RawMessage
	if len(c.meta) > 0 {
		if err := d.Decode(&meta); err != nil {
			return fmt.Errorf("model: %w: meta: %w", ErrFormat, err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(meta)) {
		var short bytes.Buffer
		json.Compact(&short, meta[name]) // it was decoded: it is JSON
		line(name, "%s", cut(short.String()))
	}
	for i := range c.arrays {
		a := &c.arrays[i]
		shape := make([]string, len(a.shape))
		for k, n := range a.shape {
			shape[k] = fmt.Sprint(n)
		}
		line("array "+a.name, "%s [%s]", a.dtype, strings.Join(shape, ", "))
	}
	line("bytes of arrays", "%d", c.ArrayBytes())
	return b.Flush()
}

// maxShown is the longest value of the meta field that Describe shows whole, in characters.
const maxShown = 200

func cut(s string) string {
	r := []rune(s)
	if len(r) <= maxShown {
		return s
	}
	return string(r[:maxShown]) + fmt.Sprintf("… (%d characters)", len(r))
}
