package fst

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tropica-fst/tropica/semiring"
)

// model is the machine that Vector must agree with, written as plainly as can be.
type model struct {
	start  StateID
	finals []semiring.Tropical
	arcs   [][]Arc[semiring.Tropical]
}

func (m *model) deleteStates(dead []bool) {
	var id []StateID
	var n StateID
	for q := range m.finals {
		if dead[q] {
			id = append(id, NoState)
		} else {
			id = append(id, n)
			n++
		}
	}
	k := &model{start: NoState}
	if m.start != NoState {
		k.start = id[m.start]
	}
	for q := range m.finals {
		if dead[q] {
			continue
		}
		var arcs []Arc[semiring.Tropical]
		for _, e := range m.arcs[q] {
			if id[e.NextState] != NoState {
				e.NextState = id[e.NextState]
				arcs = append(arcs, e)
			}
		}
		k.finals = append(k.finals, m.finals[q])
		k.arcs = append(k.arcs, arcs)
	}
	*m = *k
}

func (m *model) check(t *testing.T, v Expanded[semiring.Tropical]) {
	t.Helper()
	if v.NumStates() != len(m.finals) || v.Start() != m.start {
		t.Fatalf("%d states, start %d; want %d, %d", v.NumStates(), v.Start(), len(m.finals), m.start)
	}
	total := 0
	for q := range m.finals {
		if v.Final(StateID(q)) != m.finals[q] {
			t.Fatalf("state %d: final %v, want %v", q, v.Final(StateID(q)), m.finals[q])
		}
		if !slices.Equal(v.Arcs(StateID(q)), m.arcs[q]) {
			t.Fatalf("state %d: arcs %v, want %v", q, v.Arcs(StateID(q)), m.arcs[q])
		}
		total += len(m.arcs[q])
	}
	if n := NumArcs(v); n != total {
		t.Fatalf("%d arcs, want %d", n, total)
	}
	if c, ok := v.(interface{ NumArcs() int }); ok && c.NumArcs() != total {
		t.Fatalf("NumArcs() = %d, want %d", c.NumArcs(), total)
	}
}

func randomArc(rng *rand.Rand, n int) Arc[semiring.Tropical] {
	e := Arc[semiring.Tropical]{ILabel: Label(rng.IntN(4)), NextState: StateID(rng.IntN(n))}
	e.OLabel = e.ILabel
	if rng.IntN(3) == 0 {
		e.OLabel = Label(rng.IntN(4))
	}
	e.Weight = randomTropical(rng)
	return e
}

func randomTropical(rng *rand.Rand) semiring.Tropical {
	switch rng.IntN(6) {
	case 0:
		return semiring.Tropical(0).Zero()
	case 1:
		return semiring.Tropical(rng.IntN(8)) / 2
	}
	return 0
}

// Any mix of mutations leaves a Vector as it leaves the model, and every
// property that it then claims to know is true.
func TestVectorAgainstModel(t *testing.T) {
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 7))
		v := NewVector[semiring.Tropical](rng.IntN(4))
		m := &model{start: NoState}
		for step := range 120 {
			n := len(m.finals)
			op := rng.IntN(22)
			if n == 0 && op > 2 {
				op = 0
			}
			switch op {
			case 0, 1:
				if q := v.AddState(); int(q) != n {
					t.Fatalf("AddState() = %d, want %d", q, n)
				}
				m.finals = append(m.finals, semiring.Tropical(0).Zero())
				m.arcs = append(m.arcs, nil)
			case 2:
				w := randomTropical(rng)
				var arcs []Arc[semiring.Tropical]
				for range rng.IntN(3) {
					arcs = append(arcs, randomArc(rng, n+1))
				}
				v.PushState(w, arcs)
				m.finals = append(m.finals, w)
				m.arcs = append(m.arcs, slices.Clone(arcs))
			case 3:
				m.start = StateID(rng.IntN(n+1)) - 1
				v.SetStart(m.start)
			case 4, 5:
				q, w := rng.IntN(n), randomTropical(rng)
				v.SetFinal(StateID(q), w)
				m.finals[q] = w
			case 6:
				q := rng.IntN(n)
				var arcs []Arc[semiring.Tropical]
				for range rng.IntN(5) {
					arcs = append(arcs, randomArc(rng, n))
				}
				v.SetArcs(StateID(q), arcs)
				m.arcs[q] = slices.Clone(arcs)
			case 7:
				q := rng.IntN(n)
				k := rng.IntN(len(m.arcs[q]) + 1)
				v.TruncateArcs(StateID(q), k)
				m.arcs[q] = m.arcs[q][:k:k]
			case 8:
				if rng.IntN(8) == 0 {
					dead := make([]bool, n)
					for q := range dead {
						dead[q] = rng.IntN(4) == 0
					}
					v.DeleteStates(dead)
					m.deleteStates(dead)
				}
			case 9:
				if rng.IntN(20) == 0 {
					v.Clear()
					*m = model{start: NoState}
				}
			case 10:
				w := v.Clone()
				w.AddArc(0, randomArc(rng, n)) // must not show in v
				m.check(t, v)
				v = v.Clone()
			case 11: // what was computed is remembered and must stay true
				PropertiesOf(v, Properties(rng.Uint64())&AllProperties)
			default:
				q, e := rng.IntN(n), randomArc(rng, n)
				v.AddArc(StateID(q), e)
				m.arcs[q] = append(m.arcs[q], e)
			}
			m.check(t, v)
			checkProperties(t, v)
			if step%10 == 0 {
				c := NewConst[semiring.Tropical](v)
				m.check(t, c)
				checkProperties(t, c)
			}
		}
	}
}

// checkProperties fails unless every known bit of f is what Compute finds.
func checkProperties[W semiring.Weight[W]](t *testing.T, f Expanded[W]) {
	t.Helper()
	known := f.(Propertied).KnownProperties()
	truth, decided := Compute[W](f, AllProperties)
	if decided.Known() != AllProperties {
		t.Fatalf("Compute leaves %x open", AllProperties&^decided)
	}
	if wrong := known &^ truth; wrong != 0 {
		t.Fatalf("claims %x, of which %x is false", known, wrong)
	}
}

// States with many arcs cross slabs; growing an early state moves it.
func TestVectorManyArcs(t *testing.T) {
	v := NewVector[semiring.Tropical](3)
	v.AddStates(3)
	var want [3][]Arc[semiring.Tropical]
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 200_000 {
		q := StateID(rng.IntN(3))
		if i < 100_000 {
			q = 0
		}
		e := Arc[semiring.Tropical]{ILabel: Label(i), OLabel: Label(-i), NextState: StateID(i % 3)}
		v.AddArc(q, e)
		want[q] = append(want[q], e)
	}
	for q := range want {
		if !slices.Equal(v.Arcs(StateID(q)), want[q]) {
			t.Fatalf("state %d differs", q)
		}
	}
	v.SetArcs(1, want[0])
	if !slices.Equal(v.Arcs(1), want[0]) || !slices.Equal(v.Arcs(0), want[0]) || !slices.Equal(v.Arcs(2), want[2]) {
		t.Fatal("SetArcs of many arcs disturbs")
	}
}

func BenchmarkVectorAddArc(b *testing.B) {
	const states, degree = 1000, 8
	for b.Loop() {
		v := NewVector[semiring.Tropical](states)
		v.AddStates(states)
		for q := range StateID(states) {
			for i := range Label(degree) {
				v.AddArc(q, Arc[semiring.Tropical]{ILabel: i, OLabel: i, Weight: 1, NextState: (q + 1) % states})
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(states*degree), "ns/arc")
}
