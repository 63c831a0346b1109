package saddle

import "github.com/tropica-fst/tropica/learn/optim"

// OverVertices is the game whose second player mixes the points of a hull: φ(w, V θ)
// with θ in the unit simplex. It needs no other projection, and unlike Vertices
// allows entropic steps.
func OverVertices(p Problem, v *optim.Vertices) Problem {
	_, n := p.Dims()
	o := &overVertices{p: p, v: v, lambda: make([]float64, n), gl: make([]float64, n)}
	sampled, isSampled := p.(Sampled)
	convex, isConvex := p.(Convex)
	s := &sampledOverVertices{o, sampled}
	c := convexity{convex}
	switch {
	case isSampled && isConvex:
		return struct {
			*sampledOverVertices
			convexity
		}{s, c}
	case isSampled:
		return s
	case isConvex:
		return struct {
			*overVertices
			convexity
		}{o, c}
	}
	return o
}

type convexity struct{ p Convex }

func (c convexity) Curvature(mu []float64) bool { return c.p.Curvature(mu) }

type overVertices struct {
	p          Problem
	v          *optim.Vertices
	lambda, gl []float64
}

func (o *overVertices) Dims() (int, int) {
	n, _ := o.p.Dims()
	return n, len(o.v.Points())
}

func (o *overVertices) mix(theta []float64) {
	clear(o.lambda)
	for j, p := range o.v.Points() {
		for i, v := range p {
			o.lambda[i] += theta[j] * v
		}
	}
}

func (o *overVertices) back(gl []float64) {
	for j := range gl {
		gl[j] = 0
		for i, v := range o.v.Points()[j] {
			gl[j] += v * o.gl[i]
		}
	}
}

func (o *overVertices) Eval(w, theta, gw, gl []float64) (float64, error) {
	o.mix(theta)
	v, err := o.p.Eval(w, o.lambda, gw, o.gl)
	o.back(gl)
	return v, err
}

type sampledOverVertices struct {
	*overVertices
	s Sampled
}

func (o *sampledOverVertices) Len() int { return o.s.Len() }

func (o *sampledOverVertices) EvalBatch(batch []int, w, theta, gw, gl []float64) (float64, error) {
	o.mix(theta)
	v, err := o.s.EvalBatch(batch, w, o.lambda, gw, o.gl)
	o.back(gl)
	return v, err
}
