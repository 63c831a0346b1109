package calls

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tropica-fst/tropica/losses"
)

// session keeps what batches of the same shapes need again.
type session struct {
	mu      sync.Mutex
	cache   *losses.Cache
	workers []*worker
	slots   []slot
	pace    pace
}

// slot is the machine of the example at a place in the batch, which the next batch often has.
type slot struct {
	loss    *loss
	ref     []int
	length  int
	symbols int
	machine *losses.Machine

	order int
	want  losses.Want
	took  time.Duration // of the last evaluation at that order, for that want
}

// wantStrings stands for samples among what slots remember.
const wantStrings losses.Want = 1 << 31

// parallel is the least work that another thread is worth.
const parallel = 50 * time.Microsecond

// forecast returns how long an evaluation will take on one worker, if the last one of the session
// had the same examples, or no machine is needed.
func (b *batch) forecast(want losses.Want) (d time.Duration, known bool) {
	if b.loss == nil {
		const each = 100 * time.Nanosecond // a window takes; more than measured
		windows := min(float64(b.n)*float64(b.length)*float64(b.windows), 1e9)
		return time.Duration(windows) * each, want&losses.WantError == 0
	}
	if len(b.s.slots) < b.n {
		return 0, false
	}
	for i := range b.n {
		k := &b.s.slots[i]
		ref := b.symbols[b.offsets[i]:b.offsets[i+1]]
		if !k.has(b, i) || k.order != b.order || want&^k.want != 0 || len(ref) != len(k.ref) {
			return 0, false
		}
		for t, x := range ref {
			if k.ref[t] != int(x) {
				return 0, false
			}
		}
		d += k.took
	}
	return d, true
}

// has reports whether the machine of a slot is that of example i, if the references are the same.
func (k *slot) has(b *batch, i int) bool {
	return k.machine != nil && k.loss == b.loss && k.length == b.len(i) && k.symbols == b.alphabet
}

type worker struct {
	e     losses.Evaluator
	p     losses.Potentials
	r     losses.Result
	ref   []int
	theta views
	v     views
	out   [4]views
	drawn [][]int
	spent time.Duration // on the batch under way
}

// views are rows of an example: the caller's own where they are float64, else in memory of their
// own.
type views struct {
	own, caller [][]float64
}

func newSession() *session { return &session{cache: losses.NewCache(0)} }

// batch is what calls on a batch have in common, with addresses turned into slices.
type batch struct {
	ctx             context.Context
	s               *session
	loss            *loss // nil for the loss 0
	gamma           float64
	n, length       int
	windows         int
	alphabet, order int
	workers         int
	symbols         []int32
	offsets         []int64
	lengths         []int64 // nil for those of the references
	theta           rows
}

// rows are a Tensor's.
type rows struct {
	f64    []float64
	f32    []float32
	batch  int
	row    int
	within int // elements of a row
}

// tensor finds the elements of a Tensor of the given number of examples, positions and windows;
// none is returned as nil rows.
func tensor(m Memory, what string, t *Tensor, n, length, windows int) (*rows, error) {
	if t.Data == 0 {
		return nil, nil
	}
	r := &rows{batch: int(t.BatchStride), row: int(t.RowStride), within: windows}
	if r.row == 0 {
		r.row = windows
	}
	if r.batch == 0 {
		r.batch = length * r.row
	}
	if n == 0 || length == 0 {
		return r, nil
	}
	switch {
	case t.BatchStride < 0 || t.RowStride < 0 || r.row < windows || n > 1 &&
		float64(r.batch) < float64(length-1)*float64(r.row)+float64(windows):
		return nil, fmt.Errorf("%s: strides of %d and %d elements, but an example has %d rows of %d: they would overlap", what, r.batch, r.row, length, windows)
	}
	count := float64(n-1)*float64(r.batch) + float64(length-1)*float64(r.row) + float64(windows)
	if count > 1<<50 {
		return nil, fmt.Errorf("%s: %.0f elements are more than any memory has", what, count)
	}
	var err error
	switch t.Type {
	case Float64:
		r.f64, err = view[float64](m, what, t.Data, int64(count))
	case Float32:
		r.f32, err = view[float32](m, what, t.Data, int64(count))
	default:
		err = fmt.Errorf("%s: element type %d is neither float64 (%d) nor float32 (%d)", what, t.Type,
			Float64, Float32)
	}
	return r, err
}

// into copies row t of example b to dst, as much of it as dst holds.
func (r *rows) into(dst []float64, b, t int) {
	at := b*r.batch + t*r.row
	if r.f64 != nil {
		copy(dst, r.f64[at:at+len(dst)])
		return
	}
	for i, x := range r.f32[at : at+len(dst)] {
		dst[i] = float64(x)
	}
}

// set copies src to row t of example b and clears what is left of the row; nil clears it all.
func (r *rows) set(b, t int, src []float64) {
	at := b*r.batch + t*r.row
	if r.f64 != nil {
		n := len(src)
		if n > 0 && &src[0] != &r.f64[at] {
			copy(r.f64[at:at+r.within], src)
		}
		clear(r.f64[at+n : at+r.within])
		return
	}
	row := r.f32[at : at+r.within]
	for i, x := range src {
		row[i] = float32(x)
	}
	clear(row[len(src):])
}

// batchOf is the shape and the inputs that evaluations and samples have in common.
type batchOf struct {
	Session, Cancel, Loss        Handle
	Gamma                        float64
	Batch, Length, Window        int64
	Alphabet, Order, Workers     int64
	References, Offsets, Lengths Address
	Theta                        *Tensor
}

func (s *Server) batch(a *batchOf, m Memory) (*batch, error) {
	ctx, err := s.context(a.Cancel)
	if err != nil {
		return nil, err
	}
	b := &batch{ctx: ctx, gamma: a.Gamma}
	if a.Session == 0 {
		b.s = newSession()
	} else if b.s, err = get[*session](s, a.Session, "session"); err != nil {
		return nil, err
	}
	if a.Loss != 0 {
		if b.loss, err = get[*loss](s, a.Loss, "loss"); err != nil {
			return nil, err
		}
	}
	const most = 1 << 31
	for _, x := range []struct {
		name      string
		v, lo, hi int64
	}{{"batch", a.Batch, 0, most}, {"length", a.Length, 0, most}, {"window", a.Window, 0, most},
		{"alphabet", a.Alphabet, 1, most}, {"order", a.Order, 1, 3}, {"workers", a.Workers, 0, most}} {
		if x.v < x.lo || x.v > x.hi {
			return nil, fmt.Errorf("%s: %d is not between %d and %d", x.name, x.v, x.lo, x.hi)
		}
	}
	if math.IsNaN(a.Gamma) || math.IsInf(a.Gamma, 0) {
		return nil, fmt.Errorf("gamma: %v is not a finite number", a.Gamma)
	}
	b.n, b.length, b.windows, b.alphabet, b.order, b.workers = int(a.Batch), int(a.Length), int(a.Window),
		int(a.Alphabet), int(a.Order), int(a.Workers)
	if want := math.Pow(float64(b.alphabet), float64(b.order)); float64(b.windows) != want {
		return nil, fmt.Errorf("theta: rows of %d windows: order %d over %d labels has %.0f", b.windows, b.order,
			b.alphabet, want)
	}
	if b.offsets, err = view[int64](m, "offsets", a.Offsets, a.Batch+1); err != nil {
		return nil, err
	}
	if b.lengths, err = optional[int64](m, "lengths", a.Lengths, a.Batch); err != nil {
		return nil, err
	}
	for i := range b.n {
		if lo, hi := b.offsets[i], b.offsets[i+1]; lo < 0 || hi < lo || hi-lo > most {
			return nil, at(i, fmt.Errorf("offsets: the reference is from %d to %d", lo, hi))
		}
		if l := b.len(i); l < 0 || l > b.length {
			return nil, at(i, fmt.Errorf("length %d, but theta has %d positions", l, b.length))
		}
	}
	if b.offsets[0] != 0 {
		return nil, fmt.Errorf("offsets: the first is %d, not 0", b.offsets[0])
	}
	if b.symbols, err = view[int32](m, "references", a.References, b.offsets[b.n]); err != nil {
		return nil, err
	}
	for i := range b.n {
		for t, k := range b.symbols[b.offsets[i]:b.offsets[i+1]] {
			if k < 0 || int(k) >= b.alphabet {
				return nil, at(i, fmt.Errorf("label %d of the reference is %d, outside the alphabet of %d",
					t, k, b.alphabet))
			}
		}
	}
	theta, err := tensor(m, "theta", a.Theta, b.n, b.length, b.windows)
	switch {
	case err != nil:
		return nil, err
	case theta == nil && b.n > 0 && b.length > 0:
		return nil, errors.New("theta: the pointer is null")
	case theta != nil:
		b.theta = *theta
	}
	return b, nil
}

// len returns the length of the strings of example i.
func (b *batch) len(i int) int {
	if b.lengths != nil {
		return int(min(max(b.lengths[i], -1), 1<<31))
	}
	return int(b.offsets[i+1] - b.offsets[i])
}

// each calls f for every example, side by side, and returns the error of the first that has one.
// want is what f evaluates.
func (b *batch) each(want losses.Want, f func(w *worker, i int, m *losses.Machine) error) error {
	s := b.s
	s.mu.Lock()
	defer s.mu.Unlock()
	workers := b.workers
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	workers = max(1, min(workers, b.n))
	if d, _, known := b.likely(want); known {
		workers = int(min(time.Duration(workers), 1+d/parallel))
	}
	for len(s.workers) < workers {
		s.workers = append(s.workers, &worker{})
	}
	if n := b.n - len(s.slots); n > 0 {
		s.slots = append(s.slots, make([]slot, n)...)
	}
	for _, w := range s.workers {
		w.spent = 0
	}
	failures := make([]error, b.n)
	one := func(w *worker, i int) (err error) {
		defer func() {
			if p := recover(); p != nil {
				*w = worker{} // of which nothing is known now; it may hold the caller's memory
				err = &Error{Bug, int64(i), fmt.Errorf("element %d: a bug of the library, please report it: %v", i, p)}
			}
		}()
		if err := b.ctx.Err(); err != nil {
			return err
		}
		start := time.Now()
		b.potentials(w, i)
		m, err := b.machine(w, i)
		if err != nil {
			return err
		}
		w.e.Budget.Ctx = b.ctx
		begin := time.Now()
		err = f(w, i, m)
		k := &s.slots[i]
		end := time.Now()
		w.spent += end.Sub(start)
		took := end.Sub(begin)
		if k.order == b.order && k.want == want {
			took = min(took, k.took) // a thread that waits for a processor takes longer than its work
		}
		if k.order, k.want, k.took = b.order, want, took; err != nil {
			k.order = 0 // nothing is known of its time
		}
		return err
	}
	if workers == 1 {
		for i := range b.n {
			failures[i] = one(s.workers[0], i)
		}
	} else {
		var next atomic.Int64
		var wg sync.WaitGroup
		for _, w := range s.workers[:workers] {
			wg.Go(func() {
				for i := int(next.Add(1)) - 1; i < b.n; i = int(next.Add(1)) - 1 {
					failures[i] = one(w, i)
				}
			})
		}
		wg.Wait()
	}
	for i, err := range failures {
		if err != nil {
			return at(i, err)
		}
	}
	s.pace = pace{kind: b.kind(want)}
	for _, w := range s.workers {
		s.pace.took += w.spent
	}
	return nil
}

// potentials sets w.p to those of example i, and w.ref to its reference.
func (b *batch) potentials(w *worker, i int) {
	w.ref = w.ref[:0]
	for _, k := range b.symbols[b.offsets[i]:b.offsets[i+1]] {
		w.ref = append(w.ref, int(k))
	}
	l := b.len(i)
	w.p.Order = b.order
	w.p.Sizes = w.p.Sizes[:0]
	for range l {
		w.p.Sizes = append(w.p.Sizes, b.alphabet)
	}
	w.p.Theta = b.read(&w.theta, &b.theta, i, l)
}

// place sets v.caller to the caller's rows of example i, each with the windows that its position
// has.
func (b *batch) place(v *views, of *rows, i, l int) [][]float64 {
	v.caller = v.caller[:0]
	n := 1
	for t := range l {
		if t < b.order {
			n *= b.alphabet
		}
		at := i*of.batch + t*of.row
		v.caller = append(v.caller, of.f64[at:at+n:at+n])
	}
	return v.caller
}

// read returns the rows of example i, each with the windows that its position has.
func (b *batch) read(v *views, from *rows, i, l int) [][]float64 {
	if from.f64 != nil {
		return b.place(v, from, i, l)
	}
	if cap(v.own) < l {
		v.own = append(v.own[:cap(v.own)], make([][]float64, l-cap(v.own))...)
	}
	v.own = v.own[:l]
	dst, n := v.own, 1
	for t := range l {
		if t < b.order {
			n *= b.alphabet
		}
		if cap(dst[t]) < n {
			dst[t] = make([]float64, n)
		}
		dst[t] = dst[t][:n]
		from.into(dst[t], i, t)
	}
	return dst
}

// machine returns the loss machine of example i: that of the batch before, or the cache's.
func (b *batch) machine(w *worker, i int) (*losses.Machine, error) {
	if b.loss == nil {
		return nil, nil
	}
	k, l := &b.s.slots[i], b.len(i)
	if k.has(b, i) && slices.Equal(k.ref, w.ref) {
		return k.machine, nil
	}
	k.machine = nil
	m, err := b.s.cache.Machine(b.loss.within(b.ctx), w.ref, b.alphabet, l)
	if err != nil {
		return nil, err
	}
	*k = slot{loss: b.loss, ref: append(k.ref[:0], w.ref...), length: l, symbols: b.alphabet, machine: m}
	return m, nil
}

func (a *EvaluateArgs) of() *batchOf {
	return &batchOf{a.Session, a.Cancel, a.Loss, a.Gamma, a.Batch, a.Length, a.Window, a.Alphabet, a.Order,
		a.Workers, a.References, a.Offsets, a.Lengths, &a.Theta}
}

func (a *SampleArgs) of() *batchOf {
	return &batchOf{a.Session, a.Cancel, a.Loss, a.Gamma, a.Batch, a.Length, a.Window, a.Alphabet, a.Order,
		a.Workers, a.References, a.Offsets, a.Lengths, &a.Theta}
}

// want is what the outputs that are asked for take.
func (a *EvaluateArgs) want() (want losses.Want) {
	for _, o := range []struct {
		at   Address
		want losses.Want
	}{
		{a.LogZ0, losses.WantPlain}, {a.Expected, losses.WantExpected}, {a.Risk, losses.WantRisk},
		{a.MaxAug, losses.WantMaxAug}, {a.Argmax, losses.WantMaxAug},
		{a.MaxScore, losses.WantViterbi}, {a.Viterbi, losses.WantViterbi}, {a.LogZError, losses.WantError},
		{a.Marginals.Data, losses.WantMarginals}, {a.RiskGradient.Data, losses.WantRiskGradient},
		{a.HVP.Data, losses.WantHVP}, {a.RiskHVP.Data, losses.WantRiskHVP},
	} {
		if o.at != 0 {
			want |= o.want
		}
	}
	return want
}

// evaluate evaluates a batch; h is nil for a call that may take any time.
func (s *Server) evaluate(a *EvaluateArgs, m Memory, h *hurry) error {
	b, err := s.batch(a.of(), m)
	if err != nil || !b.hurried(a.want(), h) {
		return err
	}
	type number struct {
		name string
		at   Address
		of   func(w *worker) float64
		to   []float64
	}
	numbers := []number{
		{"log_z", a.LogZ, func(w *worker) float64 { return w.r.LogZ }, nil},
		{"log_z0", a.LogZ0, func(w *worker) float64 { return w.r.LogZ0 }, nil},
		{"expected", a.Expected, func(w *worker) float64 { return w.r.Expected }, nil},
		{"risk", a.Risk, func(w *worker) float64 { return w.r.Risk }, nil},
		{"score", a.Score, func(w *worker) float64 { return w.p.Score(w.ref) }, nil},
		{"max_aug", a.MaxAug, func(w *worker) float64 { return w.r.MaxAug }, nil},
		{"max_score", a.MaxScore, func(w *worker) float64 { return w.r.MaxScore }, nil},
		{"log_z_error", a.LogZError, func(w *worker) float64 { return w.r.LogZError }, nil},
	}
	want := a.want()
	for i := range numbers {
		o := &numbers[i]
		if o.to, err = optional[float64](m, o.name, o.at, a.Batch); err != nil {
			return err
		}
	}
	cells := a.Batch * a.Length
	argmax, err := optional[int32](m, "argmax", a.Argmax, cells)
	if err != nil {
		return err
	}
	viterbi, err := optional[int32](m, "viterbi", a.Viterbi, cells)
	if err != nil {
		return err
	}
	var out [4]*rows
	for i, x := range []struct {
		name string
		t    *Tensor
	}{{"marginals", &a.Marginals}, {"risk_gradient", &a.RiskGradient}, {"hvp", &a.HVP},
		{"risk_hvp", &a.RiskHVP}} {
		if out[i], err = tensor(m, x.name, x.t, b.n, b.length, b.windows); err != nil {
			return err
		}
	}
	direction, err := tensor(m, "direction", &a.Direction, b.n, b.length, b.windows)
	if err != nil {
		return err
	}
	directed := out[2] != nil || out[3] != nil
	if directed && direction == nil && cells > 0 {
		return errors.New("hvp: the direction is missing")
	}
	if a.Score != 0 || a.LessReference != 0 {
		for i := range b.n {
			if ref := int(b.offsets[i+1] - b.offsets[i]); ref != b.len(i) {
				return at(i, fmt.Errorf("strings of %d labels, but the reference has %d, so that it has no score",
					b.len(i), ref))
			}
		}
	}
	gamma := b.gamma
	if b.loss == nil {
		gamma = 0
	}
	err = b.each(want, func(w *worker, i int, machine *losses.Machine) error {
		w.e.Direction = nil
		if directed {
			w.e.Direction = b.read(&w.v, direction, i, b.len(i))
		}
		results := [4]*[][]float64{&w.r.Marginals, &w.r.RiskGradient, &w.r.HVP, &w.r.RiskHVP}
		for k, r := range results { // float64 results are made where they are to go
			if out[k] != nil && out[k].f64 != nil {
				w.out[k].own, *r = *r, b.place(&w.out[k], out[k], i, b.len(i))
				defer func() { *r = w.out[k].own }()
			}
		}
		if err := w.e.Eval(machine, &w.p, gamma, want, &w.r); err != nil {
			return err
		}
		for k := range numbers {
			if to := numbers[k].to; to != nil {
				to[i] = numbers[k].of(w)
			}
		}
		setString(argmax, i, b.length, w.r.ArgmaxAug)
		setString(viterbi, i, b.length, w.r.Viterbi)
		if a.LessReference != 0 && out[0] != nil {
			for t, row := range w.r.Marginals {
				row[w.p.Window(w.ref, t)]--
			}
		}
		for k, r := range results {
			if out[k] == nil {
				continue
			}
			for t := range b.length {
				if t < len(*r) {
					out[k].set(i, t, (*r)[t])
				} else {
					out[k].set(i, t, nil)
				}
			}
		}
		return nil
	})
	if err != nil { // no number of a failed call looks like a result
		for k := range numbers {
			for i := range numbers[k].to {
				numbers[k].to[i] = math.NaN()
			}
		}
	}
	return err
}

// setString stores a string of example i, and -1 behind its end; to may be nil.
func setString(to []int32, i, length int, u []int) {
	if to == nil {
		return
	}
	row := to[i*length : (i+1)*length]
	for t := range row {
		row[t] = -1
		if t < len(u) {
			row[t] = int32(u[t])
		}
	}
}

func (s *Server) sample(a *SampleArgs, m Memory, h *hurry) error {
	b, err := s.batch(a.of(), m)
	if err != nil {
		return err
	}
	want := wantStrings
	if a.Count > 100 {
		want |= losses.WantError // nothing is known of so many
	}
	if !b.hurried(want, h) {
		return nil
	}
	if a.Count < 0 || float64(a.Count)*float64(a.Batch)*float64(a.Length) > 1<<40 {
		return fmt.Errorf("count: %d strings an example", a.Count)
	}
	n := int(a.Count)
	strings, err := view[int32](m, "strings", a.Strings, a.Batch*a.Count*a.Length)
	if err != nil {
		return err
	}
	gamma := b.gamma
	if b.loss == nil {
		gamma = 0
	}
	return b.each(wantStrings, func(w *worker, i int, machine *losses.Machine) error {
		l := b.len(i)
		if len(w.drawn) < n {
			w.drawn = append(w.drawn, make([][]int, n-len(w.drawn))...)
		}
		rng := rand.New(rand.NewPCG(a.Seed, uint64(i)))
		if err := w.e.Sample(machine, &w.p, gamma, rng, w.drawn[:n]); err != nil {
			return err
		}
		for k, u := range w.drawn[:n] {
			setString(strings, i*n+k, b.length, u[:min(l, len(u))])
		}
		return nil
	})
}
