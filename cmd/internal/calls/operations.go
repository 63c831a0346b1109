package calls

import (
	"fmt"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/ops"
	"github.com/tropica-fst/tropica/semiring"
)

// offered is an operation as the C interface offers it.
type offered[W number[W]] struct {
	two bool // it takes a second machine over the same weights
	do  doing[W]
}

// doing makes a machine of m, and of b where two are taken, or answers with a number.
type doing[W number[W]] func(m *held[W], b fst.Expanded[W], o *operation) (machine, float64, error)

// operations is what tropica_machine_operate offers, by name: one entry each. The header of the C
// interface lists the names, and the Python package has a function for each; a test compares.
func operations[W number[W]]() map[string]offered[W] {
	return map[string]offered[W]{
		"compose": fromTwo(func(a, b fst.Expanded[W], o *operation) (fst.Expanded[W], error) {
			return ops.Compose(fst.Fst[W](a), fst.Fst[W](b), &ops.ComposeOptions{Limits: o.limits})
		}),
		"intersect": fromTwo(func(a, b fst.Expanded[W], o *operation) (fst.Expanded[W], error) {
			return ops.Intersect(fst.Fst[W](a), fst.Fst[W](b), &ops.ComposeOptions{Limits: o.limits})
		}),
		"union": fromTwo(func(a, b fst.Expanded[W], o *operation) (fst.Expanded[W], error) {
			v := copied(a)
			return v, ops.Union(v, b, o.limits)
		}),
		"concat": fromTwo(func(a, b fst.Expanded[W], o *operation) (fst.Expanded[W], error) {
			v := copied(a)
			return v, ops.Concat(v, b, o.limits)
		}),
		"closure": fromOne(func(f fst.Expanded[W], o *operation) (fst.Expanded[W], error) {
			v, kind := copied(f), ops.Star
			if o.Plus {
				kind = ops.Plus
			}
			return v, ops.Closure(v, kind, o.limits)
		}),
		"invert": inPlace(func(v *fst.Vector[W], o *operation) error { ops.Invert(v); return nil }),
		"project": inPlace(func(v *fst.Vector[W], o *operation) error {
			ops.Project(v, o.side())
			return nil
		}),
		"connect": inPlace(func(v *fst.Vector[W], o *operation) error { ops.Connect(v); return nil }),
		"arcsort": fromOne(func(f fst.Expanded[W], o *operation) (fst.Expanded[W], error) {
			return ops.ArcSorted(f, o.side()), nil
		}),
		"topsort": inPlace(func(v *fst.Vector[W], o *operation) error { return ops.TopSort(v) }),
		"rmepsilon": inPlace(func(v *fst.Vector[W], o *operation) error {
			return ops.RmEpsilon(v, &ops.RmEpsilonOptions{Limits: o.limits})
		}),
		"determinize": fromOne(determinize[W]),
		"minimize": fromOne(func(f fst.Expanded[W], o *operation) (fst.Expanded[W], error) {
			return ops.Minimize(f, &ops.MinimizeOptions{Delta: o.delta(), Limits: o.limits})
		}),
		"push": fromOne(func(f fst.Expanded[W], o *operation) (fst.Expanded[W], error) {
			return ops.Push(f, &ops.PushOptions{Labels: o.Labels, KeepWeights: o.Labels, ToFinal: o.ToFinal,
				Limits: o.limits})
		}),
		"equal": compared(func(a, b fst.Expanded[W], o *operation) (bool, error) {
			return ops.Equal(a, b, o.delta()), nil
		}),
		"isomorphic": compared(func(a, b fst.Expanded[W], o *operation) (bool, error) {
			return ops.Isomorphic(a, b, o.delta())
		}),
		"equivalent": compared(func(a, b fst.Expanded[W], o *operation) (bool, error) {
			return ops.Equivalent(a, b, o.delta())
		}),
		"shortestdistance": {do: total[W]},
		"convert":          {do: convert[W]},
		"shortestpath":     {do: ordered[W]("shortestpath", shortestPath)},
		"prune":            {do: ordered[W]("prune", prune)},
	}
}

func fromOne[W number[W]](make func(f fst.Expanded[W], o *operation) (fst.Expanded[W], error)) offered[W] {
	return offered[W]{do: func(m *held[W], _ fst.Expanded[W], o *operation) (machine, float64, error) {
		return m.made(make(m.f, o))
	}}
}

func fromTwo[W number[W]](make func(a, b fst.Expanded[W], o *operation) (fst.Expanded[W], error)) offered[W] {
	do := func(m *held[W], b fst.Expanded[W], o *operation) (machine, float64, error) {
		return m.made(make(m.f, b, o))
	}
	return offered[W]{two: true, do: do}
}

// inPlace offers what changes a machine: a copy of the caller's.
func inPlace[W number[W]](change func(v *fst.Vector[W], o *operation) error) offered[W] {
	return fromOne(func(f fst.Expanded[W], o *operation) (fst.Expanded[W], error) {
		v := copied(f)
		return v, change(v, o)
	})
}

// compared offers a yes-or-no question about two machines; the answer is 1 for yes, 0 for no.
func compared[W number[W]](ask func(a, b fst.Expanded[W], o *operation) (bool, error)) offered[W] {
	do := func(m *held[W], b fst.Expanded[W], o *operation) (machine, float64, error) {
		yes, err := ask(m.f, b, o)
		if yes && err == nil {
			return nil, 1, nil
		}
		return nil, 0, err
	}
	return offered[W]{two: true, do: do}
}

func (m *held[W]) made(f fst.Expanded[W], err error) (machine, float64, error) {
	if err != nil {
		return nil, 0, err
	}
	return &held[W]{f, m.code}, 0, nil
}

// side is the side of project and arcsort.
func (o *operation) side() ops.Side {
	if o.Output {
		return ops.Output
	}
	return ops.Input
}

func (m *held[W]) operate(name string, other machine, o *operation) (machine, float64, error) {
	op, ok := operations[W]()[name]
	if !ok {
		return nil, 0, fmt.Errorf("there is no operation %q", name)
	}
	if op.two && other == nil {
		return nil, 0, fmt.Errorf("%s: the second machine is missing", name)
	}
	if !op.two && other != nil {
		return nil, 0, fmt.Errorf("%s takes one machine", name)
	}
	var b fst.Expanded[W]
	if other != nil {
		h, ok := other.(*held[W])
		if !ok {
			return nil, 0, fmt.Errorf("%s: the machines' weights are %s and %s; convert one of them", name,
				typeNames[m.code], typeNames[other.kind()])
		}
		b = h.f
	}
	return op.do(m, b, o)
}

func determinize[W number[W]](f fst.Expanded[W], o *operation) (fst.Expanded[W], error) {
	kinds := map[string]ops.DeterminizeType{"": ops.DeterminizeFunctional,
		"functional": ops.DeterminizeFunctional, "nonfunctional": ops.DeterminizeNonFunctional,
		"disambiguate": ops.DeterminizeDisambiguate}
	kind, ok := kinds[o.Type]
	if !ok {
		return nil, fmt.Errorf("determinize: type %q is none of functional, nonfunctional, disambiguate", o.Type)
	}
	return ops.Determinize(fst.Fst[W](f),
		&ops.DeterminizeOptions{Delta: o.delta(), Type: kind, Limits: o.limits})
}

// total answers with the ⊕-sum of all paths.
func total[W number[W]](m *held[W], _ fst.Expanded[W], o *operation) (machine, float64, error) {
	d, err := ops.ShortestDistance(m.f, &ops.ShortestDistanceOptions{Limits: o.limits})
	if err != nil {
		return nil, 0, err
	}
	sum := semiring.Zero[W]()
	for q := range fst.StateID(m.f.NumStates()) {
		sum = sum.Plus(d[q].Times(m.f.Final(q)))
	}
	return nil, float64(sum), nil
}

func convert[W number[W]](m *held[W], _ fst.Expanded[W], o *operation) (machine, float64, error) {
	switch o.To {
	case "standard":
		f, err := ops.Convert[semiring.Tropical](m.f)
		return &held[semiring.Tropical]{f, standardType}, 0, err
	case "log":
		f, err := ops.Convert[semiring.Log](m.f)
		return &held[semiring.Log]{f, logType}, 0, err
	case "log64":
		f, err := ops.Convert[semiring.Log64](m.f)
		return &held[semiring.Log64]{f, log64Type}, 0, err
	}
	return nil, 0, fmt.Errorf("convert: %q is none of standard, log, log64", o.To)
}

type tropical = semiring.Tropical

// ordered offers what needs an order of paths.
func ordered[W number[W]](name string, make func(f fst.Expanded[tropical], threshold *tropical,
	o *operation) (*fst.Vector[tropical], error)) doing[W] {
	return func(m *held[W], _ fst.Expanded[W], o *operation) (machine, float64, error) {
		f, ok := any(m.f).(fst.Expanded[tropical])
		if !ok {
			return nil, 0, fmt.Errorf("%s: paths over %s weights have no order; convert to standard", name,
				typeNames[m.code])
		}
		if o.N < 0 {
			return nil, 0, fmt.Errorf("%s: n is %d, not at least 1", name, o.N)
		}
		var threshold *tropical
		if o.Threshold != nil {
			t := tropical(*o.Threshold)
			threshold = &t
		}
		out, err := make(f, threshold, o)
		if err != nil {
			return nil, 0, err
		}
		return &held[tropical]{out, standardType}, 0, nil
	}
}

func prune(f fst.Expanded[tropical], threshold *tropical, o *operation) (*fst.Vector[tropical], error) {
	v := copied(f)
	return v, ops.Prune(v, &ops.PruneOptions[tropical]{Threshold: threshold, Limits: o.limits})
}

func shortestPath(f fst.Expanded[tropical], threshold *tropical,
	o *operation) (*fst.Vector[tropical], error) {
	po := &ops.ShortestPathOptions[tropical]{N: o.N, Threshold: threshold, Limits: o.limits}
	if o.Unique {
		return ops.ShortestPathUnique(f, po)
	}
	return ops.ShortestPath(f, po)
}
