package experiment

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tropica-fst/tropica/learn/metrics"
	"github.com/tropica-fst/tropica/learn/run"
	"github.com/tropica-fst/tropica/learn/sequence"
)

// The generator does what the package comment says, within what chance allows.
func TestDraw(t *testing.T) {
	const count = 120
	g := HomologTask{Length: 200}
	draw := func(seed uint64) []sequence.Example {
		e, err := g.Draw(count, rand.New(rand.NewPCG(seed, 0)))
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	examples := draw(1)
	if diff := cmp.Diff(examples, draw(1)); diff != "" {
		t.Fatalf("the same seed gives other examples: %s", diff)
	}
	group := map[byte]int{}
	for k, s := range Residues {
		for i := range len(s) {
			group[s[i]] = k
		}
	}
	if len(group) != 20 {
		t.Fatalf("%d residues", len(group))
	}
	same, inGroup, other, total := 0, 0, 0, 0
	edits := 0
	for i := range examples {
		e := &examples[i]
		if len(e.Labels) != 200 || e.Len() != 200 {
			t.Fatalf("example %d: %d labels, %d positions", i, len(e.Labels), e.Len())
		}
		var homolog, decoy []string
		counts := map[string]int{}
		for p, row := range e.Columns {
			if len(row) != 5 {
				t.Fatalf("%d columns", len(row))
			}
			homolog, decoy = append(homolog, row[0]), append(decoy, row[4])
			counts[row[4]]++
			counts[e.Labels[p]]--
			if p < 10 { // before a shift is likely
				total++
				switch a, b := row[1][0], e.Labels[p][0]; {
				case a == b:
					same++
				case group[a] == group[b]:
					inGroup++
				default:
					other++
				}
			}
		}
		for r, n := range counts {
			if n != 0 {
				t.Fatalf("the decoy of example %d has %d more %s than the native", i, n, r)
			}
		}
		edits += metrics.EditDistance(homolog, e.Labels)
		if 2*metrics.EditDistance(decoy, e.Labels) < 200 {
			t.Errorf("the decoy of example %d is like the native", i)
		}
	}
	// 0.15 substituted, and at most 10 positions at 2% that lost step, on average half of them.
	if p := float64(same) / float64(total); p < 0.70 || p > 0.85 {
		t.Errorf("a share of %v of the first positions is kept", p)
	}
	if inGroup < other/2 {
		t.Errorf("%d substitutions within groups, %d others", inGroup, other)
	}
	if per := float64(edits) / count / 200; per < 0.14 || per > 0.20 { // 0.15 + 2·0.01, less what coincides
		t.Errorf("%v edits a residue", per)
	}
	for _, bad := range []HomologTask{{Length: -1}, {Indel: 0.6}, {Substitution: 2},
		{Conservative: math.NaN()}} {
		if _, err := bad.Draw(1, rand.New(rand.NewPCG(1, 1))); err == nil {
			t.Errorf("%+v was accepted", bad)
		}
	}
}

func small() *HomologOptions {
	return &HomologOptions{Task: HomologTask{Length: 12}, Train: 20, Heldout: 10, Test: 3, Seeds: 2,
		Objectives: HomologObjectives, L2: []float64{1, 16}, Gamma: []float64{1}, Iterations: 8}
}

func TestHomologs(t *testing.T) {
	var want *HomologReport
	for _, workers := range []int{1, 3} {
		o := small()
		o.Workers = workers
		got, err := Homologs(context.Background(), o)
		if err != nil {
			t.Fatal(err)
		}
		got.Seconds = 0
		if want == nil {
			want = got
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("with %d workers (-1 +%d):\n%s", workers, workers, diff)
		}
	}
	if len(want.Scores) != 4 || want.Tested != 6 {
		t.Fatalf("%+v", want)
	}
	for _, s := range want.Scores {
		if !(s.Score > -6 && s.Score <= 12) || len(s.Chosen) != 2 {
			t.Errorf("%+v", s)
		}
		if (s.Name == "smith-waterman" || s.Name == "risk") != (s.ErrorKind != "") {
			t.Errorf("%s: error kind %q", s.Name, s.ErrorKind)
		}
	}
	var text bytes.Buffer
	if err := want.WriteTable(&text); err != nil {
		t.Fatal(err)
	}
	for _, name := range HomologObjectives {
		if !strings.Contains(text.String(), "\n"+name) {
			t.Errorf("the table lacks %s:\n%s", name, text.String())
		}
	}
}

func TestHomologsRefuses(t *testing.T) {
	for _, o := range []*HomologOptions{
		{Objectives: []string{"edit"}}, {Train: -1}, {L2: []float64{-1}}, {Gamma: []float64{math.NaN()}},
		{Band: -1}, {Task: HomologTask{Indel: 0.7}},
	} {
		if _, err := Homologs(context.Background(), o); err == nil {
			t.Errorf("%+v was accepted", o)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Homologs(ctx, small()); err == nil || ctx.Err() == nil {
		t.Errorf("a cancelled run gave %v", err)
	}
}

// Constants are those with the least measure on held-out examples, whose part in
// the test is none.
func TestContestChooses(t *testing.T) {
	word := func(n int, label string) sequence.Example {
		e := sequence.Example{}
		for range n {
			e.Labels = append(e.Labels, label)
			e.Columns = append(e.Columns, []string{"in" + label})
		}
		return e
	}
	templates, err := sequence.ParseTemplates(strings.NewReader("U:%x[0,0]"), "templates")
	if err != nil {
		t.Fatal(err)
	}
	train := []sequence.Example{word(3, "a"), word(2, "b"), word(4, "a")}
	trial := Trial{Train: train, Heldout: train, Test: train[:2]}
	e := Entry{Name: "crf", L2: []float64{1e6, 0.1, 0.01},
		Options: sequence.TrainOptions{Templates: templates, Control: run.Control{}}}
	fits := 0
	c := Contest{Entries: []Entry{e}, Fitted: func(int, *Entry, Constants, float64, int) { fits++ },
		Measure: func(u, truth []string) float64 { return float64(metrics.Symbols(u, truth).Errors) }}
	out, err := c.Run(context.Background(), []Trial{trial})
	if err != nil {
		t.Fatal(err)
	}
	// With an l2 of a million all is "a"; the first that errs nowhere is 0.1.
	o := out[0][0]
	if o.Chosen.L2 != 0.1 || o.Edge || o.Heldout != 0 || fits != 3 {
		t.Errorf("chose %v (edge %v), held out %v after %d fits", o.Chosen, o.Edge, o.Heldout, fits)
	}
	if diff := cmp.Diff([]float64{0, 0}, o.Values); diff != "" || len(o.Predictions) != 2 {
		t.Error(diff)
	}
	// Fitted once more, it has seen the held-out examples, and an entry that starts from
	// another starts from such a model.
	apart := Trial{Train: train[:1], Heldout: train[1:], Test: train[1:]}
	again := c
	risk := e
	risk.Name, risk.L2, risk.Options.Kind = "risk", []float64{0.01}, sequence.Risk
	e.L2 = []float64{0.1, 0.01, 0.001} // the held-out label is not in training, so the first of equals is chosen
	again.Entries, again.Refit, fits = []Entry{risk, e}, true, 0
	if out, err = again.Run(context.Background(), []Trial{apart}); err != nil {
		t.Fatal(err)
	}
	for k := range out[0] {
		if diff := cmp.Diff([]float64{0, 0}, out[0][k].Values); diff != "" || len(out[0][k].Model.Labels()) != 2 {
			t.Errorf("%s after a second fit: labels %q\n%s", again.Entries[k].Name, out[0][k].Model.Labels(), diff)
		}
	}
	if fits != 4+2 {
		t.Errorf("%d fits, want 4 and 2", fits)
	}
	if _, err := c.Run(context.Background(), []Trial{{Train: train, Heldout: train}}); err == nil {
		t.Error("a trial without test examples was accepted")
	}
	c.Entries[0].L2 = nil
	if _, err := c.Run(context.Background(), []Trial{trial}); err == nil {
		t.Error("an entry without constants was accepted")
	}
}
