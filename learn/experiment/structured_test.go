package experiment_test

import (
	"context"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/learn/experiment"
	"github.com/tropica-fst/tropica/learn/g2p"
	"github.com/tropica-fst/tropica/learn/sequence"
)

func TestPronouncing(t *testing.T) {
	f, err := os.Open("../../testdata/g2p/ice_train.tsv")
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	pairs, err := g2p.ReadPairs(f, "ice_train.tsv")
	if err != nil {
		t.Fatal(err)
	}
	r, err := experiment.Pronouncing(context.Background(), "Icelandic", pairs[:200], pairs[200:], &experiment.StructuredOptions{Workers: 2})
	check(t, r, err)
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
	templates, err := sequence.ParseTemplates(strings.NewReader("U0:%x[0,0]\nU1:%x[0,1]\nU2:%x[-1,0]\nU3:%x[1,0]\n"), "templates")
	if err != nil {
		t.Fatal(err)
	}
	r, err := experiment.Tagging(context.Background(), "homologs", examples[:40], examples[40:], &sequence.TrainOptions{Templates: templates}, &experiment.StructuredOptions{Workers: 2, L2: 10})
	check(t, r, err)
}
