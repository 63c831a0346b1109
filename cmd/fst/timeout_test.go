package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tropica-fst/tropica/cmd/internal/cli"
	"github.com/tropica-fst/tropica/cmd/internal/clock"
)

// timedTools are calls with much to do: in/ has what timedInputs makes.
var timedTools = []string{
	"arcsort --sort_type=olabel in/big.fst out/r", "check in/big.fst", "check in/pairs.fst",
	"closure in/big.fst out/r",
	"compile in/big.txt out/r", "compose in/biglog.fst in/biglogsorted.fst out/r",
	"compose --lookahead=auto in/big.fst in/bigsorted.fst out/r",
	"compress in/big.fst out/r", "concat in/big.fst in/big.fst out/r", "connect in/big.fst out/r",
	"convert --fst_type=compact_acceptor in/bigacc.fst out/r", "convert --fst_type=olabel_lookahead " +
		"in/big.fst out/r",
	"determinize in/bigacc.fst out/r", "determinize --det_type=nonfunctional in/pairs.fst out/r",
	"determinize --weight=5 in/bigacc.fst out/r",
	"difference in/bigacc.fst in/bigdfa.fst out/r", "disambiguate in/bigacc.fst out/r",
	"draw in/big.fst out/r", "draw --format=svg in/big.fst out/r",
	"encode --encode_labels --encode_weights in/big.fst out/m out/r", "epsnormalize in/pairs.fst out/r",
	"equal in/big.fst in/big.fst", "equivalent in/bigdfa.fst in/bigdfa.fst",
	"equivalent --random --npath=1000000 in/big.fst in/big.fst",
	"explain in/big.fst", "explain in/bigacc.fst", "explain in/delay.fst", "explain in/dense.fst",
	"farcreate in/big.fst in/big.fst in/big.fst out/r", "info in/big.fst",
	"intersect in/bigacc.fst in/bigaccsorted.fst out/r",
	"isomorphic in/big.fst in/big.fst", "isomorphic in/bigdfa.fst in/bigdfa.fst",
	"map --map_type=arc_sum in/big.fst out/r",
	"minimize in/bigdfa.fst out/r", "minimize --allow_nondet in/big.fst out/r", "minimize in/bigdet.fst out/r",
	"minimize in/bigdetlog.fst out/r",
	"pdtexpand --pdt_parentheses=in/parens.txt in/big.fst out/r",
	"print in/big.fst out/r", "prune --weight=3 in/big.fst out/r",
	"push --push_weights in/biglog.fst out/r", "push --push_labels in/big.fst out/r",
	"push --push_labels --push_weights --to_final in/biglog.fst out/r",
	"randgen --npath=2000000 --max_length=1000 in/big.fst out/r",
	"randgen --npath=2000000 --weighted --max_length=1000 in/big.fst out/r",
	"replace in/big.fst 90 in/bigacc.fst 45 out/r", "reverse in/big.fst out/r", "rmepsilon in/big.fst out/r",
	"rmepsilon in/biglog.fst out/r", "rmepsilon in/bigeps.fst out/r",
	"run --file=in/program.run in/bigacc.fst",
	"shortestdistance in/big.fst", "shortestdistance in/biglog.fst",
	"shortestdistance --queue_type=lifo in/big.fst", "shortestdistance --reverse in/biglog.fst",
	"shortestdistance --queue_type=fifo in/biglog.fst",
	"shortestpath --nshortest=100000 in/big.fst out/r", "shortestpath --unique --nshortest=1000 " +
		"in/bigacc.fst out/r",
	"synchronize in/pairs.fst out/r", "topsort in/chain.fst out/r", "union in/big.fst in/big.fst out/r",
}

// timedInputs writes machines that are large, most of them of n states, or from which much comes.
func timedInputs(t *testing.T, n int) {
	t.Helper()
	must(os.MkdirAll("in", 0o777))
	rng := rand.New(rand.NewPCG(3, 3))
	arcs := func(name string, states int, arc func(q, l int) string) {
		var b strings.Builder
		for q := range states {
			for l := range 4 {
				b.WriteString(arc(q, l))
			}
			if q%10 == 0 {
				fmt.Fprintf(&b, "%d\n", q)
			}
		}
		must(os.WriteFile("in/"+name+".txt", []byte(b.String()), 0o666))
	}
	weight := func() float64 { return 2 + rng.Float64() }
	arcs("big", n, func(q, _ int) string {
		return fmt.Sprintf("%d %d %d %d %.3f\n", q, rng.IntN(n), rng.IntN(50), rng.IntN(50), weight())
	})
	arcs("bigacc", n, func(q, _ int) string {
		l := 1 + rng.IntN(3)
		return fmt.Sprintf("%d %d %d %d %.3f\n", q, rng.IntN(n), l, l, weight())
	})
	arcs("bigdfa", n, func(q, l int) string { return fmt.Sprintf("%d %d %d %d\n", q, rng.IntN(n), l+1, l+1) })
	arcs("bigdet", n, func(q, l int) string {
		return fmt.Sprintf("%d %d %d %d %.3f\n", q, rng.IntN(n), l+1, 1+rng.IntN(50), weight())
	})
	arcs("bigeps", n, func(q, _ int) string {
		l := max(0, rng.IntN(50)-40)
		return fmt.Sprintf("%d %d %d %d %.3f\n", q, rng.IntN(n), l, l, weight())
	})
	arcs("chain", n, func(q,
		l int) string {
		return fmt.Sprintf("%d %d %d %d\n", q, q+1+l%2*rng.IntN(5), l+1, l+1)
	})
	arcs("dense", 300, func(q, l int) string { return fmt.Sprintf("%d %d %d %d\n", q, rng.IntN(300), l%2, l%2) })
	// A cycle of n states whose delay is 1 in all, with many that have none.
	arcs("delay", n, func(q, l int) string {
		in, out := 1, 1
		if l == 0 && q == n-1 {
			out = 0
		}
		if l == 1 || l == 2 {
			return fmt.Sprintf("%d %d %d %d\n", q, max(0, q-5), 1, 1)
		}
		return fmt.Sprintf("%d %d %d %d\n", q, (q+1)%n, in, out)
	})
	arcs("pairs", 60, func(q, l int) string { return fmt.Sprintf("%d %d %d %d %d\n", q, q+1, 0, 1+l, l) })
	must(os.WriteFile("in/parens.txt", []byte("45 46\n47 48\n"), 0o666))
	must(os.WriteFile("in/program.run", []byte("$1 | determinize | minimize > out/r\n"), 0o666))
	good(t, []string{
		"compile in/big.txt in/big.fst", "compile in/bigacc.txt in/bigacc.fst",
		"compile in/bigdfa.txt in/bigdfa.fst", "compile in/bigdet.txt in/bigdet.fst",
		"compile in/bigeps.txt in/bigeps.fst", "compile in/chain.txt in/chain.fst",
		"compile in/dense.txt in/dense.fst", "compile in/delay.txt in/delay.fst",
		"compile in/pairs.txt in/pairs.fst", "map --map_type=to_log in/big.fst in/biglog.fst",
		"map --map_type=to_log in/bigdet.fst in/bigdetlog.fst",
		"arcsort in/biglog.fst in/biglogsorted.fst", "arcsort in/big.fst in/bigsorted.fst",
		"arcsort in/bigacc.fst in/bigaccsorted.fst", "arcsort in/bigdfa.fst in/bigdfa.fst",
	})
}

// good makes calls that are to succeed.
func good(t *testing.T, calls []string) {
	t.Helper()
	for _, words := range calls {
		var errs bytes.Buffer
		if status := run(append([]string{"fst"}, strings.Fields(words)...),
			cli.Streams{In: bytes.NewReader(nil), Out: &errs, Err: &errs}); status != 0 {
			t.Fatalf("%s: %d %s", words, status, errs.String())
		}
	}
}

// A call comes to its end soon after its --timeout by itself: what ends the process when it does
// not is called off here. An error is status 1, says how long was allowed, and nothing is written;
// what is done before is status 0 or 2.
func TestTimeoutEndsEveryTool(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute")
	}
	t.Chdir(t.TempDir())
	timedInputs(t, 40_000)
	defer func(g func(time.Duration) time.Duration) { grace = g }(grace)
	grace = func(time.Duration) time.Duration { return time.Hour }
	// the latter of processor time, for others may work here, too
	const limit, enough = 100 * time.Millisecond, 2500 * time.Millisecond
	stopped := 0
	for _, words := range timedTools {
		emptyOut()
		var out, errs bytes.Buffer
		began := clock.Processor()
		status := run(append([]string{"fst"}, append(strings.Fields(words), "--timeout="+limit.String())...),
			cli.Streams{In: bytes.NewReader(nil), Out: &out, Err: &errs})
		took := clock.Processor() - began
		t.Logf("%v, status %d: %s", took.Round(time.Millisecond), status, words)
		if took > enough {
			t.Errorf("%s: went on for %v", words, took)
		}
		if status != 1 {
			continue
		}
		stopped++
		if !strings.Contains(errs.String(), "--timeout="+limit.String()) {
			t.Errorf("%s: %s", words, errs.String())
		}
		if names := left(); len(names) > 0 || !withheld(strings.Fields(words)[0], out.String()) {
			t.Errorf("%s: left %q, printed %d bytes", words, names, out.Len())
		}
	}
	if stopped < len(timedTools)/3 {
		t.Errorf("%d of %d calls had more to do", stopped, len(timedTools))
	}
}
