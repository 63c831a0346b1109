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

// guess returns, for each weight, the root of the inverse of an estimate of the curvature along it:
// l2, plus kappa for each position that has the attribute. Attributes occur anywhere from a few
// times to once a position. L-BFGS starts from one scale for all weights, and needs twice the
// iterations without this.
func (o *objective) guess(l2, kappa float64) []float64 {
	l := o.layout
	scale := make([]float64, l.dim)
	set := func(from, to int, count float64) {
		v := 1 / math.Sqrt(l2+kappa*max(count, 1))
		for i := from; i < to; i++ {
			scale[i] = v
		}
	}
	for a := range l.single {
		from, to := l.row(a)
		set(from, to, float64(o.byID.ptr[a+1]-o.byID.ptr[a]))
	}
	n, d := float64(o.corpus.positions()), float64(l.labels)
	set(l.at1, l.at2, n)
	set(l.at2, l.at3, n/d)
	set(l.at3, l.atPair, n/d/d)
	for a := range l.pair {
		from, to := l.pairRow(a)
		set(from, to, float64(o.pairByID.ptr[a+1]-o.pairByID.ptr[a])/d)
	}
	return scale
}
