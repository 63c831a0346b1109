package main

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/tropica-fst/tropica/cmd/internal/cli"
	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/semiring"
)

// readTyped reads a machine from memory.
func readTyped(b []byte) (*typed, error) {
	c := findTool("print").newCall(cli.Streams{In: bytes.NewReader(b), Out: io.Discard, Err: io.Discard})
	return c.readMachine("")
}

// compareFiles compares two machines as fstequal does, with their types and symbols. A step above 0
// says that weights have been rounded to multiples of it: see sameButRounding.
func compareFiles(a, b []byte, delta float64, step float32) string {
	x, err := readTyped(a)
	if err != nil {
		return fmt.Sprint("our file: ", err)
	}
	y, err := readTyped(b)
	if err != nil {
		return fmt.Sprint("OpenFst's file: ", err)
	}
	// What is changed in place of an edit machine stays one in OpenFst.
	if x.ArcType() != y.ArcType() || x.fstType != y.fstType && y.fstType != "edit" {
		return fmt.Sprintf("a %s over %s against a %s over %s", x.fstType, x.ArcType(), y.fstType, y.ArcType())
	}
	// Of weights such as 10³⁰ in 64 bits the last digit is more than any delta: those that print
	// the same are the same.
	if d := x.Equal(x.m, y.m, delta); d != nil &&
		(step == 0 || !sameButRounding(printed(a), printed(b), delta, step)) &&
		(x.ArcType() != "log64" || printed(a) != printed(b)) {
		return d.String()
	}
	for i, side := range []func(any) *fst.SymbolTable{fst.InputSymbols, fst.OutputSymbols} {
		s, t := side(x.m), side(y.m)
		if (s == nil) != (t == nil) || s != nil && !bytes.Equal(s.AppendBinary(nil), t.AppendBinary(nil)) {
			return fmt.Sprintf("symbols of side %d: %v against %v", i, s, t)
		}
	}
	beside := func(m any) *fst.AddOn { // what look-ahead files have beside the machine
		if f, ok := m.(interface{ AddOn() *fst.AddOn }); ok {
			return f.AddOn()
		}
		return nil
	}
	if d := cmp.Diff(beside(x.m), beside(y.m)); d != "" {
		return "look-ahead: " + d
	}
	return ""
}

// printed is the text of a machine, for messages.
func printed(b []byte) string {
	var out bytes.Buffer
	run([]string{"fstprint", "--numeric"}, cli.Streams{In: bytes.NewReader(b), Out: &out, Err: &out})
	return out.String()
}

// withoutLookAhead says where a composition with a label look-ahead machine has another relation
// than OpenFst's of the same two machines as sorted vectors.
func (p *peers) withoutLookAhead(c *peerCase, flags []string, result []byte) string {
	var files []string
	for i, side := range []string{"olabel", "ilabel"} {
		sorted := filepath.Join(p.dir, fmt.Sprintf("sorted%d", i))
		if _, errs, status := p.openFst("fstarcsort",
			[]string{"--sort_type=" + side, filepath.Join(p.dir, fmt.Sprintf("in%d.fst", i)), sorted},
			nil); status != 0 {
			return errs
		}
		files = append(files, sorted)
	}
	theirs, errs, status := p.openFst("fst"+c.tool.name, slices.Concat(flags, files), nil)
	if status != 0 {
		return "of sorted machines OpenFst has status " + strconv.Itoa(status) + ": " + errs
	}
	if c.inputs[0].arcType == "standard" {
		// Circles of ε-arcs have no end of paths, and no part in the best ones.
		mine, errs, status := p.openFst("fstrmepsilon", nil, result)
		if status != 0 {
			return errs
		}
		if theirs, errs, status = p.openFst("fstrmepsilon", nil, []byte(theirs)); status != 0 {
			return errs
		}
		return sameRelation([]byte(mine), []byte(theirs), 3)
	}
	m := modelOf([]byte(theirs))
	m.arcType, m.fstType = c.inputs[0].arcType, "vector"
	return keepsRelation(result, m, 0)
}

// sameSums says what differs between two acyclic machines whose weights are negative logarithms:
// pairs of strings of up to three labels, or the sums over all paths.
func sameSums(a, b []byte) string {
	x, y := modelOf(a), modelOf(b)
	if x.start < 0 || y.start < 0 {
		return "one of them has no start"
	}
	if s, t := x.distances(x.start, true)[x.start],
		y.distances(y.start, true)[y.start]; !(s == t || math.Abs(s-t) <= 2e-3*max(1, math.Abs(t))) {
		return fmt.Sprintf("all paths sum to %v, and in OpenFst's result to %v", s, t)
	}
	y.arcType, y.fstType = "standard", "vector"
	return keepsRelation(a, y, 1.0/1024)
}

// sameRelation says what differs between the pairs of strings of up to n labels that two machines
// over tropical weights have, of fewer labels where there are too many paths.
func sameRelation(a, b []byte, n int) (diff string) {
	defer func() {
		switch too := recover(); {
		case too != nil && n > 0:
			diff = sameRelation(a, b, n-1)
		case too != nil:
			diff = fmt.Sprint(too)
		}
	}()
	var of [2]map[fsttest.Pair]semiring.Tropical
	for i, file := range [][]byte{a, b} {
		m, err := fst.Read[semiring.Tropical](bytes.NewReader(file), nil)
		if err != nil {
			return err.Error()
		}
		of[i] = fsttest.Relation[semiring.Tropical](m, n)
	}
	return cmp.Diff(of[0], of[1], fsttest.Within[semiring.Tropical](1e-5))
}

// sameButRounding reports whether printed machines differ in weights only, by delta, or where the
// first's is one that a float32 cannot round to multiples of step, and so left alone here: OpenFst
// goes through with it, and of the quotient, the sum and the product each is rounded to a float32.
// The second must be just that.
func sameButRounding(a, b string, delta float64, step float32) bool {
	la, lb := strings.Split(a, "\n"), strings.Split(b, "\n")
	if len(la) != len(lb) {
		return false
	}
	for i := range la {
		fa, fb := strings.Split(la[i], "\t"), strings.Split(lb[i], "\t")
		// Weights are the last of two or five fields, and left out where they are 1̄.
		n := len(fa)
		if n != len(fb) || n > 1 && !slices.Equal(fa[:n-1], fb[:n-1]) {
			return false
		}
		if fa[n-1] == fb[n-1] {
			continue
		}
		x, err1 := strconv.ParseFloat(fa[n-1], 32)
		y, err2 := strconv.ParseFloat(fb[n-1], 32)
		if err1 != nil || err2 != nil || n != 2 && n != 5 {
			return false
		}
		quotient := float32(x) / step
		whole := float32(math.Floor(float64(float32(quotient + 0.5))))
		if !(math.Abs(x-y) <= delta) && !(math.Abs(float64(quotient)) >= 1<<22 && float32(y) == whole*step) {
			return false
		}
	}
	return true
}

// compareDistances compares printed distances: to the byte with the path property,
// otherwise to a thousandth, for OpenFst does not pass on what is below its delta. What it drops
// adds up to more where a cycle loses little mass: there ours must be the exact sum, and
// OpenFst's less of it.
func compareDistances(a, b string, c *peerCase) string {
	if c.inputs[0].arcType == "standard" {
		if a != b {
			return "distances differ"
		}
		return ""
	}
	la, lb := strings.Split(a, "\n"), strings.Split(b, "\n")
	if len(la) != len(lb) {
		return fmt.Sprintf("%d lines against %d", len(la), len(lb))
	}
	var exact []float64
	for i := range la {
		qa, wa, _ := strings.Cut(la[i], "\t")
		qb, wb, _ := strings.Cut(lb[i], "\t")
		x, _ := strconv.ParseFloat(wa, 64)
		y, _ := strconv.ParseFloat(wb, 64)
		if qa == qb && (wa == wb || math.Abs(x-y) <= 1e-3*max(1, math.Abs(y))) {
			continue
		}
		if exact == nil {
			exact = c.inputs[0].decoded().distances(c.source(), slices.Contains(c.flags, "--reverse"))
		}
		if q, err := strconv.Atoi(qa); qa == qb && err == nil && q < len(exact) &&
			math.Abs(x-exact[q]) <= 1e-5*max(1, math.Abs(x)) && y > x {
			continue
		}
		return fmt.Sprintf("line %d: %q against %q, exact %v", i+1, la[i], lb[i], exact)
	}
	return ""
}
