package pdt_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/ops/pdt"
	"github.com/tropica-fst/tropica/semiring"
)

// drawRules returns rules 7, 8, … whose machines have labels 1 to 3 and call others:
// any, only later ones, or in a circle at the beginning or the end.
func drawRules(rng *rand.Rand) []ops.Rule[T] {
	n := 1 + rng.IntN(3)
	shape := rng.IntN(4)
	var rules []ops.Rule[T]
	for i := range n {
		f := fsttest.Random(rng, 1+rng.IntN(4), weightOf, fsttest.Options{Degree: 1.2, Acceptor: true})
		last := fst.StateID(f.NumStates() - 1)
		for q := range last + 1 {
			for k := range f.MutableArcs(q) {
				e := &f.MutableArcs(q)[k]
				j := rng.IntN(n)
				switch {
				case rng.IntN(3) > 0:
					continue
				case shape == 1 && q != 0, shape == 2 && e.NextState != last: // linear to the left, the right
					continue
				case shape == 3:
					if j <= i {
						continue
					}
				}
				e.ILabel, e.OLabel = fst.Label(7+j), fst.Label(7+j)
			}
		}
		f.SetProperties(0, fst.AllProperties)
		rules = append(rules, ops.Rule[T]{Label: fst.Label(7 + i), F: f})
	}
	return rules
}

func TestReplaceAsOpenFst(t *testing.T) {
	o := fsttest.OpenFst(t)
	rng := rand.New(rand.NewPCG(11, 6))
	alike := [2]int{}
	for range 150 {
		rules := drawRules(rng)
		opts := &pdt.ReplaceOptions{Parser: pdt.Parser(rng.IntN(2)), FirstParen: fst.Label(20 * rng.IntN(2))}
		ours, pairs, err := pdt.Replace(rules, 7, opts)
		if err != nil {
			t.Fatal(err)
		}
		var args []string
		for _, r := range rules {
			args = append(args, fsttest.WriteFile(o, r.F, nil), fmt.Sprint(r.Label))
		}
		file, out := o.File(), o.File()
		first := opts.FirstParen
		if first == 0 {
			first = -1
		}
		args = append([]string{"--pdt_parser_type=" + []string{"left", "left_sr"}[opts.Parser], fmt.Sprint("--start_paren_labels=", first),
			"--pdt_parentheses=" + file}, append(args, out)...)
		r := o.Run("pdtreplace", args...)
		if r.Exit != 0 {
			if opts.Parser == pdt.LeftSRParser {
				continue
			}
			t.Fatalf("%q: %s", args, r.Stderr)
		}
		theirs := fsttest.ReadFile[T](o, out)
		d := ops.Compare[T](ours, theirs, 0)
		if len(pairs) > 0 && pairs[0].From < 7+fst.Label(len(rules)) {
			continue // a rule that is not called has the label: OpenFst replaces parentheses
		}
		if d != nil && opts.Parser == pdt.LeftSRParser {
			continue // TestReplaceRelation tells which is right
		}
		if d != nil {
			for _, r := range rules {
				t.Logf("%d:\n%s", r.Label, text(r.F))
			}
			t.Fatalf("%v\nours:\n%s\ntheirs:\n%s", d, text(ours), text(theirs))
		}
		alike[opts.Parser]++
		if len(pairs) > 0 {
			got := pairsFile(o, pairs, nil)
			if o2 := readText(t, file); o2 != readText(t, got) {
				t.Fatalf("pairs %v, not\n%s", pairs, o2)
			}
		}
	}
	t.Logf("alike: %d left, %d left_sr", alike[0], alike[1])
	if alike[0] < 40 || alike[1] < 30 {
		t.Error("too few were compared")
	}
}

// sentences sums the weights of the strings of a rule by recursive descent: all
// derivations of at most depth nested calls and strings of at most length labels.
func sentences(rules map[fst.Label]fst.Expanded[T], root fst.Label, length, depth int) map[string]T {
	sum := map[string]T{}
	if depth == 0 || rules[root].Start() == fst.NoState {
		return sum
	}
	f := rules[root]
	called := map[fst.Label]map[string]T{}
	var walk func(q fst.StateID, s string, n int, w T)
	walk = func(q fst.StateID, s string, n int, w T) {
		if v := w.Times(f.Final(q)); !semiring.IsZero(v) {
			old, ok := sum[s]
			if !ok {
				old = semiring.Zero[T]()
			}
			sum[s] = old.Plus(v)
		}
		for _, e := range f.Arcs(q) {
			if _, ok := rules[e.OLabel]; !ok {
				if n < length {
					walk(e.NextState, s+string(rune('a'+e.OLabel)), n+1, w.Times(e.Weight))
				}
				continue
			}
			sub, ok := called[e.OLabel]
			if !ok {
				sub = sentences(rules, e.OLabel, length, depth-1)
				called[e.OLabel] = sub
			}
			for x, v := range sub {
				if n+len(x) <= length {
					walk(e.NextState, s+x, n+len(x), w.Times(e.Weight).Times(v))
				}
			}
		}
	}
	walk(f.Start(), "", 0, semiring.One[T]())
	return sum
}

// pathsOf sums the weights of the strings of a PDT by its definition: paths whose
// parentheses balance, of at most length labels and depth parentheses at once.
func pathsOf(f fst.Expanded[T], pairs []fst.LabelPair, length, depth int) map[string]T {
	type at struct {
		q     fst.StateID
		s     string
		stack string
	}
	best := map[at]T{}
	if f.Start() == fst.NoState {
		return map[string]T{}
	}
	first := at{q: f.Start()}
	best[first] = semiring.One[T]()
	queue := []at{first}
	for len(queue) > 0 { // Bellman and Ford over the bounded configurations
		a := queue[0]
		queue = queue[1:]
		for _, e := range f.Arcs(a.q) {
			b := at{e.NextState, a.s, a.stack}
			paren := false
			ok := true
			for i, p := range pairs {
				c := string(rune('A' + i))
				switch {
				case e.ILabel == p.From:
					paren, b.stack = true, a.stack+c
					ok = len(b.stack) <= depth
				case e.ILabel == p.To:
					paren = true
					if ok = len(a.stack) > 0 && a.stack[len(a.stack)-1:] == c; ok {
						b.stack = a.stack[:len(a.stack)-1]
					}
				}
			}
			if !paren && e.ILabel != fst.Epsilon {
				b.s += string(rune('a' + e.ILabel))
				ok = len(b.s) <= length
			}
			if !ok {
				continue
			}
			w := best[a].Times(e.Weight)
			if old, seen := best[b]; !seen || w < old {
				best[b] = w
				queue = append(queue, b)
			}
		}
	}
	sum := map[string]T{}
	for a, w := range best {
		if w := w.Times(f.Final(a.q)); a.stack == "" && !semiring.IsZero(w) {
			if old, ok := sum[a.s]; !ok || w < old {
				sum[a.s] = w
			}
		}
	}
	return sum
}

// The PDT of rules has their strings, whichever way it was made.
func TestReplaceRelation(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 7))
	strings := 0
	for range 400 {
		rules := drawRules(rng)
		of := map[fst.Label]fst.Expanded[T]{}
		for _, r := range rules {
			of[r.Label] = r.F
		}
		// A rule may call others without reading a label: depth is what bounds both
		// sides, and strings are compared that need less of it.
		const length, depth = 3, 5
		want := sentences(of, 7, length, depth)
		for _, parser := range []pdt.Parser{pdt.LeftParser, pdt.LeftSRParser} {
			f, pairs, err := pdt.Replace(rules, 7, &pdt.ReplaceOptions{Parser: parser})
			if err != nil {
				t.Fatal(err)
			}
			got := pathsOf(f, pairs, length, depth-1)
			if parser == pdt.LeftSRParser { // deeper calls are there, too
				more := sentences(of, 7, length, depth+1)
				for s, w := range want {
					if got[s] > w {
						t.Fatalf("string %q has weight %v, not %v", s, got[s], w)
					}
				}
				if len(more) == len(want) && cmp.Equal(more, want) {
					if diff := cmp.Diff(want, got); diff != "" && len(sentences(of, 7, length, depth+3)) == len(want) {
						for _, r := range rules {
							t.Logf("%d:\n%s", r.Label, text(r.F))
						}
						t.Fatalf("parser %d (-want +got):\n%s\n%s", parser, diff, text(f))
					}
				}
				continue
			}
			if diff := cmp.Diff(want, got); diff != "" {
				for _, r := range rules {
					t.Logf("%d:\n%s", r.Label, text(r.F))
				}
				t.Fatalf("parser %d (-want +got):\n%s\n%s", parser, diff, text(f))
			}
			strings += len(want)
		}
	}
	if strings < 500 {
		t.Errorf("only %d strings", strings)
	}
}

func TestReplaceRefuses(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	f := fsttest.Random(rng, 3, weightOf, fsttest.Options{Acceptor: true})
	f.AddArc(0, fst.Arc[T]{ILabel: 8, OLabel: 8, NextState: 1})
	rules := []ops.Rule[T]{{Label: 7, F: f}, {Label: 8, F: fsttest.String[T](1)}}
	for _, first := range []fst.Label{1, 2, -5, 1<<31 - 1} {
		if _, _, err := pdt.Replace(rules, 7, &pdt.ReplaceOptions{FirstParen: first}); !errors.Is(err, pdt.ErrParenLabels) {
			t.Errorf("FirstParen %d: %v", first, err)
		}
	}
	if _, _, err := pdt.Replace(rules, 9, nil); err == nil {
		t.Error("a root that is no rule was taken")
	}
	rules[1].Label = 0
	if _, _, err := pdt.Replace(rules, 7, nil); err == nil {
		t.Error("a rule for ε was taken")
	}
}
