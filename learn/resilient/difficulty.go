package resilient

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/tropica-fst/tropica/learn/learner"
	"github.com/tropica-fst/tropica/learn/model"
)

// Difficulty lists the training examples with the largest multipliers, the largest first; of
// equal ones those with larger losses. Models keep it in their files.
type Difficulty struct {
	Relaxation string  // Name of the relaxation
	Examples   int     // of the training
	Mean       float64 // multiplier of them all
	// multipliers are of models trained without the example's fold of so many; 0 is of the model
	// itself
	Folds int
	Top   []Hard
}

// Hard is an example with its multiplier.
type Hard struct {
	Place        string  // file and line, or a number
	What         string  // the example, shortened
	Loss, Lambda float64 // at the model
}

// MostKept is how many examples a Difficulty lists at most.
const MostKept = 10000

// NewDifficulty lists examples by their multipliers; show names the i-th. O(n log n).
func NewDifficulty(h Relaxation, losses, lambda []float64,
	show func(i int) (place, what string)) *Difficulty {
	return listed(h.Name(), losses, lambda, Rank(losses, lambda), show)
}

// ByLoss lists examples by their losses, for methods whose weights do not measure how hard an
// example is: ITLM's are least for the hardest. name stands in the place of the relaxation.
func ByLoss(name string, losses, weights []float64, show func(i int) (place, what string)) *Difficulty {
	return listed(name, losses, weights, Rank(losses, losses), show)
}

func listed(name string, losses, lambda []float64, order []int,
	show func(i int) (place, what string)) *Difficulty {
	d := &Difficulty{Relaxation: name, Examples: len(losses)}
	for i, at := range order {
		d.Mean += (lambda[at] - d.Mean) / float64(i+1)
		if i < MostKept {
			place, what := show(at)
			d.Top = append(d.Top, Hard{strings.ToValidUTF8(place, "\uFFFD"),
				strings.ToValidUTF8(shortened(what), "\uFFFD"), losses[at], lambda[at]})
		}
	}
	return d
}

// Rank returns the numbers of examples, those with the largest multipliers first, of equal ones
// those with larger losses, and then in order.
func Rank(losses, lambda []float64) []int {
	order := make([]int, len(losses))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(lambda[b], lambda[a]), cmp.Compare(losses[b], losses[a]))
	})
	return order
}

// shortened keeps the first hundred letters.
func shortened(s string) string {
	const most = 100
	n := 0
	for at := range s {
		if n++; n > most {
			return s[:at] + "…"
		}
	}
	return s
}

// Section is the list for people. Nil gives none.
func (d *Difficulty) Section() []learner.Section {
	if d == nil {
		return nil
	}
	s := learner.Section{Title: "hardest examples",
		Columns: []string{"place", "example", "loss", "multiplier"},
		Note: fmt.Sprintf("of %d training examples, relaxation %s, mean multiplier %.4g: large ones are hard, "+
			"rare, or wrong",
			d.Examples, d.Relaxation, d.Mean)}
	if d.Folds > 0 {
		s.Note += fmt.Sprintf("; each by a model of the other %d of %d folds", d.Folds-1, d.Folds)
	}
	for _, h := range d.Top {
		s.Rows = append(s.Rows, []any{h.Place, h.What, h.Loss, h.Lambda})
	}
	return []learner.Section{s}
}

// Arrays of a model file that has a Difficulty.
const (
	arrayName    = "resilient"       // the relaxation
	arrayPlaces  = "resilient/place" // of the examples listed
	arrayWhat    = "resilient/what"
	arrayNumbers = "resilient/numbers" // examples, mean multiplier, folds; then losses and multipliers
)

// Put adds the list to a model file. Nil adds nothing; readers of earlier programs ignore it.
func (d *Difficulty) Put(c *model.Container) error {
	if d == nil {
		return nil
	}
	places, what := make([]string, len(d.Top)), make([]string, len(d.Top))
	numbers := []float64{float64(d.Examples), d.Mean, float64(d.Folds)}
	for i, h := range d.Top {
		places[i], what[i] = h.Place, h.What
		numbers = append(numbers, h.Loss, h.Lambda)
	}
	if err := c.PutStrings(arrayName, []string{d.Relaxation}); err != nil {
		return err
	}
	if err := c.PutStrings(arrayPlaces, places); err != nil {
		return err
	}
	if err := c.PutStrings(arrayWhat, what); err != nil {
		return err
	}
	model.Put(c, arrayNumbers, numbers)
	return nil
}

// GetDifficulty returns the list of a model file, nil where it has none.
func GetDifficulty(c *model.Container) (*Difficulty, error) {
	if _, ok := c.Shape(arrayName); !ok {
		return nil, nil
	}
	bad := func(format string, args ...any) error {
		return fmt.Errorf("resilient: %w: %s", model.ErrFormat, fmt.Sprintf(format, args...))
	}
	name, err := c.Strings(arrayName)
	if err != nil {
		return nil, err
	}
	places, err := c.Strings(arrayPlaces)
	if err != nil {
		return nil, err
	}
	what, err := c.Strings(arrayWhat)
	if err != nil {
		return nil, err
	}
	numbers, err := model.Get[float64](c, arrayNumbers, 3+2*len(places))
	if err != nil {
		return nil, err
	}
	if len(name) != 1 || len(what) != len(places) {
		return nil, bad("%d relaxations, %d places and %d examples", len(name), len(places), len(what))
	}
	for _, v := range numbers {
		if math.IsNaN(v) {
			return nil, bad("a multiplier is NaN")
		}
	}
	if n := numbers[0]; n != math.Trunc(n) || n < float64(len(places)) || n > 1<<52 ||
		!(numbers[2] >= 0 && numbers[2] <= n) {
		return nil, bad("%d of %v examples are listed", len(places), n)
	}
	d := &Difficulty{Relaxation: name[0], Examples: int(numbers[0]), Mean: numbers[1], Folds: int(numbers[2])}
	for i := range places {
		d.Top = append(d.Top, Hard{places[i], what[i], numbers[3+2*i], numbers[4+2*i]})
	}
	return d, nil
}
