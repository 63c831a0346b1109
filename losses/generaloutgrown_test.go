package losses

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"
)

// All strings of 30 symbols are refused on the general path before anything is determinized, with a
// band; one string of that length, or few, are not.
func TestGeneralForeseesColumns(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing in it runs side by side")
	}
	ref := randomRef(rand.New(rand.NewPCG(91, 92)), 30, 10)
	e := Edit{Sub: 1, Ins: 1, Del: 1}
	begin := time.Now()
	_, err := e.Automaton(Strings(10, 30), ref, 10, nil)
	var over *BudgetError
	if !errors.As(err, &over) || over.Band < 1 || over.Stage == "" {
		t.Errorf("all strings: %v", err)
	}
	// A cap of 8 leaves so few columns that the whole has room.
	most := 8.0
	a, err := e.Automaton(Strings(10, 30), ref, 10, &GeneralOptions{Cap: &most})
	if err != nil {
		t.Fatalf("under a cap: %v", err)
	}
	for _, u := range [][]int{ref, append(ref[3:30:30], ref[:3]...),
		randomRef(rand.New(rand.NewPCG(91, 93)), 30, 10)} {
		if got, want := a.Loss(u), min(most, e.Value(u, ref)); got != want {
			t.Errorf("under a cap: L(%v) = %v, want %v", u, got, want)
		}
	}
	if d := time.Since(begin); d > 60*time.Second {
		t.Errorf("refused after %v", d)
	}
	if _, err := e.Automaton(Chain(ref), ref, 10, nil); err != nil {
		t.Errorf("one string: %v", err)
	}
}
