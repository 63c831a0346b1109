package losses

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// Machines built label by label and class by class give the loss that was put
// in, whatever the sizes.
func TestBuilderRandom(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		l := rng.IntN(4)
		cols := make([]int, l+1)
		labels := make([]int, l)
		for i := range cols {
			cols[i] = 1 + rng.IntN(4)
		}
		cols[0] = 1
		var b Builder
		next := make([][]uint32, l)
		off := make([][]float64, l)
		for i := range l {
			labels[i] = 1 + rng.IntN(4)
			n := cols[i] * labels[i]
			next[i], off[i] = make([]uint32, n), make([]float64, n)
			idx := make([]uint32, n)
			for j := range n {
				next[i][j] = uint32(rng.IntN(cols[i+1]))
				off[i][j] = float64(rng.IntN(3)) * math.Sqrt2
				if rng.IntN(5) == 0 {
					off[i][j] = math.Inf(1)
				}
				idx[j] = b.Value(off[i][j])
			}
			if err := b.Layer(Layer{Labels: labels[i], Columns: cols[i], Next: next[i],
				Off: idx}); err != nil {
				t.Fatal(err)
			}
		}
		fin := make([]float64, cols[l])
		fidx := make([]uint32, cols[l])
		for j := range fin {
			fin[j] = rng.Float64()
			fidx[j] = b.Value(fin[j])
		}
		b.SetBase(0.5)
		m, err := b.Finish(fidx)
		if err != nil {
			t.Fatal(err)
		}
		u := make([]int, l)
		for range 20 {
			for i := range u {
				u[i] = rng.IntN(labels[i])
			}
			want, c := 0.5, 0
			for i, k := range u {
				want += off[i][c*labels[i]+k]
				c = int(next[i][c*labels[i]+k])
			}
			want += fin[c]
			if got := m.Loss(u); got != want {
				t.Fatalf("Loss(%v) = %v, want %v", u, got, want)
			}
		}
	}
}

func TestBuilderClasses(t *testing.T) {
	var b Builder
	z, o := b.Value(0), b.Value(1)
	if b.Value(math.Copysign(0, -1)) != z {
		t.Error("-0 has an index of its own")
	}
	// Labels 0 and 2 move alike.
	if err := b.Layer(Layer{Labels: 4, Columns: 1, Next: []uint32{1, 0, 1, 1},
		Off: []uint32{z, z, z, o}}); err != nil {
		t.Fatal(err)
	}
	m, err := b.Finish([]uint32{z, o})
	if err != nil {
		t.Fatal(err)
	}
	n, class := m.Classes(0)
	if n != 3 || !slices.Equal(class, []uint32{0, 1, 0, 2}) {
		t.Errorf("%d classes, %v", n, class)
	}
	if m.TotalColumns() != 3 || m.Len() != 1 || m.Labels(0) != 4 {
		t.Error("sizes are wrong")
	}
}

func TestBuilderErrors(t *testing.T) {
	for name, c := range map[string]struct {
		layers []Layer
		final  []uint32
		word   string
	}{
		"two starts": {[]Layer{{Labels: 1, Columns: 2, Next: []uint32{0, 0}, Off: []uint32{1, 1}}},
			[]uint32{1}, "not one"},
		"no target": {[]Layer{{Labels: 1, Columns: 1, Next: []uint32{3}, Off: []uint32{1}}}, []uint32{1},
			"column 3"},
		"no value": {[]Layer{{Labels: 1, Columns: 1, Next: []uint32{0}, Off: []uint32{7}}}, []uint32{1},
			"index 7"},
		"short arcs": {[]Layer{{Labels: 2, Columns: 1, Next: []uint32{0}, Off: []uint32{1}}}, []uint32{1},
			"targets"},
		"class": {[]Layer{{Labels: 1, Class: []uint32{4}, Classes: 1, Columns: 1, Next: []uint32{0},
			Off: []uint32{1}}}, []uint32{1}, "class 4"},
		"final value": {nil, []uint32{9}, "index 9"},
		"middle layer": {[]Layer{{Labels: 1, Columns: 1, Next: []uint32{1}, Off: []uint32{1}},
			{Labels: 1, Columns: 1, Next: []uint32{0}, Off: []uint32{1}}}, []uint32{1}, "arcs to column 1"},
	} {
		t.Run(name, func(t *testing.T) {
			var b Builder
			for _, l := range c.layers {
				b.Layer(l)
			}
			_, err := b.Finish(c.final)
			if err == nil || !strings.Contains(err.Error(), c.word) {
				t.Errorf("error %v does not tell of %q", err, c.word)
			}
		})
	}
	var b Builder
	b.Value(math.NaN())
	if _, err := b.Finish([]uint32{1}); err == nil {
		t.Error("NaN accepted")
	}
}
