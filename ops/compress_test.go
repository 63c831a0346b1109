package ops_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// compressed returns nil for a machine that the format cannot hold, for a good reason.
func compressed[W semiring.Codec[W]](t testing.TB, f fst.Expanded[W]) []byte {
	t.Helper()
	var b bytes.Buffer
	err := ops.Compress(&b, f)
	if err == nil {
		return b.Bytes()
	}
	var s *ops.StateError
	if !errors.As(err, &s) || !errors.Is(err, ops.ErrCompressed) || b.Len() > 0 {
		t.Fatal(err)
	}
	seen := map[fst.Arc[int]]bool{}
	for q := range fst.StateID(f.NumStates()) { // its states are numbered anew
		for _, e := range f.Arcs(q) {
			k := fst.Arc[int]{ILabel: e.ILabel, OLabel: e.OLabel, Weight: int(q), NextState: e.NextState}
			if seen[k] {
				return nil
			}
			seen[k] = true
		}
	}
	t.Fatal(err)
	return nil
}

// neighbourhoods describes each state by its arcs and what these lead to, in an order that does
// not depend on the numbers of states or the order of arcs.
func neighbourhoods(f fst.Expanded[semiring.Log64]) []string {
	var out []string
	for q := range fst.StateID(f.NumStates()) {
		labels := []string{}
		for _, e := range f.Arcs(q) {
			labels = append(labels, fmt.Sprint(e.ILabel, e.OLabel, e.Weight))
		}
		slices.Sort(labels)
		var next []string
		for _, e := range f.Arcs(q) {
			n := f.Arcs(e.NextState)
			next = append(next, fmt.Sprint(e.ILabel, e.OLabel, e.Weight, len(n), f.Final(e.NextState), e.NextState == q))
		}
		slices.Sort(next)
		out = append(out, fmt.Sprint(f.Final(q), labels, next))
	}
	slices.Sort(out)
	return out
}

// A machine comes back isomorphic, whatever is cut off fails, and what is altered does no harm.
func TestCompress(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 91))
	done := 0
	for i := range 300 {
		s := randomShape(rng)
		f := draw[semiring.Log64](rng, s)
		b := compressed[semiring.Log64](t, f)
		if b == nil {
			continue
		}
		done++
		g, err := ops.Decompress[semiring.Log64](bytes.NewReader(b), "x", ops.Limits{})
		if err != nil {
			t.Fatalf("machine %d: %v\n%s", i, err, printText(f))
		}
		if want, got := neighbourhoods(f), neighbourhoods(g); !slices.Equal(want, got) {
			t.Fatalf("machine %d:\n%s comes back as\n%s", i, printText(f), printText(g))
		}
		for k := range b {
			if i > 20 && rng.IntN(20) != 0 {
				continue
			}
			if _, err := ops.Decompress[semiring.Log64](bytes.NewReader(b[:k]), "x", ops.Limits{}); err == nil {
				t.Fatalf("machine %d: %d of %d bytes are enough", i, k, len(b))
			}
			c := bytes.Clone(b)
			c[k] ^= byte(1 + rng.IntN(255))
			if g, err := ops.Decompress[semiring.Log64](bytes.NewReader(c), "x", ops.Limits{Arcs: 1 << 16}); err == nil {
				for q := range fst.StateID(g.NumStates()) {
					for _, e := range g.Arcs(q) {
						_ = g.Final(e.NextState) // in range
					}
				}
			}
		}
	}
	if done < 150 {
		t.Fatalf("only %d machines compared", done)
	}
}

func TestCompressAsOpenFst(t *testing.T) {
	p := newPeer(t)
	rng := rand.New(rand.NewPCG(1, 92))
	done := 0
	for i := 0; done < machines(t, 20) && i < 1000; i++ {
		s := randomShape(rng)
		if i%4 == 0 {
			s.states, s.arcs = 40, 200
		}
		f := draw[semiring.Tropical](rng, s)
		ours := compressed[semiring.Tropical](t, f)
		if ours == nil {
			continue
		}
		done++
		write(p, "in", f)
		p.must("fstcompress", "in", "theirs")
		p.must("fstcompress", "--decode", "theirs", "back")
		want := fsttest.Must(os.ReadFile(filepath.Join(p.dir, "theirs")))
		if !bytes.Equal(ours, want) {
			t.Fatalf("machine %d: wrote\n%x, OpenFst\n%x\n%s", i, ours, want, p.show("in"))
		}
		g, err := ops.Decompress[semiring.Tropical](bytes.NewReader(want), "theirs", ops.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if !sameAs(p, "back", g, 0) {
			t.Fatalf("machine %d:\n%s", i, p.show("in", "ours", "back"))
		}
	}
}

func FuzzDecompress(f *testing.F) {
	rng := rand.New(rand.NewPCG(1, 93))
	for range 10 {
		f.Add(compressed[semiring.Tropical](f, draw[semiring.Tropical](rng, randomShape(rng))))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		g, err := ops.Decompress[semiring.Tropical](bytes.NewReader(in), "in", ops.Limits{Arcs: 1 << 16})
		if err != nil {
			return
		}
		for q := range fst.StateID(g.NumStates()) {
			for _, e := range g.Arcs(q) {
				if e.NextState < 0 || int(e.NextState) >= g.NumStates() {
					t.Fatal(e)
				}
			}
		}
	})
}

// What look-ahead composition is to know, against OpenFst's files.
func TestLabelLookAheadAsOpenFst(t *testing.T) {
	o := fsttest.OpenFst(t)
	if !o.PlugIns() {
		t.Skip("skipped: OpenFst's library of look-ahead types is not installed")
	}
	rng := rand.New(rand.NewPCG(1, 94))
	for i := range machines(t, 20) {
		f := draw[semiring.Tropical](rng, randomShape(rng))
		side, fstType := ops.Input, "ilabel_lookahead"
		if i%2 == 0 {
			side, fstType = ops.Output, "olabel_lookahead"
		}
		in, theirs, pairs := fsttest.WriteFile(o, fst.Expanded[semiring.Tropical](f), nil), o.File(), o.File()
		o.Do("fstconvert", "--fst_type="+fstType, "--save_relabel_ipairs="+pairs, "--save_relabel_opairs="+pairs, in, theirs)
		got, gotPairs, err := ops.LabelLookAhead(f, side, ops.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := fst.Write(&b, got, &fst.WriteOptions{Type: fstType}); err != nil {
			t.Fatal(err)
		}
		want := fsttest.Must(os.ReadFile(theirs))
		at := bytes.Index(want, []byte("standard")) + 16
		copy(b.Bytes()[at:], want[at:at+8])
		at += bytes.Index(want[at:], []byte("standard")) + 16
		copy(b.Bytes()[at:], want[at:at+8])
		if !bytes.Equal(b.Bytes(), want) {
			t.Fatalf("machine %d, %s: wrote\n%x, OpenFst\n%x\n%s", i, fstType, b.Bytes(), want, printText(f))
		}
		read := fsttest.ReadFile[semiring.Tropical](o, theirs).(*fst.Const[semiring.Tropical])
		if a := read.AddOn(); a == nil || (a.Input != nil) != (side == ops.Input) {
			t.Fatalf("add-on %+v", a)
		}
		wantPairs := fsttest.Must(fst.ReadLabelPairs(bytes.NewReader(fsttest.Must(os.ReadFile(pairs))), nil))
		set := map[fst.LabelPair]bool{}
		for _, p := range wantPairs {
			set[p] = true
		}
		for _, p := range gotPairs {
			if !set[p] {
				t.Fatalf("machine %d: pairs %v, OpenFst's %v", i, gotPairs, wantPairs)
			}
		}
		if len(gotPairs) != len(wantPairs) {
			t.Fatalf("machine %d: pairs %v, OpenFst's %v", i, gotPairs, wantPairs)
		}
	}
}
