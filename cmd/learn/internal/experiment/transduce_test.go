package experiment

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/fstest"
)

// The experiment learns a rule, reports every objective with tests beside the first, and gives the
// same again.
func TestTransduceInflection(t *testing.T) {
	lines := func(seed uint64, n int) *fstest.MapFile {
		rng := rand.New(rand.NewPCG(seed, 0))
		var b strings.Builder
		for range n {
			x := []byte{"abc"[rng.IntN(3)], "abc"[rng.IntN(3)], "xy"[rng.IntN(2)]}
			y := string(x) + "s"
			if x[2] == 'x' {
				y = string(x) + "es"
			}
			fmt.Fprintf(&b, "%s\t%s\tPL\n", x, y)
		}
		return &fstest.MapFile{Data: []byte(b.String())}
	}
	data := fstest.MapFS{"inflection/q.trn.tsv": lines(1, 30), "inflection/q.dev.tsv": lines(2, 12),
		"inflection/q.tst.tsv": lines(3, 12)}
	var first *PredictionReport
	for _, workers := range []int{1, 2} {
		r, err := Transduce(context.Background(), data, &TransduceOptions{Set: "inflection",
			Languages:         []string{"q"},
			PredictionOptions: &PredictionOptions{Workers: workers}})
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = r
		}
		if len(r.Parts) != 1 || len(r.Parts[0].Rows) != len(transduceMethods) {
			t.Fatalf("%d parts", len(r.Parts))
		}
		for i, row := range r.Parts[0].Rows {
			if row.Mean[0] > 10 || row.Mean[2] < 0 || row.Mean[2] > 1 || row.Mean[3] < 0 || row.Mean[3] > 1 {
				t.Errorf("%s: %v", row.Name, row.Mean)
			}
			if fmt.Sprint(row.Mean) != fmt.Sprint(first.Parts[0].Rows[i].Mean) {
				t.Errorf("%s: %v by another number of workers", row.Name, row.Mean)
			}
		}
	}
}

// Letters are read by means of other words, and a word may lose and double some; the words come as
// the file has them.
func TestTransduceLetters(t *testing.T) {
	image := func(c byte) string {
		b := []byte(strings.Repeat("0", letterPixels))
		for j := range 4 {
			b[4*int(c-'a')+j] = '1'
		}
		return string(b)
	}
	var b strings.Builder
	b.WriteString("word_id\tposition\tletter\tpixels\n")
	words := []string{"ab", "cab", "bead", "face"}
	for i, w := range words {
		for k := range w {
			fmt.Fprintf(&b, "%d\t%d\t%c\t%s\n", i, k, w[k], image(w[k]))
		}
	}
	list, err := readLetters(folder{fstest.MapFS{"f.tsv": &fstest.MapFile{Data: []byte(b.String())}}}, "f.tsv")
	if err != nil {
		t.Fatal(err)
	}
	m := meansOf(list, func(int) bool { return true })
	rng := rand.New(rand.NewPCG(1, 1))
	changed := 0
	for i, w := range words {
		if list[i].text != w {
			t.Errorf("word %d is %q, not %q", i, list[i].text, w)
		}
		for range 200 {
			p := list[i].pair(m, rng)
			if p.Output != w || p.Input == "" {
				t.Fatalf("%q is read as %q of %q", w, p.Input, p.Output)
			}
			if p.Input != w {
				changed++
			}
		}
	}
	// A word of 3.25 letters is changed in 1 - .88^3.25 of all draws, or 34 %.
	if changed < 800*28/100 || changed > 800*40/100 {
		t.Errorf("%d of 800 words are changed", changed)
	}
	bad := fstest.MapFS{"f.tsv": &fstest.MapFile{Data: []byte("word_id\tposition\tletter\tpixels\n0\t0\ta\t01\n")}}
	if _, err := readLetters(folder{bad}, "f.tsv"); err == nil || !strings.Contains(err.Error(), "f.tsv:2") {
		t.Errorf("an image of two pixels: %v", err)
	}
}
