package structured

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/kernel"
	"github.com/tropica-fst/tropica/learn/linear"
)

// matrix lays out the features of a table as points: standardised, or of a sparse table scaled
// only. A row with a value that is infinite is an error.
func matrix(x *table.Table, fs []linear.Feature) (*kernel.Matrix, error) {
	if x.Sparse != nil {
		return sparseMatrix(x, fs), nil
	}
	out := kernel.NewMatrix(x.Rows, len(fs), make([]float64, x.Rows*len(fs)))
	for i := range x.Rows {
		row := out.Row(i)
		for j := range fs {
			row[j] = (fs[j].Cell(x, i) - fs[j].Mean) * fs[j].Scale
			if math.IsInf(row[j], 0) {
				return nil, fmt.Errorf("%w: %s: column %q is infinite", ErrData, x.At(i), x.Columns[fs[j].Column].Name)
			}
		}
	}
	return out, nil
}

func sparseMatrix(x *table.Table, fs []linear.Feature) *kernel.Matrix {
	out := &kernel.Matrix{Rows: x.Rows, Cols: len(fs), Start: make([]int, x.Rows+1)}
	each := func(f func(i int32, j int, v float64)) {
		for j := range fs {
			rows, values := x.Sparse.Column(fs[j].Column)
			for k, i := range rows {
				if v := values[k]; v == v && v != 0 {
					f(i, j, float64(v)*fs[j].Scale)
				}
			}
		}
	}
	each(func(i int32, _ int, _ float64) { out.Start[i+1]++ })
	for i := range x.Rows {
		out.Start[i+1] += out.Start[i]
	}
	at := slices.Clone(out.Start)
	out.Index, out.Data = make([]int32, out.Start[x.Rows]), make([]float64, out.Start[x.Rows])
	each(func(i int32, j int, v float64) { // columns ascend within a row
		out.Index[at[i]], out.Data[at[i]] = int32(j), v
		at[i]++
	})
	return out
}

// spelling numbers the symbols of strings: their runes, in order.
type spelling struct {
	runes []rune
	of    map[rune]int
}

func newSpelling(lists ...[]string) *spelling {
	seen := map[rune]bool{}
	for _, list := range lists {
		for _, s := range list {
			for _, r := range s {
				seen[r] = true
			}
		}
	}
	var runes []rune
	for r := range seen {
		runes = append(runes, r)
	}
	slices.Sort(runes)
	return spell(runes)
}

func spell(runes []rune) *spelling {
	s := &spelling{runes, map[rune]int{}}
	for k, r := range runes {
		s.of[r] = k
	}
	return s
}

// symbols returns the numbers of a string's runes; one that was not seen is past the alphabet,
// and like no other.
func (s *spelling) symbols(text string) []int {
	out := make([]int, 0, len(text))
	for _, r := range text {
		k, ok := s.of[r]
		if !ok {
			k = len(s.runes)
		}
		out = append(out, k)
	}
	return out
}

func (s *spelling) all(texts []string) [][]int {
	out := make([][]int, len(texts))
	for i, t := range texts {
		out[i] = s.symbols(t)
	}
	return out
}

func (s *spelling) text(symbols []int) string {
	var b strings.Builder
	for _, k := range symbols {
		b.WriteRune(s.runes[k])
	}
	return b.String()
}

// parseGrams reads the kernel ngram:LEAST-ORDER, normalised.
func parseGrams(text string) (kernel.NGram, error) {
	k := kernel.NGram{Least: 1, Order: 3, Normal: true}
	name, lengths, found := strings.Cut(text, ":")
	if name != "ngram" {
		return k, fmt.Errorf("structured: kernel %q: strings take ngram or ngram:LEAST-ORDER, such as ngram:1-3", text)
	}
	if found {
		if _, err := fmt.Sscanf(lengths, "%d-%d", &k.Least, &k.Order); err != nil || k.Least < 1 || k.Order < k.Least || fmt.Sprintf("%d-%d", k.Least, k.Order) != lengths {
			return k, fmt.Errorf("structured: kernel %q: lengths are LEAST-ORDER, such as ngram:1-3", text)
		}
	}
	return k, nil
}
