package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
)

// matcherFlags defines the flags for labels with a meaning of their own and for looking ahead. What
// they give takes the symbols of the two machines on the inner tape.
func matcherFlags(fs *flags.Set) func(*ops.ComposeOptions, [2]*fst.SymbolTable) error {
	first := fs.String("first_matcher", "", "Output labels of the first machine with a meaning of their own: "+
		"phi:L, rho:L, sigma:L or epsilons:L,M,...")
	second := fs.String("second_matcher", "", "Input labels of the second machine with a meaning of their "+
		"own, likewise")
	loop := fs.Bool("phi_loop", true, "A loop of phi matches what nothing else does")
	rewrite := fs.Enum("rewrite_mode", "auto", []string{"auto", "always", "never"},
		"Put what rho, sigma or a loop of phi matched on both sides of an arc; auto does for acceptors")
	ahead := fs.Enum("lookahead", "none", []string{"none", "auto", "first", "second"},
		"Machine that looks ahead")
	push := fs.Bool("lookahead_push", false, "With --lookahead, push weights to where they are seen")
	pushLabels := fs.Bool("lookahead_push_labels", false, "With --lookahead, put out labels where they are seen")
	return func(o *ops.ComposeOptions, inner [2]*fst.SymbolTable) error {
		mode := map[string]fst.Rewrite{"auto": fst.RewriteAuto, "always": fst.RewriteAlways,
			"never": fst.RewriteNever}[*rewrite]
		for name, m := range map[string]struct {
			text  string
			table *fst.SymbolTable
			to    **ops.Matcher
		}{"first_matcher": {*first, inner[0], &o.First}, "second_matcher": {*second, inner[1], &o.Second}} {
			if m.text == "" {
				continue
			}
			x, err := parseMatcher(m.text, m.table)
			if err != nil {
				return fmt.Errorf("flag --%s: %w", name, err)
			}
			x.NoLoop, x.Rewrite = !*loop, mode
			*m.to = x
		}
		side, ok := map[string]ops.LookAheadSide{"auto": ops.LookAheadAuto, "first": ops.LookAheadFirst,
			"second": ops.LookAheadSecond}[*ahead]
		if ok {
			o.LookAhead = &ops.LookAhead{Side: side, PushWeights: *push, PushLabels: *pushLabels}
		} else if *push {
			return fmt.Errorf("flag --lookahead_push: needs --lookahead")
		} else if *pushLabels {
			return fmt.Errorf("flag --lookahead_push_labels: needs --lookahead")
		}
		return nil
	}
}

func parseMatcher(s string, table *fst.SymbolTable) (*ops.Matcher, error) {
	kind, list, _ := strings.Cut(s, ":")
	var labels []fst.Label
	for _, l := range strings.Split(list, ",") {
		n, err := strconv.ParseInt(l, 10, 32)
		if err != nil {
			named, ok := fst.NoLabel, false
			if table != nil {
				named, ok = table.Find(l)
			}
			if !ok {
				return nil, fmt.Errorf("%q: %q is not a label, nor a symbol of the machine there", s, l)
			}
			n = int64(named)
		}
		labels = append(labels, fst.Label(n))
	}
	m := &ops.Matcher{Label: labels[0], Labels: labels}
	for _, k := range []ops.MatcherKind{ops.MatchPhi, ops.MatchRho, ops.MatchSigma, ops.MatchEpsilons} {
		if k.String() == kind {
			m.Kind = k
		}
	}
	switch {
	case m.Kind == 0:
		return nil, fmt.Errorf("%q is none of phi:L, rho:L, sigma:L and epsilons:L,M", s)
	case m.Kind != ops.MatchEpsilons && len(labels) > 1:
		return nil, fmt.Errorf("%q: one label is %s", s, kind)
	}
	return m, nil
}
