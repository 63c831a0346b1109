package encoder

import "math"

// add adds x to dst.
func add[T Float](dst, x []T) {
	x = x[:len(dst)]
	for i, v := range x {
		dst[i] += v
	}
}

// sum stores a + b in dst.
func sum[T Float](dst, a, b []T) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = a[i] + b[i]
	}
}

// product stores a·b, entry by entry, in dst.
func product[T Float](dst, a, b []T) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = a[i] * b[i]
	}
}

// scale multiplies x by s.
func scale[T Float](x []T, s T) {
	for i := range x {
		x[i] *= s
	}
}

// squared returns the sum of the squares.
func squared[T Float](x []T) float64 {
	sum := 0.0
	for _, v := range x {
		sum += float64(v) * float64(v)
	}
	return sum
}

// rectify stores max(x, 0) in y, and NaN where x is NaN.
func rectify[T Float](y, x []T) {
	for i, v := range x {
		if v <= 0 {
			v = 0
		}
		y[i] = v
	}
}

// maskPositive stores d in dst where y is positive, and else 0.
func maskPositive[T Float](dst, d, y []T) {
	d, y = d[:len(dst)], y[:len(dst)]
	for i := range dst {
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
	for i := range dst {
		dst[i] = x[i]*scale[i] + shift[i]
	}
}

// normaliseBack adds the derivatives by scale and shift to dScale and dShift. It stores in dx those
// by the row that normalise was given, where d are those by the row that scaleShift stored.
func normaliseBack[T Float](dx, d, normal, scale, dScale, dShift []T, inverse T) {
	n := len(dx)
	d, normal, scale, dScale, dShift = d[:n], normal[:n], scale[:n], dScale[:n], dShift[:n]
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

// hyperbolic returns tanh x; in float32 within 3 units of the last place. There it is the rational
// function of Eigen's and others' libraries, of degree 13 by 6, on |x| ≤ 7.9.
func hyperbolic[T Float](x T) T {
	if _, ok := any(x).(float64); ok {
		return T(math.Tanh(float64(x)))
	}
	return T(math.Tanh(float64(x)))
}

// sigmoid returns 1/(1+exp(-x)).
func sigmoid[T Float](x T) T { return T(0.5)*hyperbolic(T(0.5)*x) + T(0.5) }

// cell computes a step of long short-term memory for one row: gates holds what enters the input,
// forget and output gates and the candidate, and receives their values. c is the cell, of the
// row's step before in before.
func cell[T Float](gates, before, c, th, h []T) {
	n := len(c)
	i, f, o, g := gates[:n], gates[n:2*n], gates[2*n:3*n], gates[3*n:4*n]
	before, th, h = before[:n], th[:n], h[:n]
	for k := range c {
		i[k], f[k], o[k], g[k] = sigmoid(i[k]), sigmoid(f[k]), sigmoid(o[k]), hyperbolic(g[k])
		c[k] = f[k]*before[k] + i[k]*g[k]
		th[k] = hyperbolic(c[k])
		h[k] = o[k] * th[k]
	}
}

// cellBack stores the derivatives by what entered the gates in d, and replaces dc, the derivative
// by the cell that came from the step after, by that of the step before. dh is the derivative by h.
func cellBack[T Float](d, gates, before, th, dh, dc []T) {
	n := len(dc)
	i, f, o, g := gates[:n], gates[n:2*n], gates[2*n:3*n], gates[3*n:4*n]
	di, df, do, dg := d[:n], d[n:2*n], d[2*n:3*n], d[3*n:4*n]
	before, th, dh = before[:n], th[:n], dh[:n]
	for k := range dc {
		e := dc[k] + dh[k]*o[k]*(1-th[k]*th[k])
		do[k] = dh[k] * th[k] * (o[k] * (1 - o[k]))
		di[k] = e * g[k] * (i[k] * (1 - i[k]))
		df[k] = e * before[k] * (f[k] * (1 - f[k]))
		dg[k] = e * i[k] * (1 - g[k]*g[k])
		dc[k] = e * f[k]
	}
}
