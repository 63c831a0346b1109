package experiment

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/tropica-fst/tropica/learn/dataset"
	"github.com/tropica-fst/tropica/learn/kernel"
	"github.com/tropica-fst/tropica/learn/optim"
	"github.com/tropica-fst/tropica/learn/run"
	"github.com/tropica-fst/tropica/learn/structured"
)

// Raters are people with features and ratings of items.
type Raters struct {
	Features [][]float64
	Ratings  []structured.Ratings // the half that is predicted and judged
	Items    int
}

// DrawRaters draws people whose ratings come from latent factors. Items have q_j ~ N(0, I_5)/√5,
// and people p_u = A d_u + 0.5 noise with demographics d_u (one of 21 groups, an age). Ratings are
// r = 3.5 + b_u + b_j + p_u·q_j + 0.5 noise, rounded to 1 … 5. Popular items are rated more often,
// about a share of all. Each person's ratings are divided in two halves. Features come from the
// first half and the demographics; the second half is to be predicted.
func DrawRaters(people, items int, share float64, rng *rand.Rand) *Raters {
	const factors, groups = 5, 21
	normal := func(n int, scale float64) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = scale * rng.NormFloat64()
		}
		return v
	}
	q, bj := make([][]float64, items), normal(items, 0.5)
	popular, total := make([]float64, items), 0.0
	for j := range q {
		q[j] = normal(factors, 1/math.Sqrt(factors))
		popular[j] = math.Exp(rng.NormFloat64())
		total += popular[j]
	}
	a := normal(factors*(groups+1), 1)
	var all []rater
	for range people {
		group, age := rng.IntN(groups), rng.NormFloat64()
		u := rater{group: group, age: age, rating: map[int32]float64{}}
		p := normal(factors, 0.5)
		for k := range p {
			p[k] += a[k*(groups+1)+group] + a[k*(groups+1)+groups]*age
		}
		bu := 0.3 * rng.NormFloat64()
		for j := range items {
			if share >= 1 || rng.Float64() < share*float64(items)*popular[j]/total {
				r := 3.5 + bu + bj[j] + dotOf(p, q[j]) + 0.5*rng.NormFloat64()
				u.rating[int32(j)] = math.Min(5, math.Max(1, math.Round(r)))
			}
		}
		all = append(all, u)
	}
	return split(all, groups, items, nil, rng)
}

// rater is one person before the halves are made.
type rater struct {
	group  int
	age    float64
	other  []float64 // further features
	rating map[int32]float64
}

// pivots are people to whose ratings others are compared.
const pivots = 20

// split divides ratings in halves and makes features of the first: group, age, mean, means by
// genre, and similarity to pivots.
func split(all []rater, groups, items int, genres [][]int, rng *rand.Rand) *Raters {
	r := &Raters{Items: items}
	first := make([]map[int32]float64, len(all))
	for i := range all {
		var list []int32
		for j := range int32(items) {
			if _, ok := all[i].rating[j]; ok {
				list = append(list, j)
			}
		}
		rng.Shuffle(len(list), func(a, b int) { list[a], list[b] = list[b], list[a] })
		first[i] = map[int32]float64{}
		second := map[int32]bool{}
		for k, j := range list {
			if k < len(list)/2 {
				first[i][j] = all[i].rating[j]
			} else {
				second[j] = true
			}
		}
		var y structured.Ratings
		for j := range int32(items) {
			if second[j] {
				y.Item, y.Value = append(y.Item, j), append(y.Value, all[i].rating[j])
			}
		}
		r.Ratings = append(r.Ratings, y)
	}
	marks := rng.Perm(len(all))[:min(pivots, len(all))]
	for i := range all {
		f := make([]float64, groups)
		f[all[i].group] = 1
		f = append(f, 1, all[i].age)
		f = append(f, all[i].other...)
		mean := meanRating(first[i], nil)
		f = append(f, mean-3.5)
		for _, g := range genres {
			f = append(f, meanRating(first[i], g)-mean)
		}
		for _, m := range marks {
			f = append(f, likeness(first[i], first[m]))
		}
		r.Features = append(r.Features, f)
	}
	return r
}

// meanRating is the mean over some items, nil for all; 3.5 without any.
func meanRating(r map[int32]float64, items []int) float64 {
	sum, n := 0.0, 0.0
	if items == nil {
		for j := int32(0); len(r) > int(n); j++ { // in order, so that sums have the same bits
			if v, ok := r[j]; ok {
				sum += v
				n++
			}
		}
	}
	for _, j := range items {
		if v, ok := r[int32(j)]; ok {
			sum += v
			n++
		}
	}
	if n == 0 {
		return 3.5
	}
	return sum / n
}

// likeness is the cosine of ratings less 3, over all items.
func likeness(a, b map[int32]float64) float64 {
	inner, left, right := 0.0, 0.0, 0.0 // of halves of whole numbers: exact in any order
	for j, v := range a {
		left += (v - 3) * (v - 3)
		if u, ok := b[j]; ok {
			inner += (v - 3) * (u - 3)
		}
	}
	for _, v := range b {
		right += (v - 3) * (v - 3)
	}
	if inner == 0 {
		return 0
	}
	return inner / math.Sqrt(left*right)
}

// Ranking compares rankings of items by people's features, as in table 1 of Ciliberto, Rudi and
// Rosasco, under the normalised rank loss. Algorithm 1 has a linear kernel and feedback arc sets.
// It is compared with linear models of scores by item: regression of the ratings, and pairwise
// linear, hinge and logistic losses. Penalties are chosen by five-fold cross-validation.
//
// The loss charges pairs that a person rated both of, and so the weight of a pair is added up over
// those who rated both. All others count in the regression behind the weights, as people for whom
// the pair costs nothing. Where items are few, "pairs by their raters" leaves these people out:
// each pair has a regression of its own.
func Ranking(ctx context.Context, parts []RankingPart, o *PredictionOptions) (*PredictionReport, error) {
	var names []string
	of := map[string]*RankingPart{}
	for i := range parts {
		names = append(names, parts[i].Name)
		of[parts[i].Name] = &parts[i]
	}
	return o.repeat(ctx, "Ranking: normalised rank loss (0 perfect, 0.5 at random)",
		[]string{"rank loss"}, names, 10, func(ctx context.Context, part string,
			rng *rand.Rand) ([]PredictionMethod, error) {
			p := of[part]
			return rankingTrial(ctx, p.Draw(rng), p.Train, rng, o.Workers)
		})
}

// RankingPart is people to rank for.
type RankingPart struct {
	Name  string
	Train int // people to train on; the others are tested on
	Draw  func(rng *rand.Rand) *Raters
}

var rankingLambdas = []float64{1e-4, 1e-3, 1e-2, 1e-1, 1, 10}

func rankingTrial(ctx context.Context, r *Raters, train int, rng *rand.Rand,
	workers int) ([]PredictionMethod, error) {
	if train >= len(r.Features) || train < 10 {
		return nil, fmt.Errorf("%d people to train on, of %d", train, len(r.Features))
	}
	order := rng.Perm(len(r.Features))
	trainRows, testRows := order[:train], order[train:]
	blocks := heldBlocks(train, 5, rng)
	var out []PredictionMethod
	for _, m := range []struct {
		name string
		fit  func(ctx context.Context, r *Raters, rows []int, lambda float64, workers int) (ranker, error)
	}{{"Algorithm 1", fitAlgorithm1}, {"Algorithm 1, pairs by their raters", fitPairRaters},
		{"linear", fitRatings}, {"pairwise linear", fitLinearPairs}, {"pairwise hinge", fitHinge},
		{"pairwise logistic", fitLogistic}} {
		if m.name == "Algorithm 1, pairs by their raters" && r.Items > mostPaired {
			continue
		}
		best, least := 0.0, math.Inf(1)
		for _, lambda := range rankingLambdas {
			loss := 0.0
			for _, b := range blocks {
				var rest, held []int
				out := map[int]bool{}
				for _, i := range b {
					out[i] = true
					held = append(held, trainRows[i])
				}
				for i, row := range trainRows {
					if !out[i] {
						rest = append(rest, row)
					}
				}
				f, err := m.fit(ctx, r, rest, lambda, workers)
				if err != nil {
					return nil, err
				}
				l, err := rankingLoss(ctx, f, r, held)
				if err != nil {
					return nil, err
				}
				loss += l / float64(len(blocks))
			}
			if loss < least {
				best, least = lambda, loss
			}
		}
		f, err := m.fit(ctx, r, trainRows, best, workers)
		if err != nil {
			return nil, err
		}
		loss, err := rankingLoss(ctx, f, r, testRows)
		if err != nil {
			return nil, err
		}
		out = append(out, PredictionMethod{m.name, []float64{loss}, fmt.Sprintf("lambda=%g", best)})
	}
	return out, nil
}

// ranker returns scores of all items for each of some people.
type ranker func(ctx context.Context, features [][]float64) ([][]float64, error)

// rankingLoss is the mean normalised rank loss over people with two different ratings.
func rankingLoss(ctx context.Context, f ranker, r *Raters, rows []int) (float64, error) {
	scores, err := f(ctx, dataset.Pick(r.Features, rows))
	if err != nil {
		return 0, err
	}
	sum, n := 0.0, 0.0
	for k, i := range rows {
		if loss, total := structured.RankLoss(scores[k], r.Ratings[i]); total > 0 {
			sum += loss / total
			n++
		}
	}
	return sum / math.Max(n, 1), nil
}

func fitAlgorithm1(_ context.Context, r *Raters, rows []int, lambda float64, workers int) (ranker, error) {
	return fitPairWeights(r, rows, lambda, workers, func(ctx context.Context, decoder *structured.Ranking,
		alpha []float64) ([]float64, error) {
		d, err := structured.Decode(ctx, decoder, alpha)
		if err != nil {
			return nil, err
		}
		return structured.OrderScores(d.Output), nil
	})
}

// fitLinearPairs scores an item by the sum of its pairs' weights. This minimises the penalised loss
// Σ γ_ij (f_j-f_i). See Duchi, Mackey and Jordan, "On the consistency of ranking algorithms", 2010.
func fitLinearPairs(_ context.Context, r *Raters, rows []int, lambda float64, workers int) (ranker, error) {
	return fitPairWeights(r, rows, lambda, workers, func(_ context.Context, decoder *structured.Ranking,
		alpha []float64) ([]float64, error) {
		w, m := decoder.Pairs(alpha), r.Items
		out := make([]float64, m)
		for i := range m {
			for j := range m {
				out[i] += w[i*m+j] - w[j*m+i]
			}
		}
		return out, nil
	})
}

// fitPairWeights is ridge regression of the weights of people, from which order makes scores.
func fitPairWeights(r *Raters, rows []int, lambda float64, workers int, order func(ctx context.Context,
	decoder *structured.Ranking, alpha []float64) ([]float64, error)) (ranker, error) {
	x := rowsOf(dataset.Pick(r.Features, rows))
	k := kernel.Kernel[*kernel.Matrix](kernel.Vector{Kind: kernel.Linear})
	w, err := structured.NewWeights(k, x, nil, lambda, nil,
		&structured.WeightOptions{Options: kernel.Options{Workers: workers}})
	if err != nil {
		return nil, err
	}
	decoder, err := structured.NewRanking(dataset.Pick(r.Ratings, rows), r.Items,
		&structured.RankingOptions{Normal: true})
	if err != nil {
		return nil, err
	}
	n := len(rows)
	return func(ctx context.Context, features [][]float64) ([][]float64, error) {
		alpha, err := w.Weights(ctx, rowsOf(features), workers)
		if err != nil {
			return nil, err
		}
		out := make([][]float64, len(features))
		return out, eachOf(ctx, workers, len(features), func(i int) (err error) {
			out[i], err = order(ctx, decoder, alpha[i*n:][:n])
			return err
		})
	}, nil
}

// mostPaired are the items up to which each pair has a regression of its own.
const mostPaired = 200

// fitPairRaters regresses the normalised difference of two ratings on those who rated both, for
// each pair of items. It decodes the differences times the share of those people.
func fitPairRaters(ctx context.Context, r *Raters, rows []int, lambda float64, workers int) (ranker, error) {
	d, m := len(r.Features[0]), r.Items
	who, what := make([][]int, m*m), make([][]float64, m*m)
	for _, u := range rows {
		y := &r.Ratings[u]
		_, total := structured.RankLoss(make([]float64, m), *y)
		for a, i := range y.Item {
			for b, j := range y.Item[:a] {
				if total > 0 {
					at := int(i)*m + int(j)
					who[at], what[at] = append(who[at], u), append(what[at], (y.Value[a]-y.Value[b])/total)
				}
			}
		}
	}
	var pairs []int
	var truths []structured.Ratings // one for each pair: its weight is what the first beats the second by
	for at, users := range who {
		if len(users) > 0 {
			pairs = append(pairs, at)
			truths = append(truths, structured.Ratings{Item: []int32{int32(at % m), int32(at / m)},
				Value: []float64{0, 1}})
		}
	}
	if pairs == nil {
		return linearRanker(make([]float64, m*d), m), nil
	}
	theta := make([]float64, len(pairs)*d)
	err := eachOf(ctx, workers, len(pairs), func(p int) error {
		at := pairs[p]
		t, err := ridgeWeights(r, who[at], what[at], lambda*float64(len(rows)))
		for k, v := range t {
			theta[p*d+k] = v * float64(len(who[at])) / float64(len(rows))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	decoder, err := structured.NewRanking(truths, m, nil)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, features [][]float64) ([][]float64, error) {
		out := make([][]float64, len(features))
		return out, eachOf(ctx, workers, len(features), func(i int) error {
			alpha := make([]float64, len(pairs))
			for p := range alpha {
				alpha[p] = dotOf(theta[p*d:][:d], features[i])
			}
			o, err := structured.Decode(ctx, decoder, alpha)
			if err == nil {
				out[i] = structured.OrderScores(o.Output)
			}
			return err
		})
	}, nil
}

// ridgeWeights are θ = Xᵀ(XXᵀ + cI)⁻¹ y for the features X of some people, through their kernel. y
// is overwritten.
func ridgeWeights(r *Raters, people []int, y []float64, c float64) ([]float64, error) {
	x := rowsOf(dataset.Pick(r.Features, people))
	gram, err := kernel.Gram(kernel.Kernel[*kernel.Matrix](kernel.Vector{Kind: kernel.Linear}), x,
		&kernel.Options{Workers: 1})
	if err != nil {
		return nil, err
	}
	ridge, err := kernel.NewRidge(gram, x.Rows, c, &kernel.Options{Workers: 1})
	if err != nil {
		return nil, err
	}
	if err := ridge.Solve(y, 1); err != nil {
		return nil, err
	}
	theta := make([]float64, x.Cols)
	for i, a := range y {
		for k, v := range x.Row(i) {
			theta[k] += a * v
		}
	}
	return theta, nil
}

func rowsOf(features [][]float64) *kernel.Matrix {
	var data []float64
	for _, f := range features {
		data = append(data, f...)
	}
	return kernel.NewMatrix(len(features), len(features[0]), data)
}

// linearRanker scores items by linear functions of the features.
func linearRanker(theta []float64, items int) ranker {
	return func(_ context.Context, features [][]float64) ([][]float64, error) {
		out := make([][]float64, len(features))
		d := len(theta) / items
		for i, f := range features {
			out[i] = make([]float64, items)
			for j := range out[i] {
				out[i][j] = dotOf(theta[j*d:][:d], f)
			}
		}
		return out, nil
	}
}

// fitRatings regresses ratings less 3.5, item by item, by ridge regression on those who rated.
func fitRatings(ctx context.Context, r *Raters, rows []int, lambda float64, workers int) (ranker, error) {
	d := len(r.Features[0])
	who, what := make([][]int, r.Items), make([][]float64, r.Items)
	for _, i := range rows {
		for k, j := range r.Ratings[i].Item {
			who[j], what[j] = append(who[j], i), append(what[j], r.Ratings[i].Value[k]-3.5)
		}
	}
	theta := make([]float64, r.Items*d)
	err := eachOf(ctx, workers, r.Items, func(j int) error {
		if len(who[j]) == 0 {
			return nil
		}
		t, err := ridgeWeights(r, who[j], what[j], lambda*float64(len(rows)))
		copy(theta[j*d:], t)
		return err
	})
	return linearRanker(theta, r.Items), err
}

// pairwise is the mean over people of Σ γ_ij φ(f_i - f_j) / Σ γ_ij, for scores f linear in the
// features, and its gradient.
func pairwise(r *Raters, rows []int, phi func(m float64) (value, slope float64)) func(theta,
	grad []float64) float64 {
	d := len(r.Features[0])
	return func(theta, grad []float64) float64 {
		value := 0.0
		if grad != nil {
			clear(grad)
		}
		for _, u := range rows {
			x, y := r.Features[u], &r.Ratings[u]
			score, slope := make([]float64, len(y.Item)), make([]float64, len(y.Item))
			for k, j := range y.Item {
				score[k] = dotOf(theta[int(j)*d:][:d], x)
			}
			sum, total := 0.0, 0.0
			for a := range y.Item {
				for b := range y.Item {
					if g := y.Value[a] - y.Value[b]; g > 0 {
						f, s := phi(score[a] - score[b])
						total += g
						sum += g * f
						slope[a] += g * s
						slope[b] -= g * s
					}
				}
			}
			if total == 0 {
				continue
			}
			scale := 1 / (total * float64(len(rows)))
			value += sum * scale
			if grad != nil {
				for k, j := range y.Item {
					if s := slope[k] * scale; s != 0 {
						g := grad[int(j)*d:][:d]
						for i, v := range x {
							g[i] += s * v
						}
					}
				}
			}
		}
		return value
	}
}

func fitLogistic(ctx context.Context, r *Raters, rows []int, lambda float64, _ int) (ranker, error) {
	return fitPairs(ctx, r, rows, lambda, func(m float64) (float64, float64) {
		e := math.Exp(-math.Abs(m))
		p := 1 / (1 + e) // of a pair in order, for m > 0
		if m < 0 {
			p = e / (1 + e)
		}
		return math.Max(0, -m) + math.Log1p(e), p - 1
	})
}

// hingeCorner is the width over which the corner of the hinge is made round, for L-BFGS: the
// loss is within 0.05 of the hinge everywhere.
const hingeCorner = 0.1

func fitHinge(ctx context.Context, r *Raters, rows []int, lambda float64, _ int) (ranker, error) {
	return fitPairs(ctx, r, rows, lambda, func(m float64) (float64, float64) {
		switch t := 1 - m; {
		case t <= 0:
			return 0, 0
		case t < hingeCorner:
			return t * t / (2 * hingeCorner), -t / hingeCorner
		default:
			return t - hingeCorner/2, -1
		}
	})
}

// pairScale brings the penalties of mean pair losses into the range of those of ratings.
const pairScale = 1e-2

func fitPairs(ctx context.Context, r *Raters, rows []int, lambda float64,
	phi func(m float64) (value, slope float64)) (ranker, error) {
	loss := pairwise(r, rows, phi)
	n := r.Items * len(r.Features[0])
	f := optim.Ridge(optim.Func{N: n, F: func(x, grad []float64) (float64, error) { return loss(x, grad), nil }},
		pairScale*lambda)
	got, err := optim.LBFGS{}.Minimize(f, make([]float64, n),
		&run.Control{Ctx: ctx, Workers: 1, Stop: run.Stop{Iterations: 200, Relative: 1e-5}})
	if err != nil {
		return nil, err
	}
	return linearRanker(got.X, r.Items), nil
}

// MovieLens reads the original files of MovieLens 100k, which may not be shipped: u.data (user,
// item, rating, time), u.user (user|age|gender|occupation|zip) and u.item (item|title|...|19
// genres). The folder is the user's own.
func MovieLens(data fs.FS) (func(rng *rand.Rand) *Raters, error) {
	lines := func(name, separator string, fields int, each func(line int, f []string) error) error {
		f, err := data.Open(name)
		if err != nil {
			return fmt.Errorf("experiment: MovieLens: %w", err)
		}
		defer f.Close()
		s := bufio.NewScanner(io.LimitReader(f, 1<<28))
		s.Buffer(nil, 1<<16)
		n := 0
		for s.Scan() {
			n++
			if s.Text() == "" {
				continue
			}
			words := strings.Split(s.Text(), separator)
			if len(words) < fields {
				return fmt.Errorf("experiment: %s:%d: %d fields; there must be %d", name, n, len(words), fields)
			}
			if err := each(n, words); err != nil {
				return fmt.Errorf("experiment: %s:%d: %w", name, n, err)
			}
		}
		return s.Err()
	}
	number := func(text string, most int) (int, error) {
		v, err := strconv.Atoi(text)
		if err != nil || v < 1 || v > most {
			return 0, fmt.Errorf("%q is no number from 1 to %d", text, most)
		}
		return v - 1, nil
	}
	const most = 1 << 16 // of users and items
	var people []rater
	jobs := map[string]int{}
	err := lines("u.user", "|", 4, func(_ int, f []string) error {
		id, err := number(f[0], most)
		if err != nil {
			return err
		}
		age, err := number(f[1], 200)
		if err != nil {
			return err
		}
		if _, ok := jobs[f[3]]; !ok {
			jobs[f[3]] = len(jobs)
		}
		for id >= len(people) {
			people = append(people, rater{rating: map[int32]float64{}})
		}
		people[id].group, people[id].age = jobs[f[3]], float64(age-35)/12
		sex := 0.0
		if f[2] == "F" {
			sex = 1
		}
		people[id].other = []float64{sex}
		return nil
	})
	if err != nil {
		return nil, err
	}
	items := 0
	genres := make([][]int, 19)
	err = lines("u.item", "|", 24, func(_ int, f []string) error {
		id, err := number(f[0], most)
		if err != nil {
			return err
		}
		items = max(items, id+1)
		for g, v := range f[len(f)-19:] {
			if v == "1" {
				genres[g] = append(genres[g], id)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = lines("u.data", "\t", 3, func(_ int, f []string) error {
		u, err := number(f[0], len(people))
		if err != nil {
			return err
		}
		j, err := number(f[1], items)
		if err != nil {
			return err
		}
		v, err := number(f[2], 5)
		if err != nil {
			return err
		}
		people[u].rating[int32(j)] = float64(v + 1)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i := range people {
		if people[i].other == nil {
			return nil, fmt.Errorf("experiment: u.user has no user %d", i+1)
		}
	}
	return func(rng *rand.Rand) *Raters { return split(people, len(jobs), items, genres, rng) }, nil
}
