package losses

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

func randomRef(rng *rand.Rand, m, alphabet int) []int {
	ref := make([]int, m)
	for j := range ref {
		ref[j] = rng.IntN(alphabet)
	}
	return ref
}

// The clamp leaves every loss as it is, and merges columns; what the machine
// says of a string is what the definition says.
func TestClampedEqualsUnclamped(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	fewer := 0
	for range 150 {
		alphabet, l := 1+rng.IntN(4), rng.IntN(8)
		e := randomEdit(rng, alphabet)
		ref := randomRef(rng, rng.IntN(9), alphabet)
		m, err := e.Machine(ref, alphabet, l)
		if err != nil {
			t.Fatal(err)
		}
		b := e.columns(ref, alphabet, l)
		b.NoClamp = true
		raw, err := built(b)
		if err != nil {
			t.Fatal(err)
		}
		if m.TotalColumns() > raw.TotalColumns() {
			t.Errorf("%+v: %d clamped columns, %d without clamp", e, m.TotalColumns(), raw.TotalColumns())
		}
		if m.TotalColumns() < raw.TotalColumns() {
			fewer++
		}
		u := make([]int, l)
		for range 30 {
			for i := range u {
				u[i] = rng.IntN(alphabet)
			}
			want := e.Value(u, ref)
			if !near(m.Loss(u), want) || !near(raw.Loss(u), want) {
				t.Fatalf("%+v ref %v: loss of %v is %v, unclamped %v, by definition %v", e, ref, u, m.Loss(u),
					raw.Loss(u), want)
			}
		}
	}
	if fewer < 50 {
		t.Errorf("the clamp merged columns in %d of 150 cases", fewer)
	}
}

// Columns of many words, long and short strings, against the definition.
func TestLongColumns(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	for _, c := range []struct {
		loss        valued
		m, l, alpha int
	}{
		{Unit, 150, 6, 4}, {Unit, 3, 150, 4}, {Unit, 90, 90, 1}, {Unit, 0, 40, 3}, {Unit, 40, 0, 3}, {Unit, 0,
			0, 3},
		{SmithWaterman, 70, 5, 3}, {SmithWaterman, 2, 70, 3},
		{Edit{Match: 0, Sub: math.Sqrt2, Ins: 1, Del: math.Pi / 3}, 40, 5, 3},
		{Local{Match: 2, Sub: -1, Ins: -1, Del: -1}, 60, 4, 3}, {Local{Match: 2, Sub: -1, Ins: -1, Del: -1},
			3, 30, 3},
		{NGram{N: 3, C: 1}, 80, 40, 3}, {NGram{N: 2, C: 0}, 200, 60, 4},
	} {
		ref := randomRef(rng, c.m, c.alpha)
		m, err := c.loss.Machine(ref, c.alpha, c.l)
		if err != nil {
			t.Fatalf("%T%+v: %v", c.loss, c.loss, err)
		}
		for range 50 {
			u := randomRef(rng, c.l, c.alpha)
			if c.m <= c.l && rng.IntN(2) == 0 {
				copy(u, ref)
			}
			if got, want := m.Loss(u), c.loss.Value(u, ref); !near(got, want) {
				t.Fatalf("%T%+v m %d l %d: %v, want %v", c.loss, c.loss, c.m, c.l, got, want)
			}
		}
	}
}

func TestBudget(t *testing.T) {
	for _, e := range []valued{
		Edit{Sub: 1, Ins: 1, Del: 1, Budget: Budget{Columns: 1000}},
		Edit{Sub: math.Sqrt2, Ins: 1, Del: 1, Budget: Budget{Columns: 1000}},
		Edit{Match: -2, Sub: 1, Ins: 1, Del: 1, Budget: Budget{Columns: 1000}},
	} {
		ref := publishedRef(0, 25)
		_, err := e.Machine(ref, 10, 25)
		var b *BudgetError
		if !errors.Is(err, ErrBudget) || !errors.As(err, &b) {
			t.Fatalf("%+v: error %v", e, err)
		}
		if b.Columns <= 1000 || b.Columns > 5000 || (b.Band > 0) != strings.Contains(err.Error(), "band") {
			t.Errorf("%+v: %v", e, err)
		}
		// The band that it names fits a budget of ordinary size.
		wide := e.(Edit)
		wide.Columns = 1 << 16
		_, err = wide.Machine(ref, 10, 25)
		if !errors.As(err, &b) {
			t.Fatalf("%+v: error %v", wide, err)
		}
		wide.Band = b.Band
		if m, err := wide.Machine(ref, 10, 25); err != nil {
			t.Errorf("band %d: %v", b.Band, err)
		} else if m.Exact() {
			t.Errorf("band %d is said to be exact", b.Band)
		}
	}
	var b *BudgetError
	if _, err := (Local{Match: 1, Sub: -1, Ins: -1, Del: -1,
		Budget: Budget{Columns: 100}}).Machine(publishedRef(0, 12), 10, 12); !errors.As(err, &b) ||
		b.Band != 0 {
		t.Errorf("local: %v", err)
	}
}

// A band that an error names fits; after a band that does not, it is a lower
// one, and it is left out only where band 1 exceeds the budget as well.
func TestBudgetBandFits(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing in it runs side by side")
	}
	rng := rand.New(rand.NewPCG(31, 3))
	named, none := 0, 0
	for i := range 60 {
		alphabet := []int{2, 4, 10, 30}[rng.IntN(4)]
		l := 10 + rng.IntN(60)
		m := []int{l, l, max(0, l+rng.IntN(21)-10), 2 * l, l / 2}[rng.IntN(5)]
		e := []Edit{Unit, SmithWaterman, {Sub: math.Sqrt2, Ins: 1, Del: 1},
			{Match: 3, Sub: 3, Ins: 1, Del: 1}, {Sub: 2.5, Ins: 1.7, Del: 1}}[rng.IntN(5)]
		ref := randomRef(rng, m, alphabet)
		e.Columns = 1 << (6 + rng.IntN(10))
		for _, e.Band = range []int{0, 2 + rng.IntN(10)} {
			_, err := e.Machine(ref, alphabet, l)
			var b *BudgetError
			if err == nil {
				continue
			}
			if !errors.As(err, &b) {
				t.Fatalf("case %d: %v", i, err)
			}
			next := e
			next.Band = b.Band
			if b.Band == 0 {
				none++
				next.Band = 1
			} else {
				named++
				if e.Band > 0 && b.Band >= e.Band {
					t.Errorf("case %d: band %d fails, and the error names %d", i, e.Band, b.Band)
				}
			}
			if _, err := next.Machine(ref, alphabet, l); (err == nil) != (b.Band > 0) {
				t.Errorf("case %d %+v l %d m %d: the error names %d; band %d gives %v", i, e, l, m, b.Band,
					next.Band, err)
			}
		}
	}
	if named < 30 || none < 5 {
		t.Errorf("%d bands named, %d times none", named, none)
	}
}

func TestLossErrors(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for name, x := range map[string]struct {
		loss Loss
		ref  []int
		word string
	}{
		"nan cost":        {Edit{Sub: nan}, []int{0}, "cost"},
		"infinite cost":   {Edit{Ins: inf}, []int{0}, "cost"},
		"band":            {Edit{Band: -1}, []int{0}, "band"},
		"short table":     {Edit{InsTable: []float64{1}}, []int{0}, "insertions"},
		"ragged table":    {Edit{SubTable: [][]float64{{1, 1}, {1}}}, []int{0}, "row 1"},
		"table value":     {Edit{DelTable: []float64{1, nan}}, []int{0}, "deletions[1]"},
		"beyond table":    {Edit{DelTable: []float64{1, 2}}, []int{0, 7}, "symbol 1 of the reference"},
		"negative symbol": {Unit, []int{0, -3}, "symbol 1 of the reference is -3"},
		"n":               {NGram{N: 0}, nil, "n = 0"},
		"c":               {NGram{N: 1, C: -1}, nil, "c = -1"},
		"scale":           {Hamming{Scale: inf}, []int{0, 0}, "scale"},
		"hamming length":  {Hamming{Scale: 1}, []int{0}, "1 symbols"},
		"local":           {Local{Match: 1, Ins: 1}, []int{0}, "positive"},
	} {
		if _, err := x.loss.Machine(x.ref, 2, 2); err == nil || !strings.Contains(err.Error(), x.word) {
			t.Errorf("%s: error %v does not tell of %q", name, err, x.word)
		}
	}
	for _, loss := range []Loss{Unit, NGram{N: 1}, Local{}, Hamming{}} {
		if _, err := loss.Machine(nil, -1, 0); err == nil {
			t.Errorf("%T: an alphabet of -1 symbols", loss)
		}
	}
}

// Losses that differ have keys that differ.
func TestLossKeys(t *testing.T) {
	seen := map[string]Loss{}
	for _, x := range []Loss{
		Unit, SmithWaterman, Edit{Sub: 1, Ins: 1, Del: 1, Band: 2}, Edit{Sub: 1, Ins: 1, Del: 1,
			Budget: Budget{Columns: 2}},
		Edit{SubTable: [][]float64{{1, 2}, {3, 4}}}, Edit{SubTable: [][]float64{{1, 2}, {3, 5}}},
		Edit{InsTable: []float64{1, 2}}, Edit{DelTable: []float64{1, 2}},
		NGram{N: 2}, NGram{N: 2, C: 1}, NGram{N: 3}, Hamming{1}, Hamming{2}, Local{Match: 1}, Local{Match: 1,
			Budget: Budget{Columns: 4}},
	} {
		k := string(x.AppendKey(nil))
		if y, ok := seen[k]; ok {
			t.Errorf("%+v and %+v have one key", x, y)
		}
		seen[k] = x
	}
}

// What no machine could hold is refused before it is tried.
func TestHugeIsRefused(t *testing.T) {
	var b *BudgetError
	if _, err := Unit.Machine(make([]int, 1<<19), 10, 1<<19); !errors.As(err, &b) || b.Band < 1 {
		t.Errorf("half a million symbols: %v", err)
	}
	ref := make([]int, 20000)
	for j := range ref {
		ref[j] = j
	}
	if _, err := (Edit{Sub: 1, Ins: 1, Del: 1, Band: 1}).Machine(ref, 20000, 20000); !errors.Is(err,
		ErrBudget) {
		t.Errorf("20000 different symbols: %v", err)
	}
	if _, err := (NGram{N: 1}).Machine(make([]int, 1<<20), 2, 1<<20); !errors.Is(err, ErrBudget) {
		t.Errorf("counts up to 2^40: %v", err)
	}
}
