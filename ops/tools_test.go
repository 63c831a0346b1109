package ops

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/semiring"
)

// rounds is how many random machines a comparison with OpenFst draws: few, or
// what TROPICA_MACHINES says.
func rounds(t *testing.T, few int) int {
	s := os.Getenv("TROPICA_MACHINES")
	if s == "" {
		return few
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatalf("TROPICA_MACHINES=%q: %v", s, err)
	}
	return n
}

// asOpenFst fails the test unless the tool makes of the inputs exactly what we
// made of them (weights within what its printed floats could differ by), and
// says nothing of it that is not so.
func asOpenFst[W interface {
	semiring.Approx[W]
	semiring.Codec[W]
}](t *testing.T, o *fsttest.Tools, tool string, flags []string, got *fst.Vector[W], inputs ...fst.Expanded[W]) {
	t.Helper()
	want := fsttest.Apply(o, tool, flags, inputs...)
	if d := Compare[W](got, want, 1e-5); d != nil {
		for i, f := range inputs {
			t.Logf("input %d:\n%s", i, o.Do("fstprint", fsttest.WriteFile(o, f, nil)))
		}
		t.Fatalf("%s %q: %v\nours:\n%sOpenFst's:\n%s", tool, flags, d,
			o.Do("fstprint", fsttest.WriteFile[W](o, got, nil)), o.Do("fstprint", fsttest.WriteFile[W](o, want, nil)))
	}
	truthful(t, tool, got)
}

// State numbers and arc order of composition, over every filter, with either
// side sorted or both, known to be or not.
func TestComposeAsOpenFst(t *testing.T) {
	o := fsttest.OpenFst(t)
	rng := rand.New(rand.NewPCG(21, 1))
	number := func(x float64) semiring.Tropical { return semiring.Tropical(x) }
	for i := range rounds(t, 42) {
		a, b := drawMachine(rng, drawShape(rng), number), drawMachine(rng, drawShape(rng), number)
		a, b = sortedSides(a, b, i%4)
		if i/4%2 == 0 { // what is known decides which side is searched
			fst.PropertiesOf[semiring.Tropical](a, fst.AllProperties)
			fst.PropertiesOf[semiring.Tropical](b, fst.AllProperties)
		}
		opts := &ComposeOptions{Filter: Filter(i % len(filterNames)), KeepDead: i%3 == 0}
		flags := []string{"--compose_filter=" + opts.Filter.String(), fmt.Sprintf("--connect=%v", !opts.KeepDead)}
		fileA, fileB := a.Clone(), b.Clone() // with the properties as they are now
		got, err := Compose[semiring.Tropical](a, b, opts)
		if err != nil {
			r := o.Run("fstcompose", append(flags, fsttest.WriteFile[semiring.Tropical](o, fileA, nil), fsttest.WriteFile[semiring.Tropical](o, fileB, nil))...)
			if r.Exit == 0 {
				t.Fatalf("case %d: %v, but OpenFst composes", i, err)
			}
			continue
		}
		asOpenFst(t, o, "fstcompose", flags, got, fst.Expanded[semiring.Tropical](fileA), fst.Expanded[semiring.Tropical](fileB))
	}
}

func TestRationalAsOpenFst(t *testing.T) {
	o := fsttest.OpenFst(t)
	rng := rand.New(rand.NewPCG(22, 1))
	number := func(x float64) semiring.Tropical { return semiring.Tropical(x) }
	type V = *fst.Vector[semiring.Tropical]
	in := func(f V) fst.Expanded[semiring.Tropical] { return f }
	for i := range rounds(t, 5) {
		a, b := drawMachine(rng, drawShape(rng), number), drawMachine(rng, drawShape(rng), number)
		if i%2 == 0 {
			fst.PropertiesOf[semiring.Tropical](a, fst.AllProperties)
		}
		apply := func(tool string, flags []string, op func(V)) {
			t.Helper()
			c := a.Clone()
			op(c)
			asOpenFst(t, o, tool, flags, c, in(a))
		}
		c := a.Clone()
		if err := Union[semiring.Tropical](c, b, Limits{}); err != nil {
			t.Fatal(err)
		}
		asOpenFst(t, o, "fstunion", nil, c, in(a), in(b))
		c = a.Clone()
		if err := Concat[semiring.Tropical](c, b, Limits{}); err != nil {
			t.Fatal(err)
		}
		asOpenFst(t, o, "fstconcat", nil, c, in(a), in(b))
		apply("fstinvert", nil, Invert[semiring.Tropical])
		for _, side := range []Side{Input, Output} {
			apply("fstproject", []string{"--project_type=" + side.String()}, func(f V) { Project(f, side) })
			apply("fstmap", []string{"--map_type=" + side.String() + "_epsilon"}, func(f V) { EpsilonLabels(f, side) })
			apply("fstarcsort", []string{fmt.Sprintf("--sort_type=%clabel", side.String()[0])}, func(f V) { ArcSort(f, side) })
		}
		for _, yes := range []bool{true, false} {
			kind := Star
			if yes {
				kind = Plus
			}
			apply("fstclosure", []string{fmt.Sprintf("--closure_plus=%v", yes)}, func(f V) {
				if err := Closure(f, kind, Limits{}); err != nil {
					panic(err)
				}
			})
			r := fsttest.Must(Reverse[semiring.Tropical](a, &ReverseOptions{NoSuperInitial: !yes}))
			asOpenFst(t, o, "fstreverse", []string{fmt.Sprintf("--require_superinitial=%v", yes)}, r, in(a))
		}
		for name, op := range map[string]func(V){
			"arc_sum":    ArcSum[semiring.Tropical],
			"arc_unique": ArcUnique[semiring.Tropical],
			"invert":     InvertWeights[semiring.Tropical],
			"power":      func(f V) { PowerWeights(f, 2.5) },
			"quantize":   func(f V) { QuantizeWeights(f, 0.75) },
			"plus":       func(f V) { PlusWeights(f, 1) },
			"times":      func(f V) { TimesWeights(f, 1) },
			"rmweight":   RmWeight[semiring.Tropical],
			"superfinal": func(f V) { SuperFinal(f, fst.Epsilon) },
		} {
			apply("fstmap", []string{"--map_type=" + name, "--power=2.5", "--delta=0.75", "--weight=1"}, op)
		}
		for kind := EncodeLabels; kind <= EncodeLabels|EncodeWeights; kind++ {
			e, table := a.Clone(), NewEncodeTable[semiring.Tropical](kind)
			Encode(e, table)
			mapper, encoded, decoded := o.File(), o.File(), o.File()
			o.Do("fstencode", fmt.Sprintf("--encode_labels=%v", kind&EncodeLabels != 0), fmt.Sprintf("--encode_weights=%v", kind&EncodeWeights != 0),
				fsttest.WriteFile[semiring.Tropical](o, a, nil), mapper, encoded)
			if d := Compare[semiring.Tropical](e, fsttest.ReadFile[semiring.Tropical](o, encoded), 0); d != nil {
				t.Fatalf("fstencode, kind %d: %v", kind, d)
			}
			o.Do("fstencode", "--decode", encoded, mapper, decoded)
			if err := Decode(e, table); err != nil {
				t.Fatal(err)
			}
			if d := Compare[semiring.Tropical](e, fsttest.ReadFile[semiring.Tropical](o, decoded), 0); d != nil {
				t.Fatalf("fstencode --decode, kind %d: %v", kind, d)
			}
		}
		log := fsttest.Must(Convert[semiring.Log64, semiring.Tropical](a))
		out := o.File()
		o.Do("fstmap", "--map_type=to_log64", fsttest.WriteFile[semiring.Tropical](o, a, nil), out)
		if d := Compare[semiring.Log64](log, fsttest.ReadFile[semiring.Log64](o, out), 0); d != nil {
			t.Fatalf("fstmap to_log64: %v", d)
		}
	}
}

// Ties of more than 16 arcs come out as OpenFst's sort leaves them.
func TestArcSortAsOpenFst(t *testing.T) {
	o := fsttest.OpenFst(t)
	rng := rand.New(rand.NewPCG(23, 1))
	for i := range rounds(t, 12) {
		v := fst.NewVector[semiring.Tropical](1)
		v.AddStates(1)
		v.SetStart(0)
		n := 17 + rng.IntN(2000)
		for k := range n {
			l := 1 + rng.IntN(1+rng.IntN(n))
			switch i % 4 {
			case 1:
				l = 1 + k/9
			case 2:
				l = 1 + (n-k)/9
			case 3: // Musser's killer of median-of-3: ends in the heap
				if half := n / 2; k >= half {
					l = 2 * (k - half + 1)
				} else if k%2 == 0 {
					l = k + 1
				} else {
					l = half + k
				}
			}
			v.AddArc(0, fst.Arc[semiring.Tropical]{ILabel: fst.Label(l), OLabel: fst.Label(rng.IntN(2)), Weight: semiring.Tropical(k)})
		}
		asOpenFst(t, o, "fstarcsort", nil, ArcSorted[semiring.Tropical](v, Input), fst.Expanded[semiring.Tropical](v))
	}
}

func TestIsomorphicAsOpenFst(t *testing.T) {
	o := fsttest.OpenFst(t)
	rng := rand.New(rand.NewPCG(24, 1))
	number := func(x float64) semiring.Tropical { return semiring.Tropical(x) }
	yes := 0
	for i := range rounds(t, 30) {
		a := drawMachine(rng, drawShape(rng), number)
		Connect(a)
		b := shuffled(rng, a)
		if i%3 == 2 && b.NumArcs() > 0 { // and then changed
			for q := range b.NumStates() {
				if arcs := b.MutableArcs(fst.StateID(q)); len(arcs) > 0 {
					arcs[0].Weight += 0.25
					break
				}
			}
		}
		got, err := Isomorphic[semiring.Tropical](a, b, DefaultDelta)
		r := o.Run("fstisomorphic", fsttest.WriteFile[semiring.Tropical](o, a, nil), fsttest.WriteFile[semiring.Tropical](o, b, nil))
		want := map[int]string{0: "true", 1: "error", 2: "false"}[r.Exit]
		is := fmt.Sprint(got)
		if err != nil {
			is = "error"
		}
		if is != want {
			t.Fatalf("case %d: %s, OpenFst: %s\n%s\n%s", i, is, want,
				o.Do("fstprint", fsttest.WriteFile[semiring.Tropical](o, a, nil)), o.Do("fstprint", fsttest.WriteFile[semiring.Tropical](o, b, nil)))
		}
		if got {
			yes++
		}
	}
	if yes == 0 {
		t.Error("no pair was isomorphic")
	}
}

// shuffled returns f with states renumbered and arcs in another order.
func shuffled(rng *rand.Rand, f *fst.Vector[semiring.Tropical]) *fst.Vector[semiring.Tropical] {
	n := f.NumStates()
	to := rng.Perm(n)
	v := fst.NewVector[semiring.Tropical](n)
	v.AddStates(n)
	for q := range n {
		s := fst.StateID(to[q])
		v.SetFinal(s, f.Final(fst.StateID(q)))
		arcs := f.Arcs(fst.StateID(q))
		for _, i := range rng.Perm(len(arcs)) {
			e := arcs[i]
			e.NextState = fst.StateID(to[e.NextState])
			v.AddArc(s, e)
		}
	}
	if f.Start() != fst.NoState {
		v.SetStart(fst.StateID(to[f.Start()]))
	}
	return v
}
