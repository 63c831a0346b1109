package losses

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"testing"
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

func (c *goldenCase) compare(r *Result, p *Potentials) error {
	o := &c.Out
	for _, x := range []struct {
		name      string
		got, want float64
	}{
		{"log_z", r.LogZ, o.LogZ}, {"exp_loss", r.Expected, o.ExpLoss}, {"log_z0", r.LogZ0, o.LogZ0},
		{"risk", r.Risk, o.Risk}, {"max_aug", r.MaxAug, o.MaxAug},
	} {
		if !near(x.got, x.want) {
			return fmt.Errorf("%s = %v, want %v", x.name, x.got, x.want)
		}
	}
	if o.F != nil && !near(r.LogZ-p.Score(c.Yi), *o.F) {
		return fmt.Errorf("F = %v, want %v", r.LogZ-p.Score(c.Yi), *o.F)
	}
	if err := compareRows("q", r.Marginals, o.Q); err != nil {
		return err
	}
	if err := compareRows("risk_grad", r.RiskGradient, o.RiskGrad); err != nil {
		return err
	}
	if c.V != nil {
		if err := compareRows("hvp", r.HVP, o.HVP); err != nil {
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
			vectors := useVectors
			defer func() { useVectors = vectors }()
			for _, mode := range []string{"linear", "again", "plain Go", "scaled", "logs"} {
				e.scaleOnly, e.logOnly = mode == "scaled", mode == "logs"
				useVectors = vectors && mode != "plain Go"
				if mode == "plain Go" {
					if m, err = loss.Machine(c.Yi, c.Alphabet, c.L); err != nil {
						t.Fatal(err)
					}
				}
				if err := e.Eval(m, p, c.Gamma, want, &r); err != nil {
					t.Fatal(err)
				}
				useVectors = vectors
				if err := c.compare(&r, p); err != nil {
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
			if err := c.compare(&s, p); err != nil {
				t.Errorf("few: %v", err)
			}
			var n Result
			if err := Naive(func(u []int) float64 { return loss.Value(u, c.Yi) }, p, c.Gamma, want, c.V, &n); err != nil {
				t.Fatal(err)
			}
			if err := c.compare(&n, p); err != nil {
				t.Errorf("naive: %v", err)
			}
		})
	}
}
