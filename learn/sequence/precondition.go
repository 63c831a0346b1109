package sequence

import "math"

// unscale makes the weights of z.
func (o *objective) unscale(z []float64) {
	l, stride := o.layout, o.loss.stride
	o.parallel(len(o.ranges)-1, func(_ *scorer, job int) error { // cannot fail
		for a := o.ranges[job]; a < o.ranges[job+1]; a++ {
			from, to := l.row(a)
			row := o.x[from:to]
			if o.rows != nil {
				row = o.rows[a*stride:][:to-from]
			}
			for i, v := range z[from:to] {
				row[i] = o.scale[from] * v
			}
		}
		return nil
	})
	for j := l.at1; j < l.dim; j++ {
		o.x[j] = o.scale[j] * z[j]
	}
}

// precondition makes the objective a function of x/scale, with the guess at the
// curvature that kappa stands for, and returns scale.
func (o *objective) precondition(kappa float64) []float64 {
	o.scale = o.guess(o.l2, kappa)
	o.x = make([]float64, o.layout.dim) // where rows hold the weights, memory that is never touched
	if o.layout.ptr == nil {
		o.rows = make([]float64, o.layout.single*o.loss.stride)
	}
	return o.scale
}

// guess is layout.guess with the counts of the corpus.
func (o *objective) guess(l2, kappa float64) []float64 {
	return o.layout.guess(l2, kappa, o.corpus.positions(), o.share,
		func(a int) int { return o.entries[a+1] - o.entries[a] },
		func(a int) int { return o.pairByID.ptr[a+1] - o.pairByID.ptr[a] })
}

// guess returns, for each weight, the root of the inverse of a guess at the curvature along it: l2,
// plus kappa for each position that has the attribute. Attributes are seen from a few times to once
// a position, and L-BFGS, which starts from one scale for all, needs twice the iterations without
// this. share is that of objective.
func (l *layout) guess(l2, kappa float64, positions int, share []float64, single,
	pair func(a int) int) []float64 {
	scale := make([]float64, l.dim)
	part := 1.0
	set := func(from, to int, count float64) {
		v := 1 / math.Sqrt(part*l2+kappa*max(count, 1))
		for i := from; i < to; i++ {
			scale[i] = v
		}
	}
	for a := range l.single {
		from, to := l.row(a)
		if share != nil {
			part = share[a]
		}
		set(from, to, float64(single(a)))
	}
	part = 1
	n, d := float64(positions), float64(l.labels)
	set(l.at1, l.at2, n)
	set(l.at2, l.at3, n/d)
	set(l.at3, l.atPair, n/d/d)
	for a := range l.pair {
		from, to := l.pairRow(a)
		set(from, to, float64(pair(a))/d)
	}
	return scale
}
