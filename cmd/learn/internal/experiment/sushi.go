package experiment

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"

	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/structured"
)

// Sushi searches the orders of ten kinds of sushi that agree best with small bootstrap samples of
// 5000 people's orders, under the Kendall loss. These are minimum feedback arc sets with cycles.
// The majority of all people is transitive, and so would be no test. Half the voters rank only five
// kinds drawn at random. Measures are the cost above the optimum in percent, the share of orders
// with the least cost, and the share proved to have it.
func Sushi(ctx context.Context, data fs.FS, o *PredictionOptions) (*PredictionReport, error) {
	d := folder{data}
	const file, items = "ranking/sushi-10-orders.tsv", 10
	if err := d.need("sushi", []string{file}); err != nil {
		return nil, err
	}
	x, err := d.table(file, &table.Options{Weight: "count"})
	if err != nil {
		return nil, err
	}
	if len(x.Columns) != items {
		return nil, fmt.Errorf("experiment: %s has %d columns; there must be %d ranks", file, len(x.Columns), items)
	}
	var orders [][]int // one for each person
	for i := range x.Rows {
		order, seen := make([]int, items), map[int]bool{}
		for k := range order {
			v := int(x.Columns[k].Values[i]) - 1
			if v < 0 || v >= items || seen[v] {
				return nil, fmt.Errorf("experiment: %s is no order of %d items", x.At(i), items)
			}
			order[k], seen[v] = v, true
		}
		for range int(x.Weight[i]) {
			orders = append(orders, order)
		}
	}
	voters, samples, repetitions := []int{5, 11, 25, 101}, 500, 10
	if o.Quick {
		voters, samples, repetitions = []int{5, 25}, 50, 2
	}
	var parts []string
	number := map[string]int{}
	for _, v := range voters {
		part := fmt.Sprintf("%d voters, %d samples", v, samples)
		parts = append(parts, part)
		number[part] = v
	}
	return o.repeat(ctx, "Sushi: orders of small samples of voters",
		[]string{"cost above the least, %", "least, %", "proved, %"}, parts, repetitions,
		func(ctx context.Context, part string, rng *rand.Rand) ([]PredictionMethod, error) {
			return sushiTrial(ctx, orders, items, number[part], samples, rng)
		})
}

func sushiTrial(ctx context.Context, orders [][]int, items, voters, samples int,
	rng *rand.Rand) ([]PredictionMethod, error) {
	methods := []structured.FAS{structured.FASExact, structured.FASSift, structured.FASHeuristic}
	out := make([]PredictionMethod, len(methods)+1)
	for m := range methods {
		out[m] = PredictionMethod{Name: string(methods[m]), Values: make([]float64, 3)}
	}
	out[len(methods)] = PredictionMethod{Name: "mean rank (Borda)", Values: make([]float64, 3)}
	add := func(m int, value, least float64, proved bool) {
		v := out[m].Values
		if least > 0 {
			v[0] += 100 * (value - least) / least / float64(samples)
		}
		if value <= least*(1+1e-9) {
			v[1] += 100 / float64(samples)
		}
		if proved {
			v[2] += 100 / float64(samples)
		}
	}
	for range samples {
		var truths []structured.Ratings
		alpha := make([]float64, voters)
		for k := range alpha {
			alpha[k] = 1
			rating := make([]float64, items)
			for p, j := range orders[rng.IntN(len(orders))] {
				rating[j] = float64(items - p)
			}
			use := rng.Perm(items)
			if k%2 == 1 {
				use = use[:items/2]
			}
			var y structured.Ratings
			for j := range items {
				for _, u := range use {
					if u == j {
						y.Item, y.Value = append(y.Item, int32(j)), append(y.Value, rating[j])
					}
				}
			}
			truths = append(truths, y)
		}
		least := 0.0
		var first *structured.Ranking
		for m, method := range methods {
			r, err := structured.NewRanking(truths, items, &structured.RankingOptions{Method: method, Kendall: true})
			if err != nil {
				return nil, err
			}
			d, err := r.Decode(ctx, alpha)
			if err != nil {
				return nil, err
			}
			if m == 0 {
				least, first = d.Value, r
			}
			add(m, d.Value, least, d.Exact == structured.ExactOverSpace)
		}
		mean, count := make([]float64, items), make([]float64, items)
		for _, y := range truths {
			for k, j := range y.Item { // place among those that this voter ranked, from 0 to 1
				above := 0.0
				for _, v := range y.Value {
					if v > y.Value[k] {
						above++
					}
				}
				mean[j] -= above / float64(len(y.Item)-1)
				count[j]++
			}
		}
		for j := range mean {
			if count[j] > 0 {
				mean[j] /= count[j]
			}
		}
		value := 0.0
		for _, y := range truths {
			loss, _ := first.LossOf(mean, y)
			value += loss
		}
		add(len(methods), value, least, false)
	}
	return out, nil
}
