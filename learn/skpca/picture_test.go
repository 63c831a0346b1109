package skpca

import (
	"bytes"
	"context"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Pictures show what the model has: rows where Transform puts them, spectra and weights, from a
// file too.
func TestPictures(t *testing.T) {
	x := rings(80, 2, 3)
	m := trained(t, x, &Options{Rank: []int{3}, Kernels: []string{"gaussian:0.5", "gaussian"}}, nil)
	var b bytes.Buffer
	if err := m.Write(&b); err != nil {
		t.Fatal(err)
	}
	again, err := Read(&b)
	if err != nil {
		t.Fatal(err)
	}
	z, err := m.Transform(context.Background(), x, 1)
	if err != nil {
		t.Fatal(err)
	}
	p, ok := m.Picture("projection")
	if !ok || len(p.Curves) != 2 || len(p.Curves[0].X)+len(p.Curves[1].X) != 80 {
		t.Fatalf("projection: %v %+v", ok, p)
	}
	// The features with the largest and the second largest mean square.
	square := func(j int) float64 {
		s := 0.0
		for i := range 80 {
			s += z[3*i+j] * z[3*i+j]
		}
		return s
	}
	order := []int{0, 1, 2}
	for a := range order {
		for c := range order[:a] {
			if square(order[a]) > square(order[c]) {
				order[a], order[c] = order[c], order[a]
			}
		}
	}
	at := [2]int{}
	for i, y := range x.Target {
		c := p.Curves[int(y)]
		k := at[int(y)]
		at[int(y)]++
		if math.Abs(c.X[k]-z[3*i+order[0]]) > 1e-9 || math.Abs(c.Y[k]-z[3*i+order[1]]) > 1e-9 {
			t.Fatalf("row %d is drawn at (%v, %v), and its features are %v", i+1, c.X[k], c.Y[k], z[3*i:3*i+3])
		}
	}
	for _, name := range (Learner{}).PictureNames() {
		p, ok := m.Picture(name)
		q, also := again.Picture(name)
		if !ok || !also || !cmp.Equal(p, q) {
			t.Errorf("%s: the file's picture differs: %s", name, cmp.Diff(p, q))
		}
	}
	if _, ok := m.Picture("nothing"); ok {
		t.Error("a picture of nothing")
	}
}
