package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tropica-fst/tropica/cmd/internal/flags"
	"github.com/tropica-fst/tropica/cmd/internal/lines"
	"github.com/tropica-fst/tropica/cmd/internal/lossspec"
	"github.com/tropica-fst/tropica/losses"
	"github.com/tropica-fst/tropica/ops"
)

var _ = offer(&tool{name: "loss", args: "[cases.jsonl [results.jsonl]]", max: 2,
	own:     true,
	summary: "Evaluates sequence losses and their exact gradients: JSON lines in, JSON lines out.", about: `
A case has alphabet (symbols are 0 .. alphabet-1), l, q (order 1, 2 or 3), gamma (default 1),
yi (the reference), and potentials: theta or lattice. theta has l rows; row s has alphabet^min(q,s)
log-potentials, and "-inf" forbids. lattice is a file, an acyclic acceptor of negated potentials.
Optional fields are expand, tied and w, and v. expand is a file, an unweighted transducer from
labels to symbols; every loss omits label strings for which it has no path. v is the direction of
hvp and risk_hvp, the Hessians of log_z and of risk times v. It is shaped as theta, or for a lattice
as q is printed: a row for each state in the order of fst print, with a value for each of its arcs.
A case also has a loss:

  {"kind":"edit","match":0,"sub":1,"ins":1,"del":1,"band":0}    least cost of an alignment; band B > 0
                      keeps to |j - t m/l| <= B (wider where that leaves no alignment); sub may be a
                      table sub[y][yi], ins and del arrays by symbol; "cap":C for min(cost, C)
  {"kind":"local","match":2,"sub":-1,"ins":-1,"del":-1}         negated best local alignment; band as for edit
  {"kind":"ngram","n":2,"c":1}                                  -log(common n-grams + c)
  {"kind":"hamming","scale":1}                                  wrong symbols; strings of another length are left out
  {"kind":"span","labels":["O","B-NP","I-NP"]}                  wrong spans; missing, spurious, type cost 1, 1, 2
  {"kind":"transducer","file":"u.fst","family":"tropical"}      any transducer; or "rational"

The result has log_z, F, q (the marginals), grad_w, exp_loss, log_z0, risk, risk_grad, max_aug,
argmax_aug, hvp, risk_hvp, columns, exact, log_z_error with log_z_error_kind, and band (the one
used, if the requested one had to be widened). log_z_error is the cost of a band in log_z, and takes tens to
hundreds of times the time of everything else: if you do not need it, name the others in --only.
A case that cannot be evaluated gives an error. The others are still answered, and the exit status
is 1.

  fst loss --only=log_z,q --time < cases.jsonl

--path=sampled estimates, by Gibbs sampling, what exact machines are too large for: edit and local
losses of hundreds of symbols, without a band. Results have log_z_error (of the kind interval),
q_error, grad_w_error, exp_loss_error, risk_error and risk_grad_error, half of 95 % intervals each
("nan" for cells that chains hardly visit: they are small, and no more is known), and sampled: r_hat
and mixed, inexact and band_exact, and how many cells are rare. Where chains have not mixed, or the
sampler's own band is not exact, a warning says so. Maxima, Hessians and columns are not sampled.
Of a lattice all paths must have one length; errors of its arcs are upper bounds.

  fst loss --path=sampled --only=log_z,grad_w --sweeps=400 < cases.jsonl

Every path has a budget of 2 GB, or of --limit_bytes and --budget_columns. A loss machine beyond it
is an error, which names for edit losses the band to try, and for others a remedy. Without these
flags so is a machine that is likely to be beyond it, which --limit_bytes=2G may build. The general
path counts the machines that all its steps hold at a time, and names the step that stopped. It
accepts bands, also on lattices and with expansions. It does not reduce its machines as the direct
path does, so that a narrower band may be needed. --limit_states bounds columns as --budget_columns
does, --limit_arcs each machine of the general path (direct ones are not lists of arcs). With
--timeout, cases that were not evaluated in time have an error.

Time, on the direct paths: O(l · columns · alphabet^q). An edit loss has as many columns as the
reference has symbols, or the band positions; a general transducer has as many as its
determinization needs.`,
	setup: func(fs *flags.Set) func(*call) error {
		path := fs.Enum("path", "auto", []string{"auto", "direct", "general", "naive", "sampled"},
			"How to evaluate; auto is direct where that covers the case, else general")
		only := fs.String("only", "", "Output fields to compute and print, separated by commas (default all "+
			"that apply)")
		timed := fs.Bool("time", false, "Add cold_ns and warm_ns, medians of 5: warm re-uses what depends on "+
			"the reference, lengths and costs alone")
		columns := fs.Int("budget_columns", 64, 0, "Most columns (on the general path, states) of a loss "+
			"machine; 0 is as many as 2 GB hold")
		sweeps := fs.Int("sweeps", 32, 200, "Sampled: counted sweeps of 64 chains")
		passes := fs.Int("passes", 32, 64, "Sampled: samples of 64 strings, of risk and risk_grad")
		band := fs.Int("sampled_band", 32, 0, "Sampled: how far from the diagonal alignments may go; 0 is enough "+
			"for random strings (about 21 for 100 symbols, 54 for 500), -1 any distance")
		seed := fs.Uint("seed", 0, "Sampled: seed of the random numbers")
		return func(c *call) error {
			o := &lossOptions{path: *path, timed: *timed, columns: int(*columns), errs: c.Err}
			var err error
			if o.only, err = parseOnly(*only); err != nil {
				return fmt.Errorf("flag --only: %w", err)
			}
			if *path == "sampled" {
				for _, f := range unsampled {
					if o.only[f] {
						return fmt.Errorf("flag --only: %s is not sampled; the other paths have it", f)
					}
				}
				if *sweeps < 2 || *passes < 1 || *band < -1 {
					return errors.New("flags --sweeps, --passes and --sampled_band are at least 2, 1 and -1")
				}
				o.sampling = losses.SampledOptions{Sweeps: int(*sweeps), Passes: int(*passes), Band: int(*band),
					Seed: *seed}
			} else {
				for _, f := range []string{"sweeps", "passes", "sampled_band", "seed"} {
					if c.flags.Given(f) {
						return fmt.Errorf("flag --%s has no effect: it needs --path=sampled", f)
					}
				}
			}
			if *columns < 0 {
				return errors.New("--budget_columns must not be negative")
			}
			if n := int(min(*c.lib.limitStates, math.MaxInt)); n > 0 && (o.columns == 0 || n < o.columns) {
				o.columns = n
			}
			lim, cancel := c.lib.limits()
			defer cancel()
			o.working = lim.Bytes
			if lim.Bytes == 0 {
				lim.Bytes = losses.DefaultBytes
			}
			o.limits = lim
			if *path == "general" && os.Getenv("GOGC") == "" {
				// Each step makes a machine and drops the one before, so collections determine the
				// peak. At 12 % instead of 25 % and without the ballast of tuneMemory, a bigram
				// gradient of length 10 peaks at 44 MB instead of 57, in the same processor time.
				// With the ballast it is 53, and OpenFst takes 52.
				ballast = nil
				debug.SetGCPercent(12)
			}
			r, shown, err := c.Open(c.arg(0))
			if err != nil {
				return err
			}
			defer r.Close()
			failed := 0
			err = c.deliver(c.arg(1), func(w io.Writer) error { // answers are written as they come
				var err error
				failed, err = lines.Answer(r, shown, w, int(*c.lib.workers), func() lines.Worker {
					e := &losses.Evaluator{}
					return func(text []byte, line int) ([]byte, bool) { return evaluateLine(e, text, shown, line, o) }
				})
				if err == nil && failed == 0 {
					err = c.lib.late()
				}
				return err
			})
			if err == nil && failed > 0 {
				err = fmt.Errorf("%d cases could not be evaluated; their results say why", failed)
			}
			return err
		}
	}})

// lossOptions are the values of the tool's flags.
type lossOptions struct {
	path     string
	only     map[string]bool // nil is all
	timed    bool
	columns  int
	limits   ops.Limits
	sampling losses.SampledOptions // of the path sampled
	working  int64                 // bytes of an evaluation in all, where --limit_bytes sets them
	errs     io.Writer
	warning  sync.Mutex // one worker at a time writes to errs
}

// budget is what the limits leave to a loss machine and its evaluation.
func (o *lossOptions) budget() losses.Budget {
	b := losses.Budget{Ctx: o.limits.Ctx, Columns: o.columns, Bytes: o.limits.Bytes}
	if o.columns == 0 {
		b.Bytes = o.working // without flags none are stated, and what is likely too large is refused
	}
	return b
}

var lossFields = []string{"log_z", "F", "q", "grad_w", "exp_loss", "log_z0", "risk", "risk_grad",
	"max_aug", "argmax_aug", "hvp", "risk_hvp", "columns", "exact", "log_z_error", "log_z_error_kind", "band"}

func parseOnly(s string) (map[string]bool, error) {
	if s == "" {
		return nil, nil
	}
	only := map[string]bool{}
	for _, f := range strings.Split(s, ",") {
		if !slices.Contains(lossFields, f) {
			return nil, fmt.Errorf("%q is none of %s", f, strings.Join(lossFields, ", "))
		}
		only[f] = true
	}
	return only, nil
}

func (o *lossOptions) asks(field string) bool { return o.only == nil || o.only[field] }

// lossCase is one line of input.
type lossCase struct {
	Name     string              `json:"name"`
	Alphabet lossspec.Integer    `json:"alphabet"`
	L        lossspec.Integer    `json:"l"`
	Q        lossspec.Integer    `json:"q"`
	Gamma    *lossspec.Number    `json:"gamma"`
	Ref      []lossspec.Integer  `json:"yi"`
	Loss     json.RawMessage     `json:"loss"`
	Theta    [][]lossspec.Number `json:"theta"`
	Tied     bool                `json:"tied"`
	W        []lossspec.Number   `json:"w"`
	V        [][]lossspec.Number `json:"v"`
	Lattice  string              `json:"lattice"`
	Expand   string              `json:"expand"`

	alphabet, l, q int
	yi             []int
}

// lossResult is one line of output; nil fields do not apply or were not requested.
type lossResult struct {
	Name          string              `json:"name"`
	LogZ          *lossspec.Number    `json:"log_z,omitempty"`
	F             *lossspec.Number    `json:"F,omitempty"`
	Q             [][]lossspec.Number `json:"q,omitzero"`
	GradW         []lossspec.Number   `json:"grad_w,omitzero"`
	ExpLoss       *lossspec.Number    `json:"exp_loss,omitempty"`
	LogZ0         *lossspec.Number    `json:"log_z0,omitempty"`
	Risk          *lossspec.Number    `json:"risk,omitempty"`
	RiskGrad      [][]lossspec.Number `json:"risk_grad,omitzero"`
	MaxAug        *lossspec.Number    `json:"max_aug,omitempty"`
	ArgmaxAug     json.RawMessage     `json:"argmax_aug,omitempty"`
	HVP           [][]lossspec.Number `json:"hvp,omitzero"`
	RiskHVP       [][]lossspec.Number `json:"risk_hvp,omitzero"`
	Columns       *int                `json:"columns,omitempty"`
	Exact         *bool               `json:"exact,omitempty"`
	LogZError     *lossspec.Number    `json:"log_z_error,omitempty"`
	LogZErrorKind string              `json:"log_z_error_kind,omitempty"`
	Band          int                 `json:"band,omitempty"`
	QError        [][]lossspec.Number `json:"q_error,omitzero"`
	GradWError    []lossspec.Number   `json:"grad_w_error,omitzero"`
	ExpLossError  *lossspec.Number    `json:"exp_loss_error,omitempty"`
	RiskError     *lossspec.Number    `json:"risk_error,omitempty"`
	RiskGradError [][]lossspec.Number `json:"risk_grad_error,omitzero"`
	Sampled       *sampledQuality     `json:"sampled,omitempty"`
	ColdNS        *int64              `json:"cold_ns,omitempty"`
	WarmNS        *int64              `json:"warm_ns,omitempty"`

	void    bool // no string has a finite loss and score
	widened int  // the band used, where it is not the one asked for
	ignored []string
}

type lossFailure struct {
	Name  string `json:"name"`
	Error string `json:"error"`
}

func evaluateLine(e *losses.Evaluator, text []byte, source string, line int,
	o *lossOptions) (answer []byte, ok bool) {
	var c lossCase
	// A defect in one case is that case's error; the others have their answers.
	defer func() {
		if p := recover(); p != nil {
			errs := o.errs
			if errs == nil {
				errs = os.Stderr
			}
			fmt.Fprintf(errs, "fst loss: %s, line %d: %v\n%s", source, line, p, debug.Stack())
			if e != nil {
				*e = losses.Evaluator{} // what it holds may be half done
			}
			answer, _ = json.Marshal(&lossFailure{c.Name, fmt.Sprintf("%s, line %d: a defect of this program: %v; "+
				"the standard error has where", source, line, p)})
			ok = false
		}
	}()
	err := json.Unmarshal(text, &c)
	var res *lossResult
	if err != nil {
		c.Name = nameOf(text)
		err = fmt.Errorf("%s, line %d: %w", source, line, err)
	} else {
		res, err = c.evaluate(e, o)
	}
	if err != nil {
		answer, _ = json.Marshal(&lossFailure{c.Name, err.Error()})
		return answer, false
	}
	warn := func(format string, args ...any) {
		if o.errs != nil {
			o.warning.Lock()
			defer o.warning.Unlock()
			fmt.Fprintf(o.errs, "WARNING: fst loss: %s, line %d: "+format+"\n",
				append([]any{source, line}, args...)...)
		}
	}
	for _, field := range res.ignored {
		warn("the loss has the field %s; it is ignored", field)
	}
	if res.void {
		warn("no string has both a finite loss and a potential (or spells anything at all): sums are empty, and " +
			"means are nan")
	}
	if res.Sampled != nil && !res.void {
		for _, doubt := range res.Sampled.doubts() {
			warn("%s", doubt)
		}
	}
	if res.widened > 0 {
		warn("no alignment of %d with %d symbols is within the band: band %d, the least that has one, was used",
			c.l, len(c.yi), res.widened)
	}
	if answer, err = json.Marshal(res); err != nil {
		answer, _ = json.Marshal(&lossFailure{c.Name, err.Error()})
		return answer, false
	}
	return answer, true
}

// nameOf returns the name of a case that is not valid JSON, as far as it can be read. Text that is
// cut short or has other text after it may still have one.
func nameOf(text []byte) string {
	d := json.NewDecoder(bytes.NewReader(text))
	for depth, key := 0, false; ; {
		token, err := d.Token()
		if err != nil {
			return ""
		}
		switch x := token.(type) {
		case json.Delim:
			if x == '{' || x == '[' {
				if depth++; depth == 1 && x == '[' {
					return ""
				}
			} else {
				depth--
			}
			if depth == 0 {
				return ""
			}
			key = depth == 1 // of the case itself: the next is a key, or the end
			continue
		case string:
			if depth == 1 && key && x == "name" {
				if token, err = d.Token(); err != nil {
					return ""
				}
				name, _ := token.(string)
				return name
			}
		}
		if depth == 0 {
			return ""
		}
		key = depth == 1 && !key
	}
}

func (c *lossCase) gamma() float64 {
	if c.Gamma == nil {
		return 1
	}
	return float64(*c.Gamma)
}

// want translates the fields asked for.
func (c *lossCase) want(o *lossOptions) losses.Want {
	var w losses.Want
	for field, bit := range map[string]losses.Want{
		"q": losses.WantMarginals, "grad_w": losses.WantMarginals, "exp_loss": losses.WantExpected,
		"log_z0": losses.WantPlain,
		"risk":   losses.WantRisk, "risk_grad": losses.WantRiskGradient, "max_aug": losses.WantMaxAug,
		"argmax_aug": losses.WantMaxAug,
		"hvp":        losses.WantHVP, "risk_hvp": losses.WantRiskHVP, "log_z_error": losses.WantError,
		"log_z_error_kind": losses.WantError,
	} {
		if o.asks(field) && (bit&(losses.WantHVP|losses.WantRiskHVP) == 0 || c.V != nil) {
			w |= bit
		}
	}
	return w
}

func (c *lossCase) evaluate(e *losses.Evaluator, o *lossOptions) (*lossResult, error) {
	if math.IsNaN(c.gamma()) || math.IsInf(c.gamma(), 0) {
		return nil, fmt.Errorf("gamma is %v, not a finite number", c.gamma())
	}
	spec, err := lossspec.Parse(c.Loss)
	if err != nil {
		return nil, fmt.Errorf("loss: %w", err)
	}
	c.alphabet, c.l, c.q, c.yi = int(c.Alphabet), int(c.L), int(c.Q), make([]int, len(c.Ref))
	for j, k := range c.Ref {
		if k < 0 || k >= c.Alphabet {
			return nil, fmt.Errorf("yi[%d] = %d is not a symbol of an alphabet of %d", j, k, c.Alphabet)
		}
		c.yi[j] = int(k)
	}
	ev, err := c.newEvaluation(e, spec, o)
	if err != nil {
		return nil, err
	}
	if err := ev.prepare(); err != nil {
		return nil, err
	}
	if err := ev.run(); err != nil {
		return nil, err
	}
	res, err := ev.result()
	if err != nil {
		return nil, err
	}
	res.ignored = spec.Ignored
	if o.timed {
		if err := ev.time(res); err != nil {
			return nil, err
		}
	}
	return res, nil
}

// median5 runs f five times and returns the median time.
func median5(f func() error) (int64, error) {
	var ns [5]int64
	for i := range ns {
		start := time.Now()
		if err := f(); err != nil {
			return 0, err
		}
		ns[i] = time.Since(start).Nanoseconds()
	}
	slices.Sort(ns[:])
	return ns[2], nil
}
