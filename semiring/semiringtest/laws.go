package semiringtest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/tropica-fst/tropica/semiring"
)

// Laws fails t for every law of semirings, and of every capability that W has,
// that does not hold for what gen yields. The weights and their order are the
// same each time. Each law is named as Violations names it.
func Laws[W semiring.Weight[W]](t testing.TB, gen Generator[W], opts ...Option[W]) {
	t.Helper()
	for _, err := range Violations(gen, opts...) {
		t.Error(err)
	}
}

// Option adjusts which laws a weight is held against.
type Option[W semiring.Weight[W]] func(*checker[W])

// Within lets the laws that sum or multiply in different orders hold up to
// delta, by Near, for weights whose arithmetic rounds. Identities, annihilation,
// idempotence, order and commutativity are exact nevertheless.
func Within[W semiring.Approx[W]](delta float64) Option[W] {
	return func(c *checker[W]) { c.close = func(a, b W) bool { return a.Near(b, delta) } }
}

// Partial says that a sum may be no member. Laws are then checked where
// everything in them is a member.
func Partial[W semiring.Weight[W]]() Option[W] {
	return func(c *checker[W]) { c.partial = true }
}

// UpTo says that a⊕b and b⊕a may differ by what same holds for.
func UpTo[W semiring.Weight[W]](same func(a, b W) bool) Option[W] {
	return func(c *checker[W]) { c.same = same }
}

// Violations returns an error, which begins with the name of the law and shows
// the weights, for each law that was found not to hold. A law that can be tried on
// few of gen's weights, or a generator of few different ones, is not held either.
func Violations[W semiring.Weight[W]](gen Generator[W], opts ...Option[W]) []error {
	c := &checker[W]{
		rng:   rand.New(rand.NewPCG(7, 11)),
		close: func(a, b W) bool { return a.Equal(b) },
		same:  func(a, b W) bool { return a.Equal(b) },
		count: make(map[string]int),
		found: make(map[string]error),
	}
	for _, opt := range opts {
		opt(c)
	}
	const pool, triples = 48, 4000
	c.pool = []W{semiring.Zero[W](), semiring.One[W]()}
	for range pool {
		c.pool = append(c.pool, gen(c.rng))
	}
	before := make([][]byte, len(c.pool))
	for i, a := range c.pool {
		before[i] = a.AppendKey(nil)
	}

	c.constants()
	for _, a := range c.pool {
		c.unary(a)
		c.unaryCapabilities(a)
		c.codec(a)
		for _, b := range c.pool {
			c.binary(a, b)
			c.binaryCapabilities(a, b)
		}
	}
	for range triples {
		c.ternary(c.pick(), c.pick(), c.pick())
	}
	for i, a := range c.pool {
		c.check("immutable", bytes.Equal(before[i], a.AppendKey(nil)), "weight %d of the pool has become %v", i, show(a))
	}
	c.enough()

	var errs []error
	for _, law := range c.laws { // in the order of checking, not that of the map
		if err := c.found[law]; err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

// checker holds the weights that laws are tried on and what came of it.
type checker[W semiring.Weight[W]] struct {
	rng     *rand.Rand
	pool    []W
	close   func(a, b W) bool // equality of results that may have been rounded
	same    func(a, b W) bool // equality of a⊕b and b⊕a
	partial bool

	laws  []string         // in the order in which they were first checked
	count map[string]int   // how often each was
	found map[string]error // the first violation of each
}

func (c *checker[W]) pick() W { return c.pool[c.rng.IntN(len(c.pool))] }

// check notes that law was tried once, and its violation unless ok.
func (c *checker[W]) check(law string, ok bool, format string, args ...any) {
	if c.count[law]++; c.count[law] == 1 {
		c.laws = append(c.laws, law)
	}
	if !ok && c.found[law] == nil {
		c.found[law] = fmt.Errorf("%s: %s", law, fmt.Sprintf(format, args...))
	}
}

// exact and near check that two ways to compute a weight agree.
func (c *checker[W]) exact(law string, got, want W, operands ...W) {
	c.check(law, got.Equal(want), "%v: %v and %v are not equal", operandList[W](operands), show(got), show(want))
}

func (c *checker[W]) near(law string, got, want W, operands ...W) {
	c.check(law, c.close(got, want), "%v: %v and %v are not equal", operandList[W](operands), show(got), show(want))
}

// members reports whether all of ws are. Only for partial semirings may one not be.
func (c *checker[W]) members(ws ...W) bool {
	for _, w := range ws {
		if !w.Member() {
			if !c.partial {
				c.check("closure", false, "%v came of members, and is none", show(w))
			}
			return false
		}
	}
	return true
}

// enough asks that each law of a Partial semiring has been tried a number of times:
// there, unlike elsewhere, it is skipped where a sum or product is undefined.
func (c *checker[W]) enough() {
	if !c.partial {
		return
	}
	for _, law := range c.laws {
		if c.count[law] < 40 && law != "constants" {
			c.found[law] = fmt.Errorf("%s: checked %d times only: the generator yields too little to tell", law, c.count[law])
		}
	}
}

// constants is about 0̄ and 1̄ alone.
func (c *checker[W]) constants() {
	zero, one := semiring.Zero[W](), semiring.One[W]()
	c.check("constants", zero.Member() && one.Member(), "0̄ and 1̄ are not both members")
	c.check("constants", !zero.Equal(one), "0̄ is 1̄")
	if w, ok := any(zero).(semiring.Cancellative[W]); ok {
		c.check("cancellation", !w.Cancels(), "0̄ cancels")
		c.check("cancellation", any(one).(semiring.Cancellative[W]).Cancels(), "1̄ does not cancel")
	}
	distinct := 0
	for _, a := range c.pool {
		if !a.Equal(zero) && !a.Equal(one) {
			distinct++
		}
		c.check("constants", a.Zero().Equal(zero) && a.One().Equal(one), "0̄ or 1̄ depends on its receiver %v", show(a))
	}
	_, boolean := any(zero).(semiring.Boolean)
	c.check("generator", distinct > len(c.pool)/4 || boolean, "only %d of %d weights are neither 0̄ nor 1̄", distinct, len(c.pool))
}

func (c *checker[W]) unary(a W) {
	zero, one := semiring.Zero[W](), semiring.One[W]()
	c.check("generator", a.Member(), "%v is no member", show(a))
	c.check("equality", a.Equal(a), "%v is not equal to itself", show(a))
	c.exact("plus identity", a.Plus(zero), a, a)
	c.exact("plus identity", zero.Plus(a), a, a)
	c.exact("times identity", a.Times(one), a, a)
	c.exact("times identity", one.Times(a), a, a)
	c.exact("annihilation", a.Times(zero), zero, a)
	c.exact("annihilation", zero.Times(a), zero, a)
	key := a.AppendKey([]byte("key"))
	c.check("key", bytes.HasPrefix(key, []byte("key")) && bytes.Equal(bytes.TrimPrefix(key, []byte("key")), a.AppendKey(nil)), "the key of %v is not appended", show(a))
}

func (c *checker[W]) binary(a, b W) {
	c.check("equality", a.Equal(b) == b.Equal(a), "equality of %v and %v is not symmetric", show(a), show(b))
	c.check("key", a.Equal(b) == bytes.Equal(a.AppendKey(nil), b.AppendKey(nil)), "%v and %v: equal %v, but keys %x and %x",
		show(a), show(b), a.Equal(b), a.AppendKey(nil), b.AppendKey(nil))
	sum, mus := a.Plus(b), b.Plus(a)
	c.check("membership", sum.Member() == mus.Member(), "one of the two sums of %v and %v is a member", show(a), show(b))
	if c.members(sum, mus) {
		c.check("plus commutativity", c.same(sum, mus), "%v and %v: %v and %v are not equal", show(a), show(b), show(sum), show(mus))
	}
	c.members(a.Times(b))
}

func (c *checker[W]) ternary(a, b, d W) {
	c.check("equality", !(a.Equal(b) && b.Equal(d)) || a.Equal(d), "equality of %v, %v and %v is not transitive", show(a), show(b), show(d))
	if l, r := a.Plus(b).Plus(d), a.Plus(b.Plus(d)); c.members(l, r) {
		c.near("plus associativity", l, r, a, b, d)
	}
	if l, r := a.Times(b).Times(d), a.Times(b.Times(d)); c.members(l, r) {
		c.near("times associativity", l, r, a, b, d)
	}
	if _, ok := any(a).(semiring.RightSemiring[W]); !ok {
		if sum := b.Plus(d); c.members(sum) {
			c.near("left distributivity", a.Times(sum), a.Times(b).Plus(a.Times(d)), a, b, d)
		}
	}
	if _, ok := any(a).(semiring.LeftSemiring[W]); !ok {
		if sum := a.Plus(b); c.members(sum) {
			c.near("right distributivity", sum.Times(d), a.Times(d).Plus(b.Times(d)), a, b, d)
		}
	}
	if w, ok := any(d).(semiring.Cancellative[W]); ok && w.Cancels() {
		for _, same := range []bool{a.Times(d).Equal(b.Times(d)), d.Times(a).Equal(d.Times(b))} {
			c.check("cancellation", !same || c.close(a, b), "%v and %v times %v are the same", show(a), show(b), show(d))
		}
		if v, ok := any(a).(semiring.Cancellative[W]); ok && v.Cancels() {
			for _, x := range []W{a.Times(d), a.Plus(d)} {
				c.check("cancellation", any(x).(semiring.Cancellative[W]).Cancels(), "%v and %v cancel, but their product or sum %v does not", show(a), show(d), show(x))
			}
		}
	}
	if a, ok := any(a).(semiring.Path[W]); ok {
		if b, ok := any(b).(semiring.Path[W]); ok {
			c.check("order", !(a.Less(any(b).(W)) && b.Less(d)) || a.Less(d), "%v, %v and %v: Less is not transitive", show(any(a).(W)), show(any(b).(W)), show(d))
		}
	}
}
