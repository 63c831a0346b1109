package g2p

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"github.com/tropica-fst/tropica/fst"
)

// Probabilities after any history sum to one with that of symbols never seen; the search with a
// wide beam finds the best labels of enumeration; a model comes back from a file.
func TestJoint(t *testing.T) {
	pairs := words(t, "ady", "train", 300)
	p := prepared(t, pairs, nil)
	j, err := p.Joint(t.Context(), 4)
	if err != nil {
		t.Fatal(err)
	}
	for state := range int32(len(j.fail)) {
		if state > 0 && int(j.depth[state]) == j.order {
			continue
		}
		last := int32(-1)
		if state > 0 {
			last = int32(uint32(j.child.Key(fst.StateID(state - 1))))
		}
		if last == jointEnd || state%7 != 0 {
			continue
		}
		sum := math.Exp(float64(j.unknown) + func() (b float64) { // what is left for symbols never seen
			for q := state; q != 0; q = j.fail[q] {
				b += float64(j.backoff[q])
			}
			return b
		}())
		for id := range int32(j.symbols.Len()) {
			lp, _ := j.step(state, id+firstJoint)
			sum += math.Exp(lp)
		}
		lp, _ := j.step(state, jointEnd)
		// The uniform distribution has a share for the start as well, which never follows.
		sum += math.Exp(lp)
		if sum > 1+1e-5 || sum < 0.99 {
			t.Fatalf("after string %d of %d symbols probabilities sum to %v", state, j.depth[state], sum)
		}
	}
	m := randomModel(t, "ady", 300, 0.5)
	m.Ngrams = j
	var file bytes.Buffer
	if err := m.Write(&file); err != nil {
		t.Fatal(err)
	}
	n, err := Read(&file)
	if err != nil {
		t.Fatal(err)
	}
	tested, found := 0, 0
	for _, q := range short(words(t, "ady", "test", 100), 5) {
		x, _ := m.Inventory.letters(q.Word)
		c := m.Features.compile(x)
		var s scores
		m.score(&c, &s)
		count := 1
		for _, size := range s.sizes {
			count *= size
		}
		if count > 3000 {
			continue
		}
		score := func(u []int32) float64 {
			v, left, state := 0.0, 0, j.start()
			for k, b := range u {
				lp, next := j.step(state, j.symbol(x[k], s.lists[k][b]))
				v += s.unary[s.shape.unary[k]+int(b)] + s.binary[s.shape.pairs[k]+left*s.sizes[k]+int(b)] + 1.5*lp
				left, state = int(b), next
			}
			lp, _ := j.step(state, jointEnd)
			return v + 1.5*lp
		}
		most := math.Inf(-1)
		u := make([]int32, len(x))
		for {
			most = max(most, score(u))
			k := len(u) - 1
			for ; k >= 0; k-- {
				if u[k]++; int(u[k]) < s.sizes[k] {
					break
				}
				u[k] = 0
			}
			if k < 0 {
				break
			}
		}
		got := m.joint(&s, x, 1.5)
		tested++
		if v := score(got); v > most+1e-9 {
			t.Fatalf("%q: %v of score %v, the best has %v", q.Word, got, v, most)
		} else if v > most-1e-9 {
			found++
		}
		a, err1 := m.Predict(q.Word, nil)
		b, err2 := n.Predict(q.Word, &DecodeOptions{Decoding: Ngrams})
		if err1 != nil || err2 != nil || !slices.Equal(a, b) {
			t.Fatalf("%q is %v, and %v after loading (%v, %v)", q.Word, a, b, err1, err2)
		}
	}
	if tested < 20 || found < tested*19/20 { // the beam of a few may miss one
		t.Errorf("the search finds the best labels of %d of %d words", found, tested)
	}
	if _, err := m.Export(nil); err == nil {
		t.Error("a model with n-grams was exported")
	}
	if _, err := p.Joint(t.Context(), 99); err == nil {
		t.Error("an order of 99")
	}
}
