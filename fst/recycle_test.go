package fst_test

import (
	"bytes"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/semiring"
	"github.com/tropica-fst/tropica/semiring/semiringtest"
)

// Machines that are read into the memory of the one before are those that were written, whatever their sizes, whether
// the stream knows its own or not, and with const ones and such of other weights between them.
func TestRecycle(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 1))
	var file bytes.Buffer
	var all []*fst.Vector[semiring.Tropical]
	write := func(v *fst.Vector[semiring.Tropical], o *fst.WriteOptions) {
		if err := fst.Write(&file, fst.Expanded[semiring.Tropical](v), o); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 60 {
		v := fsttest.Random(rng, 1+rng.IntN(30), semiringtest.Tropical)
		switch i % 20 {
		case 3: // nothing at all
			v = fst.NewVector[semiring.Tropical](0)
		case 7, 15: // of several slabs
			for range 20_000 + rng.IntN(30_000) {
				q := fst.StateID(rng.IntN(v.NumStates()))
				v.AddArc(q, fst.Arc[semiring.Tropical]{ILabel: fst.Label(rng.IntN(9)), OLabel: 1, Weight: 2, NextState: q})
			}
		}
		all = append(all, v)
		o := &fst.WriteOptions{}
		if i%10 == 4 {
			o.Type = "const"
		}
		write(v, o)
		if i%10 == 6 {
			other := fsttest.Random(rng, 5, semiringtest.Log64)
			if err := fst.Write(&file, fst.Expanded[semiring.Log64](other), nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, r := range []io.Reader{bytes.NewReader(file.Bytes()), struct{ io.Reader }{bytes.NewReader(file.Bytes())}} {
		s := fst.NewStream(r, nil)
		for i, want := range all {
			h, err := s.ReadHeader()
			if err != nil {
				t.Fatal(err)
			}
			m, err := fst.ReadBody[semiring.Tropical](s, h)
			if err != nil {
				t.Fatal(err)
			}
			if m.NumStates() != want.NumStates() || m.Start() != want.Start() || fst.NumArcs(m) != want.NumArcs() {
				t.Fatalf("machine %d: %d states, %d arcs, start %d; want %d, %d, %d", i, m.NumStates(), fst.NumArcs(m), m.Start(),
					want.NumStates(), want.NumArcs(), want.Start())
			}
			for q := range fst.StateID(want.NumStates()) {
				if m.Final(q) != want.Final(q) || !slices.Equal(m.Arcs(q), want.Arcs(q)) {
					t.Fatalf("machine %d: state %d differs", i, q)
				}
			}
			if err := fst.Verify(m, &fst.VerifyOptions{NegativeLabels: true}); err != nil {
				t.Fatalf("machine %d: %v", i, err)
			}
			if v, ok := m.(*fst.Vector[semiring.Tropical]); ok && i%3 > 0 {
				v.AddArc(v.AddState(), fst.Arc[semiring.Tropical]{}) // it may be changed before it is given back
				fst.Recycle(s, m)
				if v.NumStates() != 0 || v.NumArcs() != 0 || v.Start() != fst.NoState {
					t.Fatalf("machine %d is not empty behind Recycle", i)
				}
			} else if !ok {
				fst.Recycle(s, m)
				if m.NumStates() != want.NumStates() {
					t.Fatalf("machine %d, a const one, lost its states to Recycle", i)
				}
			}
			if i%10 == 6 {
				if h, err = s.ReadHeader(); err != nil {
					t.Fatal(err)
				}
				other, err := fst.ReadBody[semiring.Log64](s, h)
				if err != nil || other.NumStates() != 5 {
					t.Fatalf("machine behind %d: %v", i, err)
				}
				fst.Recycle(s, other)
			}
		}
	}
}

// Who recycles reads without new memory for states and arcs.
func TestRecycleAllocates(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 2))
	var file bytes.Buffer
	for range 50 {
		if err := fst.Write(&file, fst.Expanded[semiring.Tropical](fsttest.Random(rng, 2000, semiringtest.Tropical)), nil); err != nil {
			t.Fatal(err)
		}
	}
	read := func(recycle bool) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		s := fst.NewStream(struct{ io.Reader }{bytes.NewReader(file.Bytes())}, &fst.ReadOptions{Trust: true})
		for s.More() {
			h, err := s.ReadHeader()
			if err != nil {
				t.Fatal(err)
			}
			m, err := fst.ReadBody[semiring.Tropical](s, h)
			if err != nil {
				t.Fatal(err)
			}
			if recycle {
				fst.Recycle(s, m)
			}
		}
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	if with, without := read(true), read(false); with > without/4 {
		t.Errorf("%d bytes allocated, %d without Recycle", with, without)
	}
}
