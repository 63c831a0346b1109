package resilient

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/learn/learner"
	"github.com/tropica-fst/tropica/learn/model"
)

// The list is in the order of multipliers, then losses, keeps MostKept, survives a file, and files
// that were tampered with are refused.
func TestDifficulty(t *testing.T) {
	n := MostKept + 5
	losses, lambda := make([]float64, n), make([]float64, n)
	for i := range n {
		losses[i] = float64(i * 7 % n)
		lambda[i] = min(losses[i], 100)
	}
	d := NewDifficulty(Huber{Delta: 100}, losses, lambda, func(i int) (string,
		string) {
		return fmt.Sprint(i), strings.Repeat("é", 150) + "\xff"
	})
	if len(d.Top) != MostKept || d.Examples != n || math.Abs(d.Mean-(100-0.5*100*101/float64(n))) > 1e-9 {
		t.Fatalf("%d of %d are listed, with mean %v", len(d.Top), d.Examples, d.Mean)
	}
	if !slices.IsSortedFunc(d.Top, func(a, b Hard) int {
		if a.Lambda != b.Lambda {
			return int(b.Lambda - a.Lambda)
		}
		return int(b.Loss - a.Loss)
	}) {
		t.Error("the list is out of order")
	}
	if d.Top[0].What != strings.Repeat("é", 100)+"…" {
		t.Errorf("a long example is shown as %q", d.Top[0].What)
	}
	d.Top, d.Folds = d.Top[:50], 5
	c := model.New("any", 1)
	if err := d.Put(c); err != nil {
		t.Fatal(err)
	}
	back, err := GetDifficulty(c)
	if err != nil || back.Relaxation != "huber:100" || back.Folds != 5 || !slices.Equal(back.Top, d.Top) ||
		back.Mean != d.Mean {
		t.Errorf("back come %+v, %v", back, err)
	}
	for name, change := range map[string]func(){
		"NaN":              func() { model.Put(c, arrayNumbers, slices.Repeat([]float64{math.NaN()}, 103)) },
		"too few numbers":  func() { model.Put(c, arrayNumbers, make([]float64, 102)) },
		"fewer examples":   func() { model.Put(c, arrayNumbers, make([]float64, 103)) },
		"too many names":   func() { c.PutStrings(arrayName, []string{"a", "b"}) },
		"another's places": func() { c.PutStrings(arrayPlaces, []string{"a"}) },
	} {
		if change(); true {
			if _, err := GetDifficulty(c); err == nil {
				t.Errorf("%s is taken", name)
			}
		}
		if err := d.Put(c); err != nil {
			t.Fatal(err)
		}
	}
	if s := d.Section()[0]; len(s.Rows) != 50 || !strings.Contains(s.Note, "other 4 of 5 folds") {
		t.Errorf("%d rows, %s", len(s.Rows), s.Note)
	}
	var none *Difficulty
	if none.Section() != nil || none.Put(c) != nil {
		t.Error("no list is something")
	}
	if d, err := GetDifficulty(model.New("any", 1)); d != nil || err != nil {
		t.Errorf("a file without gives %v, %v", d, err)
	}
}

func TestOptions(t *testing.T) {
	for _, c := range []struct {
		o    Options
		want string // "" is an error
	}{
		{Options{}, "none"}, {Options{Resilient: "quadratic"}, "quadratic"},
		{Options{Resilient: "quadratic", Scale: 2}, "quadratic:2"},
		{Options{Resilient: "huber"}, "huber:0.05:20"}, {Options{Resilient: "huber", Delta: 0.2, Scale: 1},
			"huber:0.2"}, {Options{Resilient: "cvar", Tail: 0.3, Folds: 3}, "cvar:0.3"},
		{Options{Delta: 1}, ""}, {Options{Resilient: "huber", Tail: 0.3}, ""},
		{Options{Resilient: "cvar", Scale: 2}, ""}, {Options{Folds: 3}, ""},
		{Options{Resilient: "huber", Folds: 1}, ""}, {Options{Resilient: "hubris"}, ""},
	} {
		got := ""
		var o Options
		if err := learner.Complete(&o, &c.o); err == nil {
			if h, err := o.Relaxation(); err == nil && h == nil {
				got = "none"
			} else if err == nil {
				got = h.Name()
			}
		}
		if got != c.want {
			t.Errorf("%+v is the relaxation %q, want %q", c.o, got, c.want)
		}
	}
}
