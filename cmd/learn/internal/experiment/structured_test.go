package experiment_test

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tropica-fst/tropica/cmd/learn/internal/experiment"
	"github.com/tropica-fst/tropica/learn/g2p"
	"github.com/tropica-fst/tropica/learn/sequence"
)

func TestPronouncing(t *testing.T) {
	f, err := os.Open("../../../../testdata/g2p/ice_train.tsv")
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	pairs, err := g2p.ReadPairs(f, "ice_train.tsv")
	if err != nil {
		t.Fatal(err)
	}
	run := func(ctx context.Context, train []g2p.Pair,
		o *experiment.StructuredOptions) (*experiment.StructuredReport, error) {
		o.Workers = 2
		return experiment.Pronouncing(ctx, "Icelandic", train, pairs[200:300], o)
	}
	kept(t, func(ctx context.Context, o *experiment.StructuredOptions) (*experiment.StructuredReport, error) {
		return run(ctx, pairs[:200], o)
	}, func(ctx context.Context, o *experiment.StructuredOptions) (*experiment.StructuredReport, error) {
		return run(ctx, pairs[1:201], o)
	})
}

// kept runs an experiment whole, and again after it was stopped: with what was kept it comes
// to the same report, and trains no model twice. What is kept of it is nothing to other data,
// nor to other settings.
func kept(t *testing.T, run, otherData func(context.Context,
	*experiment.StructuredOptions) (*experiment.StructuredReport, error)) {
	t.Helper()
	r, err := run(context.Background(), &experiment.StructuredOptions{})
	check(t, r, err)
	var cells []experiment.StructuredCell
	ctx, cancel := context.WithCancel(context.Background())
	o := &experiment.StructuredOptions{Save: func(c *experiment.StructuredCell) error {
		if cells = append(cells, *c); len(cells) == 3 {
			cancel()
		}
		return nil
	}}
	if _, err := run(ctx, o); !errors.Is(err, context.Canceled) {
		t.Fatalf("stopped: %v", err)
	}
	// Through a file, as a command keeps them.
	file, err := json.Marshal(cells)
	if err != nil {
		t.Fatal(err)
	}
	var known []experiment.StructuredCell
	if err := json.Unmarshal(file, &known); err != nil {
		t.Fatal(err)
	}
	if len(known) != 3 {
		t.Fatalf("%d models were kept", len(known))
	}
	trained, done := 0, 0
	again := &experiment.StructuredOptions{Known: known,
		Save: func(*experiment.StructuredCell) error { trained++; return nil }, Done: func(string) { done++ }}
	s, err := run(context.Background(), again)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r, s); diff != "" {
		t.Error(diff)
	}
	if trained != len(r.Models)-3 || done != len(r.Models) {
		t.Errorf("%d models were trained again of %d with 3 known, %d done", trained, len(r.Models), done)
	}
	stop := errors.New("trained")
	never := func(*experiment.StructuredCell) error { return stop }
	if _, err := run(context.Background(), &experiment.StructuredOptions{Known: known, L2: 1.5,
		Save: never}); !errors.Is(err, stop) {
		t.Errorf("models of other settings were taken: %v", err)
	}
	if _, err := otherData(context.Background(),
		&experiment.StructuredOptions{Known: known, Save: never}); !errors.Is(err, stop) {
		t.Errorf("models of other data were taken: %v", err)
	}
}

func check(t *testing.T, r *experiment.StructuredReport, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := r.WriteTable(&b); err != nil {
		t.Fatal(err)
	}
	if !r.Reached() {
		t.Errorf("the robust model's regret is not the least:\n%s", b.String())
	}
	for _, m := range r.Models {
		if m.Gap > 2e-3 || m.Gap < -1e-9 {
			t.Errorf("%s: gap %g", m.Name, m.Gap)
		}
	}
	t.Log("\n" + b.String())
}

func TestTagging(t *testing.T) {
	task := experiment.HomologTask{Length: 8, Homologs: 2, Indel: 0.05}
	examples, err := task.Draw(60, rand.New(rand.NewPCG(1, 1)))
	if err != nil {
		t.Fatal(err)
	}
	templates, err := sequence.ParseTemplates(strings.NewReader(
		"U0:%x[0,0]\nU1:%x[0,1]\nU2:%x[-1,0]\nU3:%x[1,0]\n"), "templates")
	if err != nil {
		t.Fatal(err)
	}
	run := func(ctx context.Context, train []sequence.Example,
		o *experiment.StructuredOptions) (*experiment.StructuredReport, error) {
		o.Workers = 2
		if o.L2 == 0 {
			o.L2 = 10
		}
		return experiment.Tagging(ctx, "homologs", train, examples[40:],
			&sequence.TrainOptions{Templates: templates}, o)
	}
	kept(t, func(ctx context.Context, o *experiment.StructuredOptions) (*experiment.StructuredReport, error) {
		return run(ctx, examples[:40], o)
	}, func(ctx context.Context, o *experiment.StructuredOptions) (*experiment.StructuredReport, error) {
		return run(ctx, examples[1:41], o)
	})
}
