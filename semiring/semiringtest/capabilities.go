package semiringtest

import (
	"reflect"

	"github.com/tropica-fst/tropica/semiring"
)

// What weights claim beyond the semiring, found by type assertion.

// roundoff is what a few operations on numbers near 1 may be off in float64, or
// in float32 for weights that say so by Within: roots and quotients do not stay
// multiples of 1/8.
const roundoff = 1e-9

// nearly is for laws of operations that round whatever goes in.
func (c *checker[W]) nearly(law string, got, want W, operands ...W) {
	ok := c.close(got, want)
	if a, has := any(got).(semiring.Approx[W]); !ok && has {
		ok = a.Near(want, roundoff)
	}
	c.check(law, ok, "%v: %v and %v are not equal", operandList[W](operands), show(got), show(want))
}

func (c *checker[W]) unaryCapabilities(a W) {
	zero, one := semiring.Zero[W](), semiring.One[W]()
	if semiring.IsIdempotent[W]() {
		c.exact("idempotence", a.Plus(a), a, a)
	}
	if w, ok := any(a).(semiring.Approx[W]); ok {
		c.check("near", w.Near(a, 0), "%v is not near itself", show(a))
		c.check("near", !any(zero).(semiring.Approx[W]).Near(one, 1e-6), "0̄ is near 1̄")
	}
	if w, ok := any(a).(semiring.Quantizable[W]); ok {
		for _, delta := range []float64{1. / 1024, 1. / 8, 1. / 3} {
			q := w.Quantize(delta)
			c.exact("quantization", any(q).(semiring.Quantizable[W]).Quantize(delta), q, a)
			// Weights that are near by factors have QuantizeFactor for this.
			if n, ok := any(a).(semiring.Approx[W]); ok && !proportional(a) {
				c.check("quantization", n.Near(q, delta), "%v becomes %v, more than %v off", show(a), show(q), delta)
			}
		}
	}
	if w, ok := any(a).(semiring.Proportional[W]); ok {
		for _, delta := range []float64{1e-9, 1. / 1024, 1. / 8, 1. / 3} {
			q, factors := w.QuantizeFactor(delta)
			again, _ := any(q).(semiring.Proportional[W]).QuantizeFactor(delta)
			c.exact("quantization by factors", again, q, a)
			if !factors {
				c.exact("quantization by factors", q, w.Quantize(delta), a)
			}
			if n, ok := any(a).(semiring.Approx[W]); ok {
				c.check("quantization by factors", n.Near(q, delta), "%v becomes %v, more than a factor of 1±%v off", show(a), show(q), delta)
			}
			c.check("quantization by factors", a.Equal(zero) == q.Equal(zero) || !factors, "%v becomes %v", show(a), show(q))
		}
	}
	if w, ok := any(a).(semiring.Star[W]); ok {
		s, ok := w.Star()
		c.check("star", ok || !a.Equal(zero), "0̄ has no star")
		if ok {
			c.check("star", s.Member(), "the star %v of %v is no member", show(s), show(a))
			c.nearly("star", one.Plus(a.Times(s)), s, a)
			c.nearly("star", one.Plus(s.Times(a)), s, a)
		}
	}
	if w, ok := any(a).(semiring.Powered[W]); ok {
		c.exact("power", w.Power(0), one, a)
		c.exact("power", w.Power(1), a, a)
		c.nearly("power", w.Power(2), a.Times(a), a)
		c.nearly("power", w.Power(3), a.Times(a).Times(a), a)
		if root := w.Power(0.5); root.Member() {
			c.nearly("power", root.Times(root), a, a)
		}
	}
	c.reverse(a, c.pick())
}

// proportional reports whether parts of w are multiplied as numbers.
func proportional[W any](w W) bool {
	p, ok := any(w).(semiring.Proportional[W])
	if ok {
		_, ok = p.QuantizeFactor(1)
	}
	return ok
}

func (c *checker[W]) binaryCapabilities(a, b W) {
	sum := a.Plus(b)
	if _, ok := any(a).(semiring.Commutative[W]); ok {
		c.exact("times commutativity", a.Times(b), b.Times(a), a, b)
	}
	if w, ok := any(a).(semiring.Path[W]); ok {
		v := any(b).(semiring.Path[W])
		c.check("path", sum.Equal(a) || sum.Equal(b), "the sum of %v and %v is neither, but %v", show(a), show(b), show(sum))
		c.check("order", w.Less(b) == (sum.Equal(a) && !a.Equal(b)), "%v and %v: Less is %v, the sum %v", show(a), show(b), w.Less(b), show(sum))
		trichotomy := 0
		for _, holds := range []bool{w.Less(b), v.Less(a), a.Equal(b)} {
			if holds {
				trichotomy++
			}
		}
		c.check("order", trichotomy == 1, "%v and %v: not exactly one of less, greater and equal", show(a), show(b))
	}
	if w, ok := any(a).(semiring.Approx[W]); ok {
		v := any(b).(semiring.Approx[W])
		for _, delta := range []float64{0, 1. / 8, 1} {
			c.check("near", w.Near(b, delta) == v.Near(a, delta), "%v and %v within %v: Near is not symmetric", show(a), show(b), delta)
			c.check("near", !w.Near(b, delta) || w.Near(b, 2*delta), "%v and %v: near within %v but not within its double", show(a), show(b), delta)
		}
		c.check("near", !a.Equal(b) || w.Near(b, 0), "%v and %v are equal but not near", show(a), show(b))
	}
	if w, ok := any(a).(semiring.Quantizable[W]); ok && a.Equal(b) {
		c.exact("quantization", w.Quantize(1./8), any(b).(semiring.Quantizable[W]).Quantize(1./8), a, b)
	}
	c.division(a, b)
	c.reverse(a, b)
}

// division checks that quotients multiply back. Weights with a CommonDivisor
// of their own may lack other quotients, but not have wrong ones.
func (c *checker[W]) division(a, b W) {
	zero := semiring.Zero[W]()
	_, finer := any(a).(semiring.CommonDivisor[W])
	if w, ok := any(a).(semiring.Divisible[W]); ok && !a.Equal(zero) {
		product := a.Times(b)
		q := w.DivideLeft(product)
		if q.Member() {
			c.nearly("left division", a.Times(q), product, a, b)
		} else {
			c.check("left division", finer, "%v divided by %v is no member", show(product), show(a))
		}
	}
	if w, ok := any(a).(semiring.RightDivisible[W]); ok && !a.Equal(zero) {
		product := b.Times(a)
		q := w.DivideRight(product)
		if q.Member() {
			c.nearly("right division", q.Times(a), product, a, b)
		} else {
			c.check("right division", finer, "%v divided by %v on the right is no member", show(product), show(a))
		}
	}
	if w, ok := any(a).(semiring.CommonDivisor[W]); ok && !(a.Equal(zero) && b.Equal(zero)) {
		d := w.CommonDivisor(b)
		if !c.members(d) {
			return
		}
		by := any(d).(semiring.Divisible[W])
		for _, x := range []W{a, b} {
			q := by.DivideLeft(x)
			c.check("common divisor", q.Member() && !d.Equal(zero), "%v does not divide %v", show(d), show(x))
			c.nearly("common divisor", d.Times(q), x, a, b)
		}
	}
}

// reverse checks the involution, into whatever semiring it leads: its type is
// not known here, only that of the method.
func (c *checker[W]) reverse(a, b W) {
	rev := func(w any) reflect.Value {
		if m := reflect.ValueOf(w).MethodByName("Reverse"); m.IsValid() && m.Type().NumIn() == 0 && m.Type().NumOut() == 1 {
			return m.Call(nil)[0]
		}
		return reflect.Value{}
	}
	ra, rb := rev(a), rev(b)
	if !ra.IsValid() {
		return
	}
	back, ok := rev(ra.Interface()).Interface().(W)
	c.check("reversal", ok && back.Equal(a), "%v reversed twice is %v", show(a), back)
	equal := func(op string, x, y reflect.Value) {
		// The reverse of a rounded sum is the rounded sum of the reverses: the
		// arithmetic is the same, but for the order of products.
		v, isW := x.Interface().(W)
		w, _ := y.Interface().(W)
		same := isW && c.close(v, w) || x.MethodByName("Equal").Call([]reflect.Value{y})[0].Bool()
		c.check("reversal", same, "%v and %v: the reverse of their %s is not the %s of their reverses", show(a), show(b), op, op)
	}
	if sum := a.Plus(b); sum.Member() {
		equal("sum", rev(sum), ra.MethodByName("Plus").Call([]reflect.Value{rb})[0])
	}
	equal("product", rev(a.Times(b)), rb.MethodByName("Times").Call([]reflect.Value{ra})[0])
}
