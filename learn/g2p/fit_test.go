package g2p

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/tropica-fst/tropica/learn/run"
)

// The two stages of the risk are one run: rows say which they belong to and go on in
// time, the result has both, and a run that is cut off in either goes on there.
func TestRiskIsOneRunOfTwoStages(t *testing.T) {
	p := prepared(t, words(t, "gre", "train", 60), nil)
	o := Objective{Kind: RiskMix, L2: 0.3, Mix: 0.5}
	var rows []run.Row
	record := run.RecorderFunc(func(r run.Row) error { rows = append(rows, r); return nil })
	_, want, err := p.Fit(context.Background(), o, &FitOptions{Recorder: record})
	if err != nil {
		t.Fatal(err)
	}
	if want.First == nil || want.First.Evaluations == 0 || !want.Converged() {
		t.Fatalf("the first stage of %+v", want)
	}
	_, ce, err := p.Fit(context.Background(), Objective{Kind: CrossEntropy, L2: 0.3}, nil)
	if err != nil || ce.F != want.First.F || ce.Iterations != want.First.Iterations {
		t.Errorf("cross-entropy alone ends at %+v, as the first stage at %+v (%v)", ce, want.First, err)
	}
	second := slices.IndexFunc(rows, func(r run.Row) bool { return r.Stage == "risk" })
	if second < 2 || rows[second].Iteration != 0 || rows[second-1].Stage != "cross-entropy" || rows[second-1].Iteration != want.First.Iterations {
		t.Fatalf("row %d of %d begins the second stage: %+v", second, len(rows), rows)
	}
	for i := 1; i < len(rows); i++ {
		if rows[i].Evaluations <= rows[i-1].Evaluations || rows[i].Seconds < rows[i-1].Seconds || rows[i].Stage != rows[i-1].Stage && i != second {
			t.Errorf("row %d: %+v after %+v", i, rows[i], rows[i-1])
		}
	}
	if last := rows[len(rows)-1]; last.Evaluations != want.First.Evaluations+want.Evaluations {
		t.Errorf("the last row %+v, the result %+v after %+v", last, want, want.First)
	}
	for _, cut := range []run.Row{{Stage: "cross-entropy", Iteration: 4}, {Stage: "risk", Iteration: 3}} {
		ctx, cancel := context.WithCancel(context.Background())
		var saved bytes.Buffer
		_, _, err := p.Fit(ctx, o, &FitOptions{
			Recorder: run.RecorderFunc(func(r run.Row) error {
				if r.Stage == cut.Stage && r.Iteration == cut.Iteration {
					cancel()
				}
				return nil
			}),
			Checkpoint: func(k *run.Checkpoint) error { saved.Reset(); return k.Write(&saved) },
		})
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("cut at %+v: %v", cut, err)
		}
		k, err := run.ReadCheckpoint(&saved)
		if err != nil {
			t.Fatal(err)
		}
		var after []run.Row
		m, r, err := p.Fit(context.Background(), o, &FitOptions{Resume: k, Recorder: run.RecorderFunc(func(r run.Row) error { after = append(after, r); return nil })})
		if err != nil || m == nil || r.First == nil || r.F > want.F*1.02 {
			t.Fatalf("resumed at %+v: %+v, %v", cut, r, err)
		}
		if after[0].Stage != cut.Stage || after[0].Iteration != cut.Iteration {
			t.Errorf("cut at %+v, it went on at %+v", cut, after[0])
		}
		if cut.Stage == "risk" && (r.First.F != want.First.F || r.First.Iterations != want.First.Iterations || r.First.Evaluations != want.First.Evaluations || !r.Converged()) {
			t.Errorf("the first stage came back as %+v, was %+v", r.First, want.First)
		}
	}
	// What has not converged in its first stage has not converged.
	_, r, err := p.Fit(context.Background(), o, &FitOptions{Stop: run.Stop{Iterations: 3, Relative: 0.9, Window: 2, Gradient: -1}})
	if err != nil {
		t.Fatal(err)
	}
	r.First.Reason = run.IterationLimit
	if r.Converged() {
		t.Errorf("%+v after %+v counts as converged", r, r.First)
	}
}
