package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/tropica-fst/tropica/cmd/internal/mapping"
	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// The benchmark runs over tropical machines; only lattices and forward sums have
// workloads over log weights.
type (
	trop  = semiring.Tropical
	stdF  = fst.Expanded[trop]
	stdV  = *fst.Vector[trop]
	stdOp func(a stdF) (stdF, error)
)

// benchOps makes the workloads ready, by the name of their operation.
var benchOps = map[string]func(*benchInputs) (*job, error){
	"compile":       benchCompile,
	"print":         benchPrint,
	"read":          benchRead,
	"read_const":    benchMap,
	"convert_const": unary(func(a stdF) (stdF, error) { return fst.NewConst(a), nil }),
	"arcsort":       benchArcSort,
	"compose":       benchCompose,
	"determinize":   unary(benchDeterminize[trop]),
	"minimize":      inPlaceOp(minimizeInPlace),
	"encdetmin":     unary(encodeDeterminizeMinimize),
	"rmepsilon":     benchRmEpsilon,
	"epsnormalize": unary(func(a stdF) (stdF, error) {
		return ops.EpsNormalize(a, ops.Input, ops.Limits{})
	}),
	"push":          benchPush,
	"sd_tropical":   benchDistance[trop],
	"sd_log":        benchDistance[semiring.Log],
	"sp":            benchShortestPath,
	"prune":         benchPrune,
	"reverse":       unary(func(a stdF) (stdF, error) { return ops.Reverse[trop, trop](a, nil) }),
	"topsort":       inPlaceOp(func(v stdV) (stdV, error) { return v, ops.TopSort(v) }),
	"connect":       benchConnect,
	"closure":       inPlaceOp(func(v stdV) (stdV, error) { return v, ops.Closure(v, ops.Star, ops.Limits{}) }),
	"union":         benchJoin(func(v stdV, b stdF) error { return ops.Union(v, b, ops.Limits{}) }),
	"concat":        benchJoin(func(v stdV, b stdF) error { return ops.Concat(v, b, ops.Limits{}) }),
	"equivalent":    benchEquivalent,
	"lat_sd_log":    benchLatticeDistance,
	"lat_intersect": benchLatticeIntersect,
	"lat_det":       benchLatticeDeterminize,
	"lat_rdm":       batch(removeDeterminizeMinimize),
	"lat_sp":        benchLatticePaths,
	"spell":         benchWords(spell),
	"spell_lazy":    benchWords(spellLazy),
	"g2p":           benchWords(pronounce),
}

// The options of OpenFst's library calls, which the peer's driver makes.
var benchMinimizing = &ops.MinimizeOptions{ArcOrder: true}

// load reads one machine.
func (in *benchInputs) load(name string) (stdF, error) {
	f, err := os.Open(in.path(name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	// The peer takes a file's property bits as they are.
	return fst.Read[trop](f, &fst.ReadOptions{Name: name, Trust: true})
}

// loadAll reads the machines that stand one after the other in a file, and hands
// each to keep.
func (in *benchInputs) loadAll(name string, keep func(*fst.Stream, stdF) error) error {
	f, err := os.Open(in.path(name))
	if err != nil {
		return err
	}
	defer f.Close()
	// Without the file's size, which would have memory reserved for all of it
	// at each machine.
	s := fst.NewStream(struct{ io.Reader }{f}, &fst.ReadOptions{Name: name, Trust: true})
	for s.More() {
		h, err := s.ReadHeader()
		if err != nil {
			return err
		}
		m, err := fst.ReadBody[trop](s, h)
		if err != nil {
			return err
		}
		if err := keep(s, m); err != nil {
			return err
		}
	}
	return nil
}

// symbols reads the table that an option names, or the file itself.
func (in *benchInputs) symbols(name string) (*fst.SymbolTable, error) {
	f, err := os.Open(in.path(name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return fst.ReadSymbols(f, &fst.SymbolTextOptions{Name: name})
}

// copyOf is a deep copy that may be changed.
func copyOf(f stdF) stdV {
	if v, ok := f.(stdV); ok {
		return v.Clone()
	}
	return ops.MapInto(f, func(w trop) trop { return w })
}

// measure adds the size of a result, and the weight of all its paths together.
func measure[W semiring.Component[W]](r *benchResult, f fst.Expanded[W], value bool) error {
	r.States += int64(f.NumStates())
	for q := range fst.StateID(f.NumStates()) {
		r.Arcs += int64(len(f.Arcs(q)))
		if fst.IsFinal(f, q) {
			r.Finals++
		}
	}
	if !value || f.Start() == fst.NoState {
		return nil
	}
	w, err := ops.TotalWeight(f, nil)
	if err == nil && !semiring.IsZero(w) {
		r.Value += scalar(w)
	}
	return err
}

// scalar is the value of a weight that is one number.
func scalar(w any) float64 {
	switch w := w.(type) {
	case semiring.Tropical:
		return float64(w)
	case semiring.Log:
		return float64(w)
	case semiring.Log64:
		return float64(w)
	}
	panic(fmt.Sprintf("bench: %T is not a number", w))
}

// results keeps what an operation made until it has been looked at.
func results(j *job, out *[]stdF) *job {
	j.note = func(r *benchResult) error {
		for _, f := range *out {
			// As in the peer's driver, frozen machines are counted, not summed.
			_, frozen := f.(*fst.Const[trop])
			if frozen {
				if err := measure(r, f, false); err != nil {
					return err
				}
				r.Finals = 0
				continue
			}
			if err := measure(r, f, true); err != nil {
				return err
			}
		}
		return nil
	}
	j.drop = func() { clear(*out); *out = (*out)[:0] }
	return j
}

// unary is an operation that makes a new machine.
func unary(op stdOp) func(*benchInputs) (*job, error) {
	return func(in *benchInputs) (*job, error) {
		a, err := in.load(in.in1)
		if err != nil {
			return nil, err
		}
		var out []stdF
		return results(&job{run: func() error {
			f, err := op(a)
			out = append(out, f)
			return err
		}}, &out), nil
	}
}

func benchCompose(in *benchInputs) (*job, error) {
	b, err := in.load(in.in2)
	if err != nil {
		return nil, err
	}
	o := &ops.ComposeOptions{Limits: in.limits()}
	return unary(func(a stdF) (stdF, error) { return ops.Compose(a, b, o) })(in)
}

func benchRmEpsilon(in *benchInputs) (*job, error) {
	o := &ops.RmEpsilonOptions{Limits: in.limits()}
	return inPlaceOp(func(v stdV) (stdV, error) { return v, ops.RmEpsilon(v, o) })(in)
}

// inPlaceOp is an operation that changes a copy made outside the clock.
func inPlaceOp(op func(stdV) (stdV, error)) func(*benchInputs) (*job, error) {
	return func(in *benchInputs) (*job, error) {
		a, err := in.load(in.in1)
		if err != nil {
			return nil, err
		}
		var v stdV
		var out []stdF
		return results(&job{
			prepare: func() error { v = copyOf(a); return nil },
			run: func() error {
				f, err := op(v)
				v = nil
				out = append(out, f)
				return err
			}}, &out), nil
	}
}

// benchJoin is an operation that adds a second machine to the first.
func benchJoin(op func(stdV, stdF) error) func(*benchInputs) (*job, error) {
	return func(in *benchInputs) (*job, error) {
		b, err := in.load(in.in2)
		if err != nil {
			return nil, err
		}
		return inPlaceOp(func(v stdV) (stdV, error) { return v, op(v, b) })(in)
	}
}

// batch is an operation on each of many machines.
func batch(op stdOp) func(*benchInputs) (*job, error) {
	return func(in *benchInputs) (*job, error) {
		var all []stdF
		if err := in.loadAll(in.in1, func(_ *fst.Stream,
			m stdF) error {
			all = append(all, m)
			return nil
		}); err != nil {
			return nil, err
		}
		var out []stdF
		return results(&job{run: func() error {
			out = make([]stdF, len(all))
			return ops.Batch(len(all), in.limits(), func(i int) (err error) {
				out[i], err = op(all[i])
				return err
			})
		}}, &out), nil
	}
}

func benchCompile(in *benchInputs) (*job, error) {
	text, err := os.ReadFile(in.path(in.in1))
	if err != nil {
		return nil, err
	}
	var isyms, osyms *fst.SymbolTable
	var out []stdF
	return results(&job{
		prepare: func() (err error) {
			if isyms, err = in.symbols(in.options["isyms"]); err != nil {
				return err
			}
			osyms, err = in.symbols(in.options["osyms"])
			return err
		},
		run: func() error {
			f, err := fst.ReadText[trop](bytes.NewReader(text),
				&fst.ReadTextOptions{Name: in.in1, InputSymbols: isyms, OutputSymbols: osyms})
			out = append(out, f)
			return err
		}}, &out), nil
}

func benchPrint(in *benchInputs) (*job, error) {
	a, err := in.load(in.in1)
	if err != nil {
		return nil, err
	}
	isyms, err := in.symbols(in.options["isyms"])
	if err != nil {
		return nil, err
	}
	osyms, err := in.symbols(in.options["osyms"])
	if err != nil {
		return nil, err
	}
	var text *textBuffer
	return &job{
		run: func() error {
			text = &textBuffer{}
			// The peer's driver prints into a stream of six digits.
			return fst.WriteText(io.Writer(text), a, &fst.WriteTextOptions{InputSymbols: isyms, OutputSymbols: osyms,
				Format: semiring.TextFormat{Digits: 6}})
		},
		note: func(r *benchResult) error { r.Value = float64(text.n); return nil },
		drop: func() { text = nil },
	}, nil
}

func benchRead(in *benchInputs) (*job, error) {
	var out []stdF
	return results(&job{run: func() error {
		f, err := in.load(in.in1)
		out = append(out, f)
		return err
	}}, &out), nil
}

// benchMap reads a const machine in the way of --fst_read_mode=map.
func benchMap(in *benchInputs) (*job, error) {
	var out []stdF
	var mapped *mapping.File
	j := results(&job{run: func() error {
		file, err := os.Open(in.path(in.in1))
		if err != nil {
			return err
		}
		defer file.Close()
		if mapped, err = mapping.Map(file); err != nil {
			return err
		}
		f, err := fst.ReadBytes[trop](mapped.Bytes(),
			&fst.ReadOptions{Name: in.in1, Trust: true, Checked: mapped.Release})
		out = append(out, f)
		return err
	}}, &out)
	forget := j.drop
	j.drop = func() {
		forget()
		mapped.Close() // an error would only leave the mapping there
	}
	return j, nil
}

func benchArcSort(in *benchInputs) (*job, error) {
	side := ops.Input
	if in.options["by"] == "olabel" {
		side = ops.Output
	}
	return inPlaceOp(func(v stdV) (stdV, error) { ops.ArcSortWorkers(v, side, in.workers); return v, nil })(in)
}

func benchConnect(in *benchInputs) (*job, error) {
	return inPlaceOp(func(v stdV) (stdV, error) { ops.ConnectWorkers(v, in.workers); return v, nil })(in)
}

func benchDeterminize[W semiring.Divisible[W]](a fst.Expanded[W]) (fst.Expanded[W], error) {
	return ops.Determinize(a, &ops.DeterminizeOptions{Delta: ops.DefaultDelta})
}

func benchPush(in *benchInputs) (*job, error) {
	o := &ops.PushOptions{ToFinal: in.options["final"] == "1", Delta: ops.ShortestDelta}
	return inPlaceOp(func(v stdV) (stdV, error) { return v, ops.PushWeights(v, o) })(in)
}

func benchEquivalent(in *benchInputs) (*job, error) {
	a, err := in.load(in.in1)
	if err != nil {
		return nil, err
	}
	b, err := in.load(in.in2)
	if err != nil {
		return nil, err
	}
	same := false
	return &job{
		run: func() (err error) { same, err = ops.Equivalent(a, b, ops.DefaultDelta); return err },
		note: func(r *benchResult) error {
			if same {
				r.Value = 1
			}
			return nil
		}}, nil
}

// benchDistance measures shortest distances over W.
func benchDistance[W semiring.Component[W]](in *benchInputs) (*job, error) {
	a, err := in.load(in.in1)
	if err != nil {
		return nil, err
	}
	f, same := a.(fst.Expanded[W])
	if !same {
		v, err := ops.Convert[W](a)
		if err != nil {
			return nil, err
		}
		f = v
	}
	a = nil
	var d []W
	return &job{
		run: func() (err error) { d, err = ops.ShortestDistance(f, nil); return err },
		note: func(r *benchResult) error {
			total := semiring.Zero[W]()
			for q := range d {
				total = total.Plus(d[q].Times(f.Final(fst.StateID(q))))
			}
			r.States, r.Value = int64(len(d)), scalar(total)
			return nil
		},
		drop: func() { d = nil },
	}, nil
}

func benchShortestPath(in *benchInputs) (*job, error) {
	find, err := in.pathFinder()
	if err != nil {
		return nil, err
	}
	return unary(find)(in)
}

// pathFinder is the search that the options n and unique ask for.
func (in *benchInputs) pathFinder() (stdOp, error) {
	n, err := in.number("n", 1)
	if err != nil {
		return nil, err
	}
	o := &ops.ShortestPathOptions[trop]{N: n, Delta: ops.ShortestDelta}
	unique := in.options["unique"] == "1"
	return func(a stdF) (stdF, error) {
		if unique {
			return ops.ShortestPathUnique(a, o)
		}
		return ops.ShortestPath(a, o)
	}, nil
}

func benchPrune(in *benchInputs) (*job, error) {
	t, err := strconv.ParseFloat(in.options["t"], 32)
	if err != nil {
		return nil, fmt.Errorf("option t=%s is not a number", in.options["t"])
	}
	w := trop(t)
	o := &ops.PruneOptions[trop]{Threshold: &w, Delta: ops.DefaultDelta}
	return unary(func(a stdF) (stdF, error) {
		v := copyOf(a)
		return v, ops.Prune(v, o)
	})(in)
}

// minimizeInPlace minimizes an acceptor where it is, a transducer through pairs
// of output strings and weights.
func minimizeInPlace(v stdV) (stdV, error) {
	if fst.PropertiesOf[trop](v, fst.Acceptor).Has(fst.Acceptor) {
		return v, ops.MinimizeAcceptor(v, benchMinimizing)
	}
	return ops.Minimize(v, benchMinimizing)
}

// encodeDeterminizeMinimize makes a transducer minimal with its pairs of labels
// as symbols.
func encodeDeterminizeMinimize(a stdF) (stdF, error) {
	v := copyOf(a)
	t := ops.NewEncodeTable[trop](ops.EncodeLabels)
	ops.Encode(v, t)
	d, err := ops.Determinize(v, &ops.DeterminizeOptions{Delta: ops.DefaultDelta})
	if err != nil {
		return nil, err
	}
	v = nil
	if err := ops.MinimizeAcceptor(d, benchMinimizing); err != nil {
		return nil, err
	}
	return d, ops.Decode(d, t)
}
