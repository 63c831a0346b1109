package encoder_test

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/tropica-fst/tropica/learn/nn/encoder"
)

// bag is a network of the user's own: a position's scores are those of the letter before, whatever
// it is, plus a bias. It needs no layers.
type bag struct{ letters, outputs int }

func (n bag) Dim() int                       { return (n.letters + 1) * n.outputs }
func (n bag) Outputs() int                   { return n.outputs }
func (n bag) Start([]float32, uint64)        {} // at zero
func (n bag) NewPass() encoder.Pass[[]int32] { return &bagPass{bag: n} }

type bagPass struct {
	bag
	rows   []int // of the table, by position
	scores []float32
}

func (p *bagPass) Forward(params []float32, batch [][]int32, _ *rand.Rand) []float32 {
	p.rows, p.scores = p.rows[:0], p.scores[:0]
	for _, word := range batch {
		row := p.letters // before the first letter
		for _, letter := range word {
			p.rows = append(p.rows, row)
			p.scores = append(p.scores, params[row*p.outputs:(row+1)*p.outputs]...)
			row = int(letter)
		}
	}
	return p.scores
}

func (p *bagPass) Backward(_, dScores, grad []float32) {
	for t, row := range p.rows {
		for k := range p.outputs {
			grad[row*p.outputs+k] += dScores[t*p.outputs+k]
		}
	}
}

// vowels is a task: say of each letter whether the one before is a vowel. Its loss is the logistic
// one of a single score.
type vowels []string

func (v vowels) Len() int            { return len(v) }
func (v vowels) Positions(i int) int { return len(v[i]) }
func (v vowels) Extra() int          { return 0 }
func (v vowels) Input(i int) []int32 { return numbers(v[i]) }
func (v vowels) Loss(_, i int, scores, _, dScores []float32, _ *encoder.SparseGradient) (float64, error) {
	loss := 0.0
	for t, s := range scores {
		sign := -1.0
		if t > 0 && vowel(v[i][t-1]) {
			sign = 1
		}
		loss += math.Log1p(math.Exp(-sign * float64(s)))
		dScores[t] = float32(-sign / (1 + math.Exp(sign*float64(s))))
	}
	return loss, nil
}

func vowel(c byte) bool { return c == 'a' || c == 'e' || c == 'i' || c == 'o' || c == 'u' }

func numbers(word string) []int32 {
	ids := make([]int32, len(word))
	for i := range word {
		ids[i] = int32(word[i] - 'a')
	}
	return ids
}

// A network of the user's own plugs in by implementing Network; the training, and a lattice behind
// it, do not change.
func ExampleNetwork() {
	net := bag{letters: 26, outputs: 1}
	words := vowels{"weighted", "finite", "state", "automata", "quickly", "jumped", "over", "lazy", "boxes"}
	params, _, err := encoder.Fit(net, words, &encoder.Options{Rate: 0.1, Epochs: 50}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for t, s := range net.NewPass().Forward(params, [][]int32{numbers("semiring")}, nil) {
		fmt.Print("semiring"[t:t+1], " ", s > 0, "; ")
	}
	// Output:
	// s false; e false; m true; i false; r true; i false; n true; g false;
}

// A network of ready layers in another order: one recurrent layer before a convolution.
func ExampleNew() {
	net := encoder.New(5, func() (encoder.Source[[]int32, float32], encoder.Layer[float32]) {
		return encoder.NewLetters[float32](27, 16, false), encoder.NewStack[float32](
			encoder.NewDropout[float32](16, 0.1),
			encoder.NewBiLSTM[float32](16, 8),
			encoder.NewConv1D[float32](16, 16, 3),
			encoder.NewReLU[float32](16),
		)
	})
	params := make([]float32, net.Dim())
	net.Start(params, 1)
	scores := net.NewPass().Forward(params, [][]int32{{3, 1, 20}, {8, 9}}, nil)
	fmt.Println(len(scores)/net.Outputs(), "positions of", net.Outputs(), "scores")
	// Output:
	// 5 positions of 5 scores
}
