package encoder

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sentences are of no words, of one, and of several, with an empty word and numbers that no table
// has.
func sentences() []Tokens {
	return []Tokens{
		{IDs: [][]int32{{1, 2, 9}, {0, 1, -3}}, Chars: [][]int32{{1, 2, 3, 1}, {}, {4, 99}}},
		{IDs: [][]int32{{}, {}}, Chars: [][]int32{}},
		{IDs: [][]int32{{2}, {2}}, Chars: [][]int32{{3}}},
	}
}

func wordShape(kind Kind, marks bool) Shape {
	return Shape{Kind: kind, Outputs: 3, Tables: []Table{{4, 3}, {3, 2}}, Chars: CharShape{Table{5, 3}, 4, 3},
		Marks:  marks,
		Hidden: 4, Layers: 1, Reach: 3}
}

// Derivatives by all parameters of a network of words, from the tables to the scores, against
// differences. An odd seed keeps the largest values of the characters apart.
func TestNetworkByDifferences(t *testing.T) {
	for _, s := range []Shape{wordShape(Convolution, true), wordShape(Recurrence, false)} {
		if err := s.check(); err != nil {
			t.Fatal(err)
		}
		build := func() (Source[Tokens, float64], Layer[float64]) {
			source := newTokenSource[float64](&s)
			return source, body[float64](&s, source.Outputs())
		}
		p := newPass(s.Outputs, build)
		if float64(p.dim()) != s.dim() {
			t.Errorf("%s: %d parameters, by the shape %v", s.Kind, p.dim(), s.dim())
		}
		params := make([]float64, p.dim())
		newBuilt(s.Outputs, build).Start(params, 3)
		rng := rand.New(rand.NewPCG(2, 2))
		batch := sentences()
		weights := random[float64](4*s.Outputs, rng)
		value := func() float64 {
			scores := p.Forward(params, batch, nil)
			if len(scores) != len(weights) {
				t.Fatalf("%d scores", len(scores))
			}
			v := 0.0
			for i, w := range weights {
				v += w * scores[i]
			}
			return v
		}
		value()
		grad := make([]float64, len(params))
		p.Backward(params, weights, grad)
		for i := range params {
			const h = 1e-6
			old := params[i]
			params[i] = old + h
			up := value()
			params[i] = old - h
			want := (up - value()) / (2 * h)
			params[i] = old
			if math.Abs(grad[i]-want) > 1e-7*(1+math.Abs(want)) {
				t.Fatalf("%s: parameter %d: derivative %v, difference %v", s.Kind, i, grad[i], want)
			}
		}
	}
}

// A sentence has the same scores in a batch and alone.
func TestSentencesOneByOne(t *testing.T) {
	for _, s := range []Shape{wordShape(Convolution, true), wordShape(Recurrence, true)} {
		net := must(s.Tokens())
		params := make([]float32, net.Dim())
		net.Start(params, 1)
		p, batch := net.NewPass(), sentences()
		all := slices.Clone(p.Forward(params, batch, nil))
		for i := range batch {
			one := p.Forward(params, batch[i:i+1], nil)
			for k, v := range one {
				if math.Abs(float64(v-all[k])) > 1e-6 {
					t.Fatalf("%s: sentence %d: score %d is %v alone, %v in the batch", s.Kind, i, k, v, all[k])
				}
			}
			all = all[len(one):]
		}
		if len(all) != 0 {
			t.Errorf("%d scores too many", len(all))
		}
	}
}

// vocabulary is a task of words of a large table: sentences of one word each, to be told from
// others by their number's parity.
type vocabulary struct{ words []int32 }

func (v *vocabulary) Len() int           { return len(v.words) }
func (v *vocabulary) Input(i int) Tokens { return Tokens{IDs: [][]int32{v.words[i : i+1]}} }
func (v *vocabulary) Positions(int) int  { return 1 }
func (v *vocabulary) Extra() int         { return 0 }
func (v *vocabulary) Loss(_, i int, scores, _, dScores []float32, _ *SparseGradient) (float64, error) {
	sign := float64(1 - 2*(v.words[i]%2))
	dScores[0] = float32(-sign / (1 + math.Exp(sign*float64(scores[0]))))
	return math.Log1p(math.Exp(-sign * float64(scores[0]))), nil
}

// Vectors of words that training does not see stay where they start; those of others are learnt.
func TestLargeTablesAreSparse(t *testing.T) {
	s := Shape{Kind: Convolution, Outputs: 1, Tables: []Table{{20001, 4}}, Hidden: 8, Layers: 1, Reach: 1}
	net := must(s.Tokens())
	if n := net.(Sparse).Sparse(); n != 80004 {
		t.Fatalf("%d parameters are sparse", n)
	}
	v := &vocabulary{}
	for w := range int32(300) {
		v.words = append(v.words, w*41+7)
	}
	start := make([]float32, net.Dim())
	net.Start(start, 0)
	params, _, err := Fit[Tokens](net, v, &Options{Rate: .02, Epochs: 60}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for w := range int32(20001) {
		seen := slices.Contains(v.words, w/4*4) || slices.Contains(v.words, w/4*4+1) ||
			slices.Contains(v.words, w/4*4+2) ||
			slices.Contains(v.words, w/4*4+3) // a chunk has the vectors of four words
		if at := int(w) * 4; !seen && !cmp.Equal(start[at:at+4], params[at:at+4]) {
			t.Fatalf("the vector of word %d moved", w)
		}
	}
	wrong := 0
	for i := range v.words {
		if s := net.NewPass().Forward(params, []Tokens{v.Input(i)}, nil)[0]; (s > 0) != (v.words[i]%2 == 0) {
			wrong++
		}
	}
	if wrong > 3 {
		t.Errorf("%d of 300 words are wrong", wrong)
	}
}

func TestShapeErrors(t *testing.T) {
	for i, change := range []func(s *Shape){
		func(s *Shape) { s.Kind = "" }, func(s *Shape) { s.Outputs = 0 },
		func(s *Shape) { s.Tables = nil; s.Chars = CharShape{} },
		func(s *Shape) { s.Tables[0].Size = -1 }, func(s *Shape) { s.Chars.Reach = 2 },
		func(s *Shape) { s.Reach = 4 },
		func(s *Shape) { s.Dropout = 1 }, func(s *Shape) { s.Unknown = math.NaN() },
		func(s *Shape) { s.Layers = 1000 },
		func(s *Shape) { s.Tables[0] = Table{maxSize, 1 << 16} },
		func(s *Shape) { s.Chars = CharShape{Filters: 1, Reach: 1} },
	} {
		s := wordShape(Convolution, true)
		change(&s)
		if _, err := s.Tokens(); err == nil {
			t.Errorf("case %d was accepted", i)
		}
	}
	s := wordShape(Convolution, true)
	if _, err := s.Letters(); err == nil {
		t.Error("letters with two tables were accepted")
	}
}
