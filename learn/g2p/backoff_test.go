package g2p

import (
	"context"
	"math"
	"slices"
	"testing"
)

// Back-off lists what a letter does not emit of its own, by falling probability and with a small
// sum; every phone is among it, and labels of rare frequency have that.
func TestBackoff(t *testing.T) {
	var pairs []Pair
	for range 40 {
		pairs = append(pairs, words(t, "gre", "train", 60)...)
	}
	pairs = append(pairs, Pair{Word: "αβγ", Phones: []string{"q", "v", "w"}})
	pairs = append(pairs, Pair{Word: "β", Phones: []string{"v", "i", "t", "a"}}) // a letter's name
	a := align(t, pairs, &AlignOptions{MinProb: 0.01, MinCount: -1, Direct: true})
	inv := a.Inventory
	for x := 1; x <= inv.regular; x++ {
		b := inv.Backoff[x]
		sum := 0.0
		phones := map[string]bool{}
		for k, l := range b.Labels {
			if inv.allows(x, l) || b.Prob[k] <= 0 || k > 0 && b.Prob[k] > b.Prob[k-1] {
				t.Fatalf("%q: label %d of probability %v at %d of %v", inv.Letters[x-1], l, b.Prob[k], k, b)
			}
			sum += b.Prob[k]
			if u := inv.Labels[l]; len(u) == 1 {
				phones[inv.Phones[u[0]]] = true
			}
		}
		for _, l := range inv.Allowed[x] {
			if u := inv.Labels[l]; len(u) == 1 {
				phones[inv.Phones[u[0]]] = true
			}
		}
		if !(math.Abs(sum-b.Mass) < 1e-12) || sum > 0.75 || len(phones) != len(inv.Phones) {
			t.Errorf("%q backs off with %v in all, said to be %v, to %d of %d phones", inv.Letters[x-1], sum, b.Mass,
				len(phones), len(inv.Phones))
		}
	}
	beta := inv.letter('β')
	count := 0.0
	for i := range pairs {
		for _, r := range pairs[i].Word {
			if r == 'β' {
				count++
			}
		}
	}
	b := inv.Backoff[beta]
	at := slices.IndexFunc(b.Labels, func(l int32) bool {
		return slices.Equal(inv.names(inv.Labels[l]), []string{"v", "i", "t", "a"})
	})
	if at < 0 || !(math.Abs(b.Prob[at]-1/count) < 1e-12) {
		t.Errorf("β is no name with probability 1/%v: %v", count, b)
	}
	if r := inv.phones([]string{"v", "i", "t", "a", "e"}); !inv.spells([]int32{beta, beta}, r, true) ||
		inv.spells([]int32{beta, beta}, r, false) {
		t.Error("ββ should spell v i t a e by back-off, and only so")
	}
}

// Widened letters have the labels of the data and the likeliest of others; a model learns and keeps
// them, and the pairs are still aligned with what they were.
func TestWiden(t *testing.T) {
	pairs := words(t, "ady", "train", 150)
	plain := align(t, pairs, &AlignOptions{Direct: true})
	p, err := Prepare(context.Background(), pairs, &Options{Align: AlignOptions{Direct: true, Widen: 3}})
	if err != nil {
		t.Fatal(err)
	}
	inv, old := p.Inventory, plain.Inventory
	for x := 1; x <= inv.regular; x++ {
		want := slices.Concat(old.Allowed[x], old.Backoff[x].Labels[:3])
		slices.Sort(want)
		if !slices.Equal(inv.Allowed[x], want) || !slices.Equal(inv.Backoff[x].Labels, old.Backoff[x].Labels[3:]) {
			t.Fatalf("%q may emit %v, not %v", inv.Letters[x-1], inv.Allowed[x], want)
		}
	}
	for i := range plain.Labels {
		if !slices.Equal(plain.Labels[i], p.Alignment.Labels[i]) {
			t.Fatalf("%q is aligned otherwise", pairs[i].Word)
		}
	}
	m, _, err := p.Fit(context.Background(), DefaultObjective(HammingMargin), nil)
	if err != nil {
		t.Fatal(err)
	}
	right := 0
	for _, q := range pairs {
		if got, err := m.Predict(q.Word, nil); err == nil && slices.Equal(got, q.Phones) {
			right++
		}
	}
	if right < 140 {
		t.Errorf("%d of %d words are learned", right, len(pairs))
	}
}
