package encoder

import "math"

// The loops beside the products. Each has its Go form here, which also handles the ends of vectors
// on machines that have another form (vector_amd64.go). Both compute the same operations, sums over
// a vector in another order.

// add adds x to dst.
func add[T Float](dst, x []T) {
	x = x[:len(dst)]
	for i := addFast(dst, x); i < len(dst); i++ {
		dst[i] += x[i]
	}
}

// sum stores a + b in dst.
func sum[T Float](dst, a, b []T) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := sumFast(dst, a, b); i < len(dst); i++ {
		dst[i] = a[i] + b[i]
	}
}

// product stores a·b, entry by entry, in dst.
func product[T Float](dst, a, b []T) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := productFast(dst, a, b); i < len(dst); i++ {
		dst[i] = a[i] * b[i]
	}
}

// scale multiplies x by s.
func scale[T Float](x []T, s T) {
	for i := scaleFast(x, s); i < len(x); i++ {
		x[i] *= s
	}
}

// squared returns the sum of the squares.
func squared[T Float](x []T) float64 {
	n, sum := squaredFast(x)
	for _, v := range x[n:] {
		sum += float64(v) * float64(v)
	}
	return sum
}

// rectify stores max(x, 0) in y, and NaN where x is NaN.
func rectify[T Float](y, x []T) {
	x = x[:len(y)]
	for i := rectifyFast(y, x); i < len(y); i++ {
		v := x[i]
		if v <= 0 {
			v = 0
		}
		y[i] = v
	}
}

// maskPositive stores d in dst where y is positive, and else 0.
func maskPositive[T Float](dst, d, y []T) {
	d, y = d[:len(dst)], y[:len(dst)]
	for i := maskPositiveFast(dst, d, y); i < len(dst); i++ {
		v := d[i]
		if !(y[i] > 0) {
			v = 0
		}
		dst[i] = v
	}
}

// epsilon is added to variances, so that rows of equal entries are not divided by zero.
const epsilon = 1e-5

// normalise stores x less its mean and divided by its deviation in dst, and returns the inverse of
// the deviation.
func normalise[T Float](dst, x []T) T {
	if inverse, ok := normaliseFast(dst, x); ok {
		return inverse
	}
	mean, square := T(0), T(0)
	for _, v := range x {
		mean += v
	}
	mean /= T(len(x))
	for i, v := range x {
		v -= mean
		dst[i] = v
		square += v * v
	}
	inverse := T(1 / math.Sqrt(float64(square)/float64(len(x))+epsilon))
	for i := range dst {
		dst[i] *= inverse
	}
	return inverse
}

// scaleShift stores x·scale + shift in dst.
func scaleShift[T Float](dst, x, scale, shift []T) {
	x, scale, shift = x[:len(dst)], scale[:len(dst)], shift[:len(dst)]
	for i := scaleShiftFast(dst, x, scale, shift); i < len(dst); i++ {
		dst[i] = x[i]*scale[i] + shift[i]
	}
}

// normaliseBack adds the derivatives by scale and shift to dScale and dShift. It stores in dx those
// by the row that normalise was given, where d are those by the row that scaleShift stored.
func normaliseBack[T Float](dx, d, normal, scale, dScale, dShift []T, inverse T) {
	n := len(dx)
	d, normal, scale, dScale, dShift = d[:n], normal[:n], scale[:n], dScale[:n], dShift[:n]
	if normaliseBackFast(dx, d, normal, scale, dScale, dShift, inverse) {
		return
	}
	mean, along := T(0), T(0)
	for i, v := range d {
		dShift[i] += v
		dScale[i] += v * normal[i]
		v *= scale[i]
		mean += v
		along += v * normal[i]
		dx[i] = v
	}
	mean /= T(n)
	along /= T(n)
	for i := range dx {
		dx[i] = inverse * (dx[i] - mean - normal[i]*along)
	}
}

// table holds the constants of hyperbolic, as the assembly has them: a numerator and a denominator
// in x², the bound of x, 1 and 1/2. On |x| ≤ 9 the fraction is within 7e-9 of tanh x / x, relative
// to it. It was fitted by Lawson's iteration on 6000 Chebyshev points.
var table = [16]float32{
	0.9999999932980963, 0.1308358204749054, 0.0031034772017977624, 1.1149266142703881e-05,
	-2.0204532295209393e-08, 5.2678310197335606e-11, -8.462284526035333e-14,
	1, 0.4641690907652119, 0.024493273348889354, 0.0002545445935901892,
	9, -9, 1, -1, 0.5,
}

// hyperbolic returns tanh x; in float32 within 4e-7 of it, relative to it.
func hyperbolic[T Float](x T) T {
	if _, ok := any(x).(float64); ok {
		return T(math.Tanh(float64(x)))
	}
	v := float32(x)
	v = clamp(v, table[12], table[11])
	u := v * v
	p, q := table[6], table[10]
	for k := 5; k >= 0; k-- {
		p = float32(p*u) + table[k]
	}
	for k := 9; k >= 7; k-- {
		q = float32(q*u) + table[k]
	}
	return T(clamp(float32(v*p)/q, -1, 1))
}

// clamp returns v within bounds, and NaN for NaN.
func clamp(v, low, high float32) float32 {
	if v > high {
		return high
	}
	if v < low {
		return low
	}
	return v
}

// sigmoid returns 1/(1+exp(-x)).
func sigmoid[T Float](x T) T { return T(T(0.5)*hyperbolic(T(0.5)*x)) + T(0.5) }

// cell computes a step of long short-term memory for one row: gates holds what enters the input,
// forget and output gates and the candidate, and receives their values. before is the cell of the
// step before, and c receives that of this one, th its hyperbolic tangent and h the outputs.
func cell[T Float](gates, before, c, th, h []T) {
	n := len(c)
	i, f, o, g := gates[:n], gates[n:2*n], gates[2*n:3*n], gates[3*n:4*n]
	before, th, h = before[:n], th[:n], h[:n]
	if cellFast(gates, before, c, th, h) {
		return
	}
	for k := range c {
		i[k], f[k], o[k], g[k] = sigmoid(i[k]), sigmoid(f[k]), sigmoid(o[k]), hyperbolic(g[k])
		c[k] = T(f[k]*before[k]) + T(i[k]*g[k])
		th[k] = hyperbolic(c[k])
		h[k] = o[k] * th[k]
	}
}

// cellBack stores in d the derivatives by what entered the gates, and replaces dc, the derivatives
// by the cell that came from the step after, by those for the step before. dh are those by the
// outputs.
func cellBack[T Float](d, gates, before, th, dh, dc []T) {
	n := len(dc)
	i, f, o, g := gates[:n], gates[n:2*n], gates[2*n:3*n], gates[3*n:4*n]
	di, df, do, dg := d[:n], d[n:2*n], d[2*n:3*n], d[3*n:4*n]
	before, th, dh = before[:n], th[:n], dh[:n]
	if cellBackFast(d, gates, before, th, dh, dc) {
		return
	}
	for k := range dc {
		e := dc[k] + dh[k]*o[k]*(1-th[k]*th[k])
		do[k] = dh[k] * th[k] * (o[k] * (1 - o[k]))
		di[k] = e * g[k] * (i[k] * (1 - i[k]))
		df[k] = e * before[k] * (f[k] * (1 - f[k]))
		dg[k] = e * i[k] * (1 - g[k]*g[k])
		dc[k] = e * f[k]
	}
}
