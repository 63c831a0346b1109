package structured

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/tropica-fst/tropica/losses"
)

// task is a decoder with what examples are made of, for any type of outputs.
type task interface {
	// decode decodes the weights for row i of x into prediction i.
	decode(ctx context.Context, x *Data, i int, alpha []float64, p *Predictions) error
	// lossOf decodes weights for example i of x, and judges the output.
	lossOf(ctx context.Context, x *Data, i int, alpha []float64) (float64, error)
	// loss judges prediction i.
	loss(p *Predictions, truth *Data, i int) float64
	// influences explains prediction i.
	influences(p *Predictions, i int, alpha []float64, top int) []Influence
	width() int
}

// taskOf is a task with outputs of type Y.
type taskOf[Y any] struct {
	w      int
	truths []Y
	find   func(ctx context.Context, x *Data, i int, alpha []float64) (Decoded[Y], error)
	delta  Loss[Y] // of output and truth
	truth  func(d *Data, i int) Y
	put    func(p *Predictions, i int, y Y)
	get    func(p *Predictions, i int) Y
}

func (t *taskOf[Y]) width() int { return t.w }

func (t *taskOf[Y]) best(ctx context.Context, x *Data, i int, alpha []float64) (Decoded[Y], error) {
	return orDefault(alpha, func(alpha []float64) (Decoded[Y], error) { return t.find(ctx, x, i, alpha) })
}

func (t *taskOf[Y]) decode(ctx context.Context, x *Data, i int, alpha []float64, p *Predictions) error {
	d, err := t.best(ctx, x, i, alpha)
	if err != nil {
		return err
	}
	t.put(p, i, d.Output)
	p.F[i], p.Bound[i], p.Margin[i], p.Exact[i], p.Degenerate[i] = d.Value, d.LowerBound, d.Margin,
		d.Exact, d.Degenerate
	return nil
}

func (t *taskOf[Y]) lossOf(ctx context.Context, x *Data, i int, alpha []float64) (float64, error) {
	d, err := t.best(ctx, x, i, alpha)
	if err != nil {
		return 0, err
	}
	return t.delta(d.Output, t.truth(x, i)), nil
}

func (t *taskOf[Y]) loss(p *Predictions, truth *Data, i int) float64 {
	return t.delta(t.get(p, i), t.truth(truth, i))
}

func (t *taskOf[Y]) influences(p *Predictions, i int, alpha []float64, top int) []Influence {
	y := t.get(p, i)
	return Influences(alpha, top, func(k int) float64 { return t.delta(y, t.truths[k]) })
}

// newTask makes the decoder for the outputs of training data. It is the same again for data
// that were written and read.
func newTask(ctx context.Context, d *Data, o *Options, spelling *spelling, workers int) (task, error) {
	n, w := d.Rows(), len(d.Names)
	switch d.Kind {
	case Class:
		return classTask(d, o)
	case Number:
		s, err := NewScalar(slices.Clone(d.Y), ScalarLoss(o.lossOr("squared")),
			&ScalarOptions{C: o.C, Bound: o.Bound})
		if err != nil {
			return nil, err
		}
		return &taskOf[float64]{w: 1, truths: s.truth, delta: s.Loss,
			truth: func(d *Data, i int) float64 { return d.Y[i] }, find: plain[float64](s), put: putNumber,
			get: getNumber}, nil
	case LabelSet:
		return labelTask(d, o)
	case HistogramY, VectorY:
		return vectorTask(ctx, d, o, workers)
	case RankingY:
		truths := make([]Ratings, n)
		for i := range truths {
			truths[i] = d.ratings(i)
		}
		if err := o.only("rank", "kendall", "rank-normal"); err != nil {
			return nil, err
		}
		r, err := NewRanking(truths, w, &RankingOptions{Method: FAS(o.FAS), Kendall: o.Loss == "kendall",
			Normal: o.Loss == "rank-normal"})
		if err != nil {
			return nil, err
		}
		// Predictions are kept as scores of items, losses are of them: a truth is its ratings.
		type output = []int
		t := &taskOf[output]{w: w, find: plain[output](r)}
		t.put = func(p *Predictions, i int, y output) { copy(p.Row(i), OrderScores(y)) }
		t.get = func(p *Predictions, i int) output { return orderOf(p.Row(i)) }
		return &rankTask{t, r}, nil
	}
	return stringTask(ctx, d, o, spelling, workers)
}

func plain[Y any](dec Decoder[Y]) func(context.Context, *Data, int, []float64) (Decoded[Y], error) {
	return func(ctx context.Context, _ *Data, _ int, alpha []float64) (Decoded[Y], error) {
		return dec.Decode(ctx, alpha)
	}
}

func putNumber(p *Predictions, i int, y float64) { p.Y[i] = y }
func getNumber(p *Predictions, i int) float64    { return p.Y[i] }

// orderOf returns the items by falling score.
func orderOf(score []float64) []int {
	order := make([]int, len(score))
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(a, b int) bool { return score[order[a]] > score[order[b]] })
	return order
}

// rankTask is the task of rankings, whose truths are ratings and not orders. Losses are
// normalised by those of the worst order where a validation adds them up.
type rankTask struct {
	*taskOf[[]int]
	ranking *Ranking
}

func (t *rankTask) lossOf(ctx context.Context, x *Data, i int, alpha []float64) (float64, error) {
	d, err := t.best(ctx, x, i, alpha)
	if err != nil {
		return 0, err
	}
	return t.normalised(OrderScores(d.Output), x.ratings(i)), nil
}

// normalised is the loss by that of the worst order, 0 without two different ratings.
func (t *rankTask) normalised(score []float64, r Ratings) float64 {
	loss, total := t.ranking.LossOf(score, r)
	if total == 0 {
		return 0
	}
	return loss / total
}

func (t *rankTask) loss(p *Predictions, truth *Data, i int) float64 {
	return t.ranking.lossOf(p.Row(i), truth.ratings(i))
}

func (t *rankTask) influences(p *Predictions, i int, alpha []float64, top int) []Influence {
	return Influences(alpha, top, func(k int) float64 { return t.ranking.lossOf(p.Row(i), t.ranking.truths[k]) })
}

func classTask(d *Data, o *Options) (task, error) {
	truths := make([]int, d.Rows())
	for i, v := range d.Y {
		truths[i] = int(v)
	}
	k := len(d.Classes)
	t := &taskOf[int]{w: 1, truths: truths, truth: func(d *Data, i int) int { return int(d.Y[i]) },
		put: func(p *Predictions, i, y int) { p.Y[i] = float64(y) },
		get: func(p *Predictions, i int) int { return int(p.Y[i]) }}
	if err := o.only("zero-one", "costs"); err != nil {
		return nil, err
	}
	if o.Costs == nil {
		if o.Loss == "costs" {
			return nil, errors.New("structured: loss costs needs the costs, class by class")
		}
		m, err := NewMultiClass(truths, k)
		if err != nil {
			return nil, err
		}
		t.delta, t.find = ZeroOne[int], plain[int](m)
		return t, nil
	}
	if len(o.Costs) != k*k {
		return nil, fmt.Errorf("structured: costs: %d numbers; %d classes need %d, those of predicting the "+
			"first class for each true one first", len(o.Costs), k, k*k)
	}
	all := make([]int, k)
	for c := range all {
		all[c] = c
	}
	t.delta = func(p, y int) float64 { return o.Costs[p*k+y] }
	f, err := NewFinite(Losses(all, truths, t.delta, 0), len(truths), true)
	if err != nil {
		return nil, err
	}
	t.find = plain[int](f)
	return t, nil
}

func labelTask(d *Data, o *Options) (task, error) {
	truths := make([][]bool, d.Rows())
	for i := range truths {
		truths[i] = sets(d.Row(i))
	}
	t := &taskOf[[]bool]{w: len(d.Names), truths: truths,
		truth: func(d *Data, i int) []bool { return sets(d.Row(i)) }}
	t.put = func(p *Predictions, i int, y []bool) {
		for l, on := range y {
			if on {
				p.Row(i)[l] = 1
			}
		}
	}
	t.get = func(p *Predictions, i int) []bool { return sets(p.Row(i)) }
	name := o.lossOr("hamming")
	if name == "hamming" {
		h, err := NewHamming(truths, nil, o.MostLabels)
		if err != nil {
			return nil, err
		}
		t.delta, t.find = h.Loss, plain[[]bool](h)
		return t, nil
	}
	for _, l := range []SetLoss{F1, Precision, Recall, Jaccard} {
		if l.Name == name {
			s, err := NewSets(truths, l)
			if err != nil {
				return nil, err
			}
			t.delta, t.find = s.Loss, plain[[]bool](s)
			return t, nil
		}
	}
	return nil, o.only("hamming", "f1", "precision", "recall", "jaccard")
}

func vectorTask(ctx context.Context, d *Data, o *Options, workers int) (task, error) {
	truths := make([][]float64, d.Rows())
	for i := range truths {
		truths[i] = slices.Clone(d.Row(i))
	}
	t := &taskOf[[]float64]{w: len(d.Names), truths: truths, truth: (*Data).Row,
		put: func(p *Predictions, i int, y []float64) { copy(p.Row(i), y) }, get: (*Predictions).Row}
	use := func(dec interface {
		Decoder[[]float64]
		Loss(p, t []float64) float64
	}, err error) (task, error) {
		if err != nil {
			return nil, err
		}
		t.delta, t.find = dec.Loss, plain[[]float64](dec)
		return t, nil
	}
	if d.Kind == HistogramY {
		if err := o.only(string(HellingerSq), string(HellingerL1), string(ChiSquared)); err != nil {
			return nil, err
		}
		return use(NewHistogram(truths, HistogramLoss(o.lossOr(string(HellingerSq)))))
	}
	if err := o.only("squared", "gaussian"); err != nil {
		return nil, err
	}
	if o.lossOr("squared") == "gaussian" {
		c := o.C
		if c == 0 {
			c = 1
		}
		return use(newGaussian(ctx, truths, 1/(2*c*c), workers))
	}
	return use(NewVectors(truths, o.Bound))
}

// stringLoss returns the engine's loss of a name, nil for one of n-gram counts.
func stringLoss(name string, o *Options) (StringLoss, error) {
	switch name {
	case "edit":
		return losses.Unit, nil
	case "smith-waterman":
		return losses.SmithWaterman, nil
	case "local":
		return losses.Local{}, nil
	case "hamming":
		return losses.Hamming{}, nil
	case "ngram-log":
		c := o.C
		if c == 0 {
			c = 1
		}
		return losses.NGram{N: o.Grams, C: c}, nil
	}
	return nil, nil
}

// stringDecoder is what Strings and GramStrings share.
type stringDecoder interface {
	Len() int
	Loss(prediction, truth []int) float64
	DecodeIn(ctx context.Context, l *Lattice, alpha []float64) (Decoded[[]int], error)
}

// sketched is the size of a lexicon from which a sketch of it is made.
const sketched = 5000

func stringTask(ctx context.Context, d *Data, o *Options, sp *spelling, workers int) (task, error) {
	truths := sp.all(d.YText)
	name := o.lossOr("edit")
	loss, err := stringLoss(name, o)
	if err != nil {
		return nil, err
	}
	so := &StringOptions{Method: Method(o.Method), Budget: o.Budget}
	var dec stringDecoder
	alphabet := len(sp.runes)
	switch {
	case alphabet == 0:
		return nil, fmt.Errorf("%w: all strings are empty", ErrData)
	case loss != nil:
		dec, err = NewStrings(truths, alphabet, loss, so)
	case strings.HasPrefix(name, "ngram-"):
		dec, err = NewGramStrings(truths, o.Grams, GramLoss(strings.TrimPrefix(name, "ngram-")), so)
	default:
		return nil, o.only("edit", "smith-waterman", "local", "hamming", "ngram-log", "ngram-product",
			"ngram-squared", "ngram-cosine")
	}
	if err != nil {
		return nil, err
	}
	t := &taskOf[[]int]{w: 0, truths: truths, delta: dec.Loss,
		truth: func(d *Data, i int) []int { return sp.symbols(d.YText[i]) }}
	t.put = func(p *Predictions, i int, y []int) { p.Text[i] = sp.text(y) }
	t.get = func(p *Predictions, i int) []int { return sp.symbols(p.Text[i]) }
	candidates := o.Candidates
	if candidates == "auto" {
		candidates = "training"
		if d.Lexicon != nil {
			candidates = "lexicon"
		}
	}
	switch candidates {
	case "training":
		distinct := slices.Clone(truths)
		slices.SortFunc(distinct, slices.Compare[[]int])
		distinct = slices.CompactFunc(distinct, slices.Equal[[]int])
		c, err := newCandidates(ctx, distinct, truths, dec.Loss, workers)
		if err != nil {
			return nil, err
		}
		t.find = plain[[]int](c)
	case "lexicon":
		if d.Lexicon == nil {
			return nil, errors.New("structured: candidates lexicon: there is no lexicon")
		}
		lex, err := NewLexicon(sp.all(d.Lexicon), alphabet)
		if err != nil {
			return nil, err
		}
		var sketch *Sketch
		if plain, ok := dec.(*Strings); ok && len(lex.Words()) > sketched && o.Edits == 0 &&
			o.Method == string(Auto) {
			if sketch, err = NewSketch(plain, lex, &SketchOptions{Seed: o.Seed, Workers: workers}); err != nil {
				return nil, err
			}
		}
		t.find = func(ctx context.Context, x *Data, i int, alpha []float64) (Decoded[[]int], error) {
			if sketch != nil {
				return sketch.Decode(ctx, alpha)
			}
			if o.Edits > 0 && x.Text != nil {
				if near := lex.Within(sp.symbols(x.Text[i]), o.Edits); len(near) > 0 {
					l, err := WordLattice(near, alphabet)
					if err != nil {
						return Decoded[[]int]{}, err
					}
					return dec.DecodeIn(ctx, l, alpha)
				}
			}
			return dec.DecodeIn(ctx, lex.lattice, alpha)
		}
	default: // near
		grams, err := NewGrams(slices.Concat(truths, sp.all(d.Lexicon)), 2)
		if err != nil {
			return nil, err
		}
		if d.Text == nil {
			return nil, errors.New("structured: candidates near: the inputs are no strings")
		}
		edits := o.Edits
		if edits == 0 {
			edits = 2
		}
		t.find = func(ctx context.Context, x *Data, i int, alpha []float64) (Decoded[[]int], error) {
			l, err := Near(ctx, sp.symbols(x.Text[i]), edits, alphabet, grams)
			if errors.Is(err, ErrEmpty) { // no string with known pairs of symbols is near
				l, err = Near(ctx, sp.symbols(x.Text[i]), edits, alphabet, nil)
			}
			if errors.Is(err, ErrEmpty) {
				err = fmt.Errorf("%w: no string of the symbols of the training data is within %d edits of %q%s; ask for "+
					"more edits, or for the candidates training", err, edits, x.Text[i], sp.foreign(x.Text[i]))
			}
			if err != nil {
				return Decoded[[]int]{}, err
			}
			return dec.DecodeIn(ctx, l, alpha)
		}
	}
	return t, nil
}
