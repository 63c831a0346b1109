package main

import (
	"bytes"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/cmd/internal/cli"
	"github.com/tropica-fst/tropica/fst"
)

// What explain says of determinization is what determinize does: a "y" ends with a machine, an "n" with an error of
// functionality, or not before a limit. Random machines with cycles, acceptors and transducers, over a semiring that is idempotent
// and one that is not.
func TestExplainKnowsWhatDeterminizeDoes(t *testing.T) {
	if testing.Short() {
		t.Skip("some hundred determinizations that do not end before a limit")
	}
	said := map[string]int{}
	for i := range uint64(3000) {
		rng := rand.New(rand.NewPCG(i, 7))
		arcType := []string{"standard", "log"}[rng.IntN(2)]
		m := drawModel(rng, arcType, traits{noEpsilon: rng.IntN(2) == 0})
		if i%20 == 0 { // two ways of one input, told apart by its end, with a cycle each
			w := func() float64 { return []float64{0, 0.5, 2}[rng.IntN(3)] }
			m = &model{arcType: arcType, finals: []float64{math.Inf(1), math.Inf(1), math.Inf(1), w()}}
			for q := 1; q <= 2; q++ {
				m.arcs = append(m.arcs, modelArc{from: 0, to: q, in: 1, out: 1, weight: w()}, modelArc{from: q, to: q, in: 2, out: 2, weight: w()},
					modelArc{from: q, to: 3, in: fst.Label(2 + q), out: 1, weight: w()}, modelArc{from: 3, to: rng.IntN(4), in: fst.Label(4 + q), out: 1, weight: w()})
			}
		}
		m.fstType, m.isyms, m.osyms = "vector", 0, 0
		file := m.encode()
		call := func(words ...string) (string, int) {
			var out, errs bytes.Buffer
			status := run(words, cli.Streams{In: bytes.NewReader(file), Out: &out, Err: &errs})
			return out.String() + errs.String(), status
		}
		text, status := call("fst", "explain")
		if status != 0 {
			t.Fatalf("machine %d: explain: %s\n%v", i, text, m)
		}
		_, verdict, _ := strings.Cut(text, "determinizable ")
		verdict, _, _ = strings.Cut(strings.TrimSpace(verdict), "\n")
		kind, _, _ := strings.Cut(verdict, " (")
		kind, _, _ = strings.Cut(kind, ", such as")
		said[kind]++
		if kind != "y" { // states that lead nowhere are no part of what is said
			connected, status := call("fst", "connect")
			if status != 0 {
				t.Fatalf("machine %d: connect: %s", i, connected)
			}
			file = []byte(connected)
		}
		got, status := call("fst", "determinize", "--limit_states=3000")
		ok := true
		switch kind {
		case "y", "y, once fst connect has removed what leads to no final state":
			ok = status == 0 || strings.Contains(got, "3000")
		case "n: not functional":
			ok = status == 1 && strings.Contains(got, "not functional")
		case "n: no twins property":
			ok = status == 1
		}
		if !ok {
			t.Errorf("machine %d: explain says %q, determinize has status %d: %q\n%v", i, verdict, status, got, m)
		}
	}
	t.Log(said)
	for _, kind := range []string{"y", "y, once fst connect has removed what leads to no final state", "n: not functional", "n: no twins property"} {
		if said[kind] < 20 {
			t.Errorf("%q was said %d times: the machines that are drawn are not those that this is about", kind, said[kind])
		}
	}
}
