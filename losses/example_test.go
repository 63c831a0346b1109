package losses_test

import (
	"context"
	"fmt"

	"github.com/tropica-fst/tropica/losses"
)

// The gradient of the softmax-margin objective with the edit distance as its
// margin: marginals of the loss-augmented model minus the reference's windows.
func ExampleEvaluator_Eval() {
	reference := []int{0, 1, 2, 1}
	const alphabet, l, order = 3, 4, 2
	p := losses.NewPotentials(alphabet, l, order)
	for t := range p.Theta { // a model that likes the reference
		p.Theta[t][p.Window(reference, t)] = 2
	}

	m, err := losses.Unit.Machine(reference, alphabet, l) // once per reference
	if err != nil {
		fmt.Println(err)
		return
	}
	var e losses.Evaluator
	var r losses.Result
	want := losses.WantMarginals | losses.WantRisk | losses.WantMaxAug | losses.WantViterbi
	if err := e.Eval(m, p, 1, want, &r); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("columns %d\n", m.TotalColumns())
	fmt.Printf("log Z %.6f, F %.6f\n", r.LogZ, r.LogZ-p.Score(reference))
	fmt.Printf("expected distance under the model %.6f\n", r.Risk)
	fmt.Printf("gradient at the reference's first symbol %.6f\n", r.Marginals[0][0]-1)
	fmt.Println("best", r.Viterbi, "best with its distance added", r.ArgmaxAug)
	// Output:
	// columns 14
	// log Z 9.242547, F 1.242547
	// expected distance under the model 0.458132
	// gradient at the reference's first symbol -0.155226
	// best [0 1 2 1] best with its distance added [0 1 2 1]
}

// Exact machines grow by about 2 for every symbol; a band keeps long strings
// linear, and the result says how far it may be from the exact one.
func ExampleEdit_Machine_band() {
	reference := make([]int, 200)
	for j := range reference {
		reference[j] = j * j % 7
	}
	loss := losses.Unit
	loss.Band = 2
	m, err := loss.Machine(reference, 7, len(reference))
	if err != nil {
		fmt.Println(err)
		return
	}
	p := losses.NewPotentials(7, len(reference), 1)
	for t, r := range reference {
		p.Theta[t][r] = 8
	}
	var e losses.Evaluator
	var r losses.Result
	if err := e.Eval(m, p, 1, losses.WantExpected|losses.WantError, &r); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("log Z %.4f, E[L] %.4f, %v on the error %.1e\n", r.LogZ, r.Expected, r.LogZErrorKind,
		r.LogZError)
	// Output:
	// log Z 1601.0913, E[L] 1.0883, bound on the error 5.7e-03
}

// A training step on a padded batch: two strings of three and two labels, in a flat tensor of
// potentials with room for three positions.
func ExampleSoftmaxMargin() {
	references := [][]int{{0, 1, 1}, {1, 0}}
	theta := losses.Tensor[float32]{Batch: 2, Length: 3, Window: 2, Data: make([]float32, 2*3*2)}
	grad := theta
	grad.Data = make([]float32, len(theta.Data))
	values := make([]float64, 2)

	objective := losses.SoftmaxMargin[float32]{Loss: losses.Unit, Alphabet: 2}
	if err := objective.Eval(context.Background(), references, theta, values, &grad); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.4f\n", values)
	fmt.Printf("%.4f\n", grad.Data)
	// Output:
	// [3.9398 2.6265]
	// [-0.7311 0.7311 0.7311 -0.7311 0.7311 -0.7311 0.7311 -0.7311 -0.7311 0.7311 0.0000 0.0000]
}

// CheckGradient finds out whether a gradient is that of its function.
func ExampleCheckGradient() {
	square := func(x, grad []float64) (float64, error) {
		if grad != nil {
			grad[0] = 2 * x[0]
		}
		return x[0] * x[0], nil
	}
	report, err := losses.CheckGradient(square, []float64{3}, 0, nil)
	fmt.Println(report.Checked, report.Err(1e-8), err)
	// Output: 1 <nil> <nil>
}

// The gradient for shared weights of strings that no exact machine reaches, with an interval for
// each number.
func ExampleSampler() {
	reference := make([]int, 200)
	for t := range reference {
		reference[t] = t * t % 7 % 4
	}
	p := losses.NewPotentials(4, 200, 2) // scores that all positions share
	for t := 1; t < 200; t++ {
		for z := range p.Theta[t] {
			p.Theta[t][z] = float64(z%5) / 4
		}
	}
	s, err := losses.NewSampler(losses.Unit, reference, 4, 200, &losses.SampledOptions{Sweeps: 60})
	if err != nil {
		fmt.Println(err)
		return
	}
	var r losses.SampledResult
	if err := s.Eval(p, 1, losses.WantTied|losses.WantExpected, &r); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d weights, E[L] %.0f, an %v; mixed %v, band exact %v\n", len(r.Tied), r.Expected,
		r.LogZErrorKind, r.Mixed, r.BandExact)
	wide := 0
	for i, half := range r.TiedError {
		if half > .05*r.Tied[i] {
			wide++
		}
	}
	fmt.Println(wide, "intervals are wider than 5 %")
	// Output:
	// 16 weights, E[L] 126, an interval; mixed true, band exact true
	// 0 intervals are wider than 5 %
}
