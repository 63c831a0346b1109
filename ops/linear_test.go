package ops

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/semiring"
)

// A composition with a linear model is that with the machine it stands for, under every filter.
func TestComposeLinearAgainstMachine(t *testing.T) {
	const vocabulary, features = "w0 f0 <empty>\nw1 f1 X|Y\nw2 f0 Y\n", "1\nf0|f1\tX 0.5\nf1|</s>\tX|Y 1.25\nf0|f0\tY 2\n"
	for _, classifier := range []bool{false, true} {
		b := fst.NewLinearBuilder[semiring.Tropical](&fst.LinearOptions{Classifier: classifier})
		known, text := vocabulary, features
		if classifier {
			known, text = "w0 f0 <empty>\nw1 f1 <empty>\nw2 f0 <empty>\n", "0\nf0|f1\tX 0.5\nf1\tY 1.25\n"
		}
		for _, err := range []error{b.ReadVocabulary(strings.NewReader(known), "words"), b.ReadFeatures(strings.NewReader(text), "features")} {
			if err != nil {
				t.Fatal(err)
			}
		}
		m := fsttest.Must(b.Model())
		whole := fsttest.Must(Materialize[semiring.Tropical](m.Expander(), Limits{}))
		rng := rand.New(rand.NewPCG(3, 7))
		for trial := range 300 {
			a := fsttest.Random(rng, 1+rng.IntN(4), drawTropical, fsttest.Options{Epsilon: 0.3})
			for _, filter := range []Filter{AutoFilter, SequenceFilter, AltSequenceFilter, MatchFilter, NoMatchFilter, TrivialFilter, NullFilter} {
				o := &ComposeOptions{Filter: filter, KeepDead: rng.IntN(2) == 0}
				got := fsttest.Must(ComposeLinear[semiring.Tropical](a, m, o))
				want := fsttest.Must(Compose[semiring.Tropical](a, whole, o))
				if diff := cmp.Diff(fsttest.Relation(want, 5), fsttest.Relation(got, 5), fsttest.Within[semiring.Tropical](1e-5)); diff != "" {
					t.Fatalf("trial %d, classifier %v, %v (-want +got):\n%s", trial, classifier, filter, diff)
				}
				if got.NumStates() != want.NumStates() {
					t.Fatalf("trial %d, classifier %v, %v: %d states, want %d", trial, classifier, filter, got.NumStates(), want.NumStates())
				}
			}
		}
	}
}
