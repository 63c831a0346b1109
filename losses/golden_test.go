package losses

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/tropica-fst/tropica/losses/internal/features"
)

// number reads a JSON number or one of the strings "inf", "-inf", "nan".
type number float64

func (n *number) UnmarshalJSON(b []byte) error {
	switch string(b) {
	case `"inf"`:
		*n = number(math.Inf(1))
	case `"-inf"`:
		*n = number(math.Inf(-1))
	case `"nan"`:
		*n = number(math.NaN())
	default:
		return json.Unmarshal(b, (*float64)(n))
	}
	return nil
}

type goldenCase struct {
	Name     string
	Alphabet int
	L        int
	Q        int
	Gamma    float64
	Yi       []int
	Loss     struct {
		Kind     string
		Match    float64
		Sub      json.RawMessage
		Ins, Del json.RawMessage
		N        int
		C        float64
		Scale    float64
	}
	Theta [][]number
	Tied  bool
	V     [][]float64
	Out   struct {
		LogZ      float64 `json:"log_z"`
		Q         [][]float64
		F         *float64  `json:"F"`
		GradW     []float64 `json:"grad_w"`
		ExpLoss   float64   `json:"exp_loss"`
		LogZ0     float64   `json:"log_z0"`
		Risk      float64
		RiskGrad  [][]float64 `json:"risk_grad"`
		MaxAug    float64     `json:"max_aug"`
		ArgmaxAug []int       `json:"argmax_aug"`
		HVP       [][]float64 `json:"hvp"`
	}
}

func (c *goldenCase) loss(t *testing.T) valued {
	t.Helper()
	switch c.Loss.Kind {
	case "edit":
		e := Edit{Match: c.Loss.Match}
		get := func(raw json.RawMessage, x *float64, table any) {
			if json.Unmarshal(raw, x) != nil {
				if err := json.Unmarshal(raw, table); err != nil {
					t.Fatal(err)
				}
			}
		}
		get(c.Loss.Sub, &e.Sub, &e.SubTable)
		get(c.Loss.Ins, &e.Ins, &e.InsTable)
		get(c.Loss.Del, &e.Del, &e.DelTable)
		return e
	case "ngram":
		return NGram{N: c.Loss.N, C: c.Loss.C}
	case "hamming":
		return Hamming{Scale: c.Loss.Scale}
	}
	t.Fatalf("loss %q", c.Loss.Kind)
	return nil
}

// valued is a loss with a definition to compare its machine with.
type valued interface {
	Loss
	Value(y, ref []int) float64
}

func (c *goldenCase) potentials() *Potentials {
	p := NewPotentials(c.Alphabet, c.L, c.Q)
	for s, row := range c.Theta {
		for i, x := range row {
			p.Theta[s][i] = float64(x)
		}
	}
	return p
}

func readGolden(t *testing.T) []*goldenCase {
	t.Helper()
	f, err := os.Open("../testdata/golden/gradients.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var cases []*goldenCase
	in := bufio.NewScanner(f)
	in.Buffer(nil, 1<<24)
	for in.Scan() {
		c := new(goldenCase)
		if err := json.Unmarshal(in.Bytes(), c); err != nil {
			t.Fatal(err)
		}
		cases = append(cases, c)
	}
	if in.Err() != nil || len(cases) != 32 {
		t.Fatalf("%d cases, %v", len(cases), in.Err())
	}
	return cases
}

const everything = WantMarginals | WantExpected | WantPlain | WantRisk | WantRiskGradient | WantMaxAug | WantViterbi

// near reports agreement to 1e-9 of the greater of 1 and the value.
func near(a, b float64) bool {
	return a == b || math.Abs(a-b) <= 1e-9*max(1, math.Abs(b)) || math.IsNaN(a) && math.IsNaN(b)
}

func compareRows(name string, got, want [][]float64) error {
	if len(got) != len(want) {
		return fmt.Errorf("%s has %d rows, want %d", name, len(got), len(want))
	}
	for s := range want {
		if len(got[s]) != len(want[s]) {
			return fmt.Errorf("%s[%d] has %d values, want %d", name, s, len(got[s]), len(want[s]))
		}
		scale := 0.0
		for _, x := range want[s] {
			scale = max(scale, math.Abs(x))
		}
		for i := range want[s] {
			if d := math.Abs(got[s][i] - want[s][i]); !(d <= 1e-9*math.Abs(want[s][i])+1e-12*max(1, scale)) {
				return fmt.Errorf("%s[%d][%d] = %v, want %v", name, s, i, got[s][i], want[s][i])
			}
		}
	}
	return nil
}

// goldenTolerance is the agreement asked of every output, relative to itself however small it is;
// it is 0 for 0. Measured over all cases and paths: at most 2e-12 (general path), 7e-13 (direct
// ones, marginals down to 3e-318 included), but for the gradient of the risk.
const goldenTolerance = 1e-9

// riskFloor bounds what cancellation leaves of an entry of the gradient of the risk, a covariance:
// as a fraction of p0(window) max |L|. Entries are p0 (E[L | window] - E[L]), and both means have
// rounding errors of their own size, or of potentials of hundreds. A constant loss (edit-m0,
// unigram-q1) leaves nothing but those errors, in the golden values too, which have some of their
// own: at the five windows of edit-overflow with p0 > 1/2 none has a right digit (-1.76e-58 for
// -7.5e-139, by sums of 700 digits). Measured: at most 1e-13, on the general path with potentials
// of 800; 2e-14 elsewhere.
const riskFloor = 2e-13

// goldenRows compares row by row, with a floor by entry if that is not nil.
func goldenRows(name string, got, want, floor [][]float64) error {
	if len(got) != len(want) {
		return fmt.Errorf("%s has %d rows, want %d", name, len(got), len(want))
	}
	for s := range want {
		if len(got[s]) != len(want[s]) {
			return fmt.Errorf("%s[%d] has %d values, want %d", name, s, len(got[s]), len(want[s]))
		}
		for i, w := range want[s] {
			slack := goldenTolerance * math.Abs(w)
			if floor != nil {
				slack += floor[s][i]
			}
			if d := math.Abs(got[s][i] - w); !(d <= slack) {
				return fmt.Errorf("%s[%d][%d] = %v, want %v to %.3g", name, s, i, got[s][i], w, slack)
			}
		}
	}
	return nil
}

// riskFloors returns the floor of each entry of the gradient of the risk, by enumeration.
func (c *goldenCase) riskFloors(t *testing.T) [][]float64 {
	t.Helper()
	loss, most := c.loss(t), 0.0
	var plain Result
	if err := Naive(func(u []int) float64 {
		if x := loss.Value(u, c.Yi); !math.IsInf(x, 0) {
			most = max(most, math.Abs(x))
		}
		return 0
	}, c.potentials(), 0, WantMarginals, nil, &plain); err != nil {
		t.Fatal(err)
	}
	for _, row := range plain.Marginals {
		for i := range row {
			row[i] *= riskFloor * most
		}
	}
	return plain.Marginals
}

func (c *goldenCase) compare(t *testing.T, r *Result, p *Potentials) error {
	o := &c.Out
	for _, x := range []struct {
		name      string
		got, want float64
	}{
		{"log_z", r.LogZ, o.LogZ}, {"exp_loss", r.Expected, o.ExpLoss}, {"log_z0", r.LogZ0, o.LogZ0},
		{"risk", r.Risk, o.Risk}, {"max_aug", r.MaxAug, o.MaxAug},
	} {
		if err := goldenRows(x.name, [][]float64{{x.got}}, [][]float64{{x.want}}, nil); err != nil {
			return err
		}
	}
	if o.F != nil {
		if err := goldenRows("F", [][]float64{{r.LogZ - p.Score(c.Yi)}}, [][]float64{{*o.F}},
			nil); err != nil {
			return err
		}
	}
	if err := goldenRows("q", r.Marginals, o.Q, nil); err != nil {
		return err
	}
	if err := goldenRows("risk_grad", r.RiskGradient, o.RiskGrad, c.riskFloors(t)); err != nil {
		return err
	}
	if c.V != nil {
		if err := goldenRows("hvp", r.HVP, o.HVP, nil); err != nil {
			return err
		}
	}
	if o.ArgmaxAug != nil && !slices.Equal(r.ArgmaxAug, o.ArgmaxAug) {
		return fmt.Errorf("argmax_aug = %v, want %v", r.ArgmaxAug, o.ArgmaxAug)
	}
	if (o.ArgmaxAug == nil) != (r.MaxAugGap <= 1e-9) {
		return fmt.Errorf("the runner-up is %v behind, but argmax_aug is %v", r.MaxAugGap, o.ArgmaxAug)
	}
	return nil
}

func TestGolden(t *testing.T) {
	for _, c := range readGolden(t) {
		t.Run(c.Name, func(t *testing.T) {
			loss := c.loss(t)
			p := c.potentials()
			want := everything
			if c.V != nil {
				want |= WantHVP
			}
			m, err := loss.Machine(c.Yi, c.Alphabet, c.L)
			if err != nil {
				t.Fatal(err)
			}
			var r Result
			e := Evaluator{Direction: c.V}
			vectors := features.Vectors
			defer func() { features.Vectors = vectors }()
			for _, mode := range []string{"linear", "again", "plain Go", "scaled", "logs"} {
				e.scaleOnly, e.logOnly = mode == "scaled", mode == "logs"
				features.Vectors = vectors && mode != "plain Go"
				if mode == "plain Go" {
					if m, err = loss.Machine(c.Yi, c.Alphabet, c.L); err != nil {
						t.Fatal(err)
					}
				}
				if err := e.Eval(m, p, c.Gamma, want, &r); err != nil {
					t.Fatal(err)
				}
				features.Vectors = vectors
				if err := c.compare(t, &r, p); err != nil {
					t.Errorf("%s: %v", mode, err)
				}
			}
			// Without maxima and products, n-gram losses take their own sweep.
			e.scaleOnly, e.logOnly = false, false
			var s Result
			few := want &^ (WantMaxAug | WantViterbi | WantHVP)
			if err := e.Eval(m, p, c.Gamma, few, &s); err != nil {
				t.Fatal(err)
			}
			s.MaxAug, s.MaxAugGap, s.ArgmaxAug, s.HVP = r.MaxAug, r.MaxAugGap, r.ArgmaxAug, r.HVP
			if err := c.compare(t, &s, p); err != nil {
				t.Errorf("few: %v", err)
			}
			var n Result
			if err := Naive(func(u []int) float64 { return loss.Value(u, c.Yi) }, p, c.Gamma, want, c.V,
				&n); err != nil {
				t.Fatal(err)
			}
			if err := c.compare(t, &n, p); err != nil {
				t.Errorf("naive: %v", err)
			}
		})
	}
}

// The comparison tells a marginal of 1e-58 from 0, and a gradient of the risk by more than its
// cancellation.
func TestGoldenTellsSmallNumbers(t *testing.T) {
	told := 0
	for _, c := range readGolden(t) {
		p, loss := c.potentials(), c.loss(t)
		want := everything
		if c.V != nil {
			want |= WantHVP
		}
		for s := range c.Out.Q {
			for i, q := range c.Out.Q[s] {
				if q == 0 || q > 1e-12 {
					continue
				}
				var r Result
				if err := Naive(func(u []int) float64 { return loss.Value(u, c.Yi) }, p, c.Gamma, want, c.V,
					&r); err != nil {
					t.Fatal(err)
				}
				for _, wrong := range []float64{0, q * (1 + 1e-8)} {
					r.Marginals[s][i] = wrong
					if c.compare(t, &r, p) == nil && wrong != q { // a denormal has no neighbour so near
						t.Errorf("%s: q[%d][%d] = %v passes for %v", c.Name, s, i, wrong, q)
					}
				}
				told++
			}
		}
	}
	if told < 5 {
		t.Errorf("%d marginals below 1e-12: this tests little", told)
	}
}
