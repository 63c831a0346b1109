package fst_test

import (
	"bytes"
	"io"
	"runtime"
	"slices"
	"testing"
	"unsafe"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/semiring"
)

// wide returns a machine with n arcs at its start state and some at the next.
func wide(n int) *fst.Vector[semiring.Tropical] {
	v := fst.NewVector[semiring.Tropical](2)
	v.AddStates(2)
	v.SetStart(0)
	v.SetFinal(1, 1)
	arcs := make([]fst.Arc[semiring.Tropical], n)
	for i := range arcs {
		arcs[i] = fst.Arc[semiring.Tropical]{ILabel: fst.Label(i + 1), OLabel: fst.Label(i % 7), Weight: semiring.Tropical(i % 13), NextState: 1}
	}
	v.SetArcs(0, arcs)
	v.SetArcs(1, arcs[:5])
	return v
}

// allocated returns how many bytes do takes of the heap, with what it lets go of meanwhile.
func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// The arcs of a state with very many come to where they stay: all that is taken of the heap meanwhile
// is little more than they need, whether the size of the input is known or not. They used to
// be gathered beside, in arrays that doubled, at four times that.
func TestReadWide(t *testing.T) {
	if fsttest.RaceDetector {
		t.Skip("the race detector takes memory of its own")
	}
	const n = 1 << 20
	want := wide(n)
	var file bytes.Buffer
	if err := fst.Write(&file, fst.Expanded[semiring.Tropical](want), nil); err != nil {
		t.Fatal(err)
	}
	need := uint64(n * unsafe.Sizeof(fst.Arc[semiring.Tropical]{}))
	for name, r := range map[string]io.Reader{"file": bytes.NewReader(file.Bytes()), "pipe": struct{ io.Reader }{bytes.NewReader(file.Bytes())}} {
		var got fst.Expanded[semiring.Tropical]
		took := allocated(func() {
			var err error
			if got, err = fst.Read[semiring.Tropical](r, nil); err != nil {
				t.Fatal(err)
			}
		})
		t.Logf("%s: %.2f bytes for each of the arcs", name, float64(took)/float64(need))
		if took > need+need/4 {
			t.Errorf("%s: %d bytes taken for %d of arcs", name, took, need)
		}
		if err := fst.Verify(got, nil); err != nil {
			t.Error(name, err)
		}
		v := got.(*fst.Vector[semiring.Tropical])
		v.AddArc(0, fst.Arc[semiring.Tropical]{ILabel: 1, NextState: 1}) // what was given can still be added to
		v.AddArc(1, fst.Arc[semiring.Tropical]{ILabel: 2, NextState: 1})
		for q, k := range []int{n, 5} {
			if !slices.Equal(v.Arcs(fst.StateID(q))[:k], want.Arcs(fst.StateID(q))) || v.OutDegree(fst.StateID(q)) != k+1 {
				t.Errorf("%s: other arcs at state %d", name, q)
			}
		}
	}
}

// Of arcs that are told of and do not come, memory is taken for some times what did, in pages that nobody touches.
func TestReadWideCut(t *testing.T) {
	if fsttest.RaceDetector {
		t.Skip("the race detector takes memory of its own")
	}
	const n = 100_000
	v := wide(n)
	var file bytes.Buffer
	if err := fst.Write(&file, fst.Expanded[semiring.Tropical](v), nil); err != nil {
		t.Fatal(err)
	}
	b := file.Bytes()
	at := bytes.Index(b, []byte{0xa0, 0x86, 1, 0, 0, 0, 0, 0}) // 100,000, behind the final weight
	for at >= 0 && at < 60 {                                   // not the header's number of arcs
		at += 8 + bytes.Index(b[at+8:], []byte{0xa0, 0x86, 1, 0, 0, 0, 0, 0})
	}
	copy(b[at:], []byte{0xff, 0xff, 0xff, 0x7f}) // 2³¹-1 arcs, of 32 GB
	b[at] = 0xf0
	for name, r := range map[string]io.Reader{"file": bytes.NewReader(b), "pipe": struct{ io.Reader }{bytes.NewReader(b)}} {
		took := allocated(func() {
			if _, err := fst.Read[semiring.Tropical](r, nil); err == nil {
				t.Errorf("%s: no error", name)
			}
		})
		if took > 64*n*16 {
			t.Errorf("%s: %d bytes taken for a file of %d", name, took, len(b))
		}
	}
}

// A state whose arcs come one by one keeps one array of them, with room for as many again at most; the smaller ones that they
// were in before go to the collector, and what else is in the machine stays as it is.
func TestWideGrows(t *testing.T) {
	if fsttest.RaceDetector {
		t.Skip("the race detector takes memory of its own")
	}
	const n = 1<<20 + 1 // just beyond a doubling
	live := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	arc := func(i int) fst.Arc[semiring.Tropical] {
		return fst.Arc[semiring.Tropical]{ILabel: fst.Label(i), OLabel: fst.Label(i), NextState: fst.StateID(i % 3)}
	}
	before := live()
	v := fst.NewVector[semiring.Tropical](3)
	v.AddStates(3)
	v.SetArcs(0, make([]fst.Arc[semiring.Tropical], 1<<15)) // the first slab
	for i := range n {
		if i%1000 == 0 {
			v.AddArc(1, arc(i))
		}
		v.AddArc(2, arc(i))
		if i == 1<<17 {
			v.AddArc(0, arc(7))
		}
	}
	for q, want := range []int{1<<15 + 1, (n + 999) / 1000, n} {
		arcs := v.Arcs(fst.StateID(q))
		if len(arcs) != want {
			t.Fatalf("state %d has %d arcs, want %d", q, len(arcs), want)
		}
		for i, e := range arcs {
			switch {
			case q == 0 && i == 1<<15:
				i = 7
			case q == 0:
				i = 0
			case q == 1:
				i *= 1000
			}
			if e != arc(i) {
				t.Fatalf("arc %d of state %d is %v", i, q, e)
			}
		}
	}
	took := float64(live()-before) / float64((n+1<<15)*unsafe.Sizeof(arc(0)))
	runtime.KeepAlive(v)
	t.Logf("%.2f times the arcs", took)
	if took > 2.2 {
		t.Errorf("the machine takes %.2f times its arcs", took)
	}
}
