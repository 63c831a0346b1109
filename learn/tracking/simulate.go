package tracking

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/tropica-fst/tropica/learn/learner"
	"github.com/tropica-fst/tropica/learn/space"
)

// Simulation is how artificial movies are made; zero fields are the defaults. Lengths are in
// pixels, times in frames.
type Simulation struct {
	Width     float64 `flag:"width" default:"256" above:"0" help:"Width and height of the field, in pixels"`
	Frames    int     `flag:"frames" default:"20" min:"2" max:"100000" help:"Frames"`
	Cells     int     `flag:"cells" default:"40" min:"1" max:"1000000" help:"Cells of the first frame"`
	Radius    float64 `flag:"radius" default:"8" above:"0" help:"Mean radius of cells"`
	RadiusSD  float64 `flag:"radius_sd" default:"1" min:"0" help:"Deviation of the radius"`
	Intensity float64 `flag:"intensity" default:"1" above:"0" help:"Mean intensity of cells"`
	Motion    float64 `flag:"motion" default:"2.5" min:"0" help:"Deviation of the motion: velocities are 0.6 times the last and 0.8 times noise of this deviation"`
	Divide    float64 `flag:"divide" default:"0.03" min:"0" max:"1" help:"Probability of a division, in a frame, of cells from age 6 on"`
	Die       float64 `flag:"die" default:"0.005" min:"0" max:"1" help:"Probability that a cell dies in a frame"`
	Enter     float64 `flag:"enter" default:"0.3" min:"0" help:"Mean number of cells that enter at the border in a frame"`
	Noise     float64 `flag:"noise" default:"0.5" min:"0" help:"Deviation of the centre of a detection"`
	AreaNoise float64 `flag:"area_noise" default:"0.05" min:"0" help:"Relative deviation of the area of a detection"`
	LightSD   float64 `flag:"intensity_noise" default:"0.03" min:"0" help:"Deviation of the intensity of a detection"`
	Over      float64 `flag:"over" default:"0.03" min:"0" max:"1" help:"Probability that a cell is seen as two"`
	Under     float64 `flag:"under" default:"0.5" min:"0" max:"1" help:"Probability that two cells closer than 1.5 radii are seen as one"`
	Miss      float64 `flag:"miss" default:"0.01" min:"0" max:"1" help:"Probability that a cell is not seen"`
	Clutter   float64 `flag:"clutter" default:"0.2" min:"0" help:"Mean number of detections of a frame that are no cells"`
}

// Presets are the simulations that have names, as functions that change the defaults.
var Presets = map[string]Simulation{
	"default": {},
	"clean":   {Over: learner.None, Under: learner.None, Miss: learner.None, Clutter: learner.None},
	"hard":    {Motion: 5, Over: 0.08},
	// Another laboratory: for transfer.
	"shifted": {Motion: 4, Radius: 10, RadiusSD: 1.5, Intensity: 1.3, Divide: 0.06},
}

// cell is the state of a cell.
type cell struct {
	id            int // over the whole movie
	mother        int // id, -1 for none
	x, y, vx, vy  float64
	radius, grown float64 // now, and when it is grown up
	light         float64
	age           int
	dividesIn     int // frames until it divides, 0 for not planned
}

// body is a cell in one frame, as it was seen.
type body struct {
	cell       // its state
	seen []int // detections, by place
}

// Cells is the truth behind a simulated movie: the cells themselves.
type Cells struct {
	// Mother has the id of every cell's mother, -1 for none. Ids are from 0.
	Mother []int
	// Frames has the cells of each frame.
	Frames [][]Cell
}

// Cell is a cell in a frame, with the detections that show it, and the share of the cell's area
// that each covers.
type Cell struct {
	ID         int
	X, Y, Area float64
	Seen       []int
	Share      []float64
}

type simulator struct {
	Simulation
	rng    *rand.Rand
	cells  []*cell
	mother []int
}

// Simulate draws a movie with its true events, and the cells behind it. The same settings and seed
// give the same movie. Every event is one of Kinds: segmentation errors that would make another are
// drawn again, at most 20 times, and then left out.
func Simulate(o *Simulation, seed uint64) (*Movie, *Cells, error) {
	s := &simulator{rng: rand.New(rand.NewPCG(seed, 0x7261636b))}
	if err := learner.Complete(&s.Simulation, o); err != nil {
		return nil, nil, fmt.Errorf("tracking: simulation: %w", err)
	}
	for _, p := range []*float64{&s.RadiusSD, &s.Motion, &s.Divide, &s.Die, &s.Enter, &s.Noise, &s.AreaNoise,
		&s.LightSD, &s.Over, &s.Under, &s.Miss, &s.Clutter} {
		*p = learner.Amount(*p)
	}
	for range s.Cells {
		c := s.newCell(s.rng.Float64()*s.Width, s.rng.Float64()*s.Width)
		c.age = s.rng.IntN(12)
		s.plan(c)
	}
	for range 20 { // the first frame is as spread out as later ones
		s.repel()
	}
	m := &Movie{Name: fmt.Sprintf("simulated %d", seed), Width: s.Width, Height: s.Width}
	truth := &Cells{}
	var last []body
	for f := range s.Frames {
		if f > 0 {
			s.step()
		}
		from := 0
		if f > 0 {
			from = len(m.Frames[f-1])
		}
		v := s.look(from, last, ancestry(last))
		now, seen := s.draw(v)
		if f > 0 {
			events, err := s.events(m.Frames[f-1], last, seen, v)
			if err != nil {
				return nil, nil, err
			}
			m.Events = append(m.Events, events)
		}
		m.Frames = append(m.Frames, seen)
		truth.Frames = append(truth.Frames, s.reveal(now, seen))
		last = now
	}
	truth.Mother = s.mother
	m.Edges = EdgesOf(m.Events)
	return m, truth, m.Check(true)
}

func (s *simulator) newCell(x, y float64) *cell {
	r := math.Max(s.Radius/3, s.Radius+s.RadiusSD*s.rng.NormFloat64())
	c := &cell{id: len(s.mother), mother: -1, x: x, y: y, radius: r, grown: r,
		light: math.Max(0.2, s.Intensity*(1+0.1*s.rng.NormFloat64()))}
	c.vx, c.vy = s.Motion*s.rng.NormFloat64(), s.Motion*s.rng.NormFloat64()
	s.cells, s.mother = append(s.cells, c), append(s.mother, -1)
	return c
}

// plan decides whether a cell begins to divide: it is brighter in the two frames before.
func (s *simulator) plan(c *cell) {
	if c.age >= 6 && c.dividesIn == 0 && s.rng.Float64() < s.Divide {
		c.dividesIn = 2
	}
}

// step goes on by a frame.
func (s *simulator) step() {
	var next []*cell
	living := s.cells
	s.cells = nil
	for _, c := range living {
		if s.rng.Float64() < s.Die {
			continue
		}
		if c.dividesIn == 1 {
			angle := 2 * math.Pi * s.rng.Float64()
			for _, sign := range []float64{1, -1} {
				d := &cell{id: len(s.mother), mother: c.id, grown: c.grown, radius: c.radius / math.Sqrt2, light: c.light}
				d.x, d.y = c.x+sign*0.9*c.radius*math.Cos(angle), c.y+sign*0.9*c.radius*math.Sin(angle)
				d.vx, d.vy = c.vx, c.vy
				s.mother = append(s.mother, c.id)
				next = append(next, d)
			}
			continue
		}
		if c.dividesIn > 1 {
			c.dividesIn--
		}
		c.vx = 0.6*c.vx + 0.8*s.Motion*s.rng.NormFloat64()
		c.vy = 0.6*c.vy + 0.8*s.Motion*s.rng.NormFloat64()
		c.x, c.y = c.x+c.vx, c.y+c.vy
		c.radius = math.Min(c.grown, c.radius*1.04)
		c.age++
		s.plan(c)
		next = append(next, c)
	}
	s.cells = next
	for range poisson(s.rng, s.Enter) {
		at, depth := s.rng.Float64()*s.Width, s.Radius/2
		c := s.newCell(at, depth)
		inward := math.Abs(s.Motion * s.rng.NormFloat64())
		c.vx, c.vy = 0.5*s.Motion*s.rng.NormFloat64(), inward
		switch s.rng.IntN(4) {
		case 1:
			c.y, c.vy = s.Width-depth, -inward
		case 2:
			c.x, c.y, c.vx, c.vy = depth, at, inward, c.vx
		case 3:
			c.x, c.y, c.vx, c.vy = s.Width-depth, at, -inward, c.vx
		}
	}
	s.repel()
	s.cells = slices.DeleteFunc(
		s.cells, func(c *cell) bool { return c.x < 0 || c.y < 0 || c.x > s.Width || c.y > s.Width })
}

// repel moves cells apart that are closer than a radius, each by half of what is lacking.
func (s *simulator) repel() {
	for range 3 {
		s.near(s.Radius*1.5, func(a, b *cell) {
			least := (a.radius + b.radius) / 2
			dx, dy := b.x-a.x, b.y-a.y
			d := math.Hypot(dx, dy)
			if d >= least || d == 0 {
				return
			}
			k := (least - d) / (2 * d)
			a.x, a.y, b.x, b.y = a.x-k*dx, a.y-k*dy, b.x+k*dx, b.y+k*dy
		})
	}
}

// near calls f with every two cells closer than reach, in the order of x.
func (s *simulator) near(reach float64, f func(a, b *cell)) {
	order := slices.Clone(s.cells)
	slices.SortStableFunc(order, func(a, b *cell) int {
		switch {
		case a.x < b.x:
			return -1
		case a.x > b.x:
			return 1
		}
		return a.id - b.id
	})
	for i, a := range order {
		for _, b := range order[i+1:] {
			if b.x-a.x > reach {
				break
			}
			if math.Hypot(a.x-b.x, a.y-b.y) < reach {
				f(a, b)
			}
		}
	}
}

// How a cell is seen.
const (
	normal = iota
	missed
	over  // as two detections
	under // as one detection with its partner
)

// sight is how the cells of a frame are seen.
type sight struct {
	how     []int8
	partner []int   // of those that are under
	groups  [][]int // the cells of each detection; those of no cell are clutter
	seen    [][]int // the detections of each cell
}

// look draws how cells are seen. What would lead to events that no Kind expresses is drawn again
// for the cells involved, at most 20 times, and then without errors. Cells about to divide are
// never seen as one with another: three detections would follow.
func (s *simulator) look(from int, before []body, mothers func(c *cell) []int) *sight {
	v := &sight{how: make([]int8, len(s.cells)), partner: make([]int, len(s.cells))}
	place := map[*cell]int{}
	again := make([]bool, len(s.cells))
	for i, c := range s.cells {
		place[c], again[i] = i, true
	}
	for attempt := 0; ; attempt++ {
		for i := range again {
			if again[i] {
				v.how[i] = normal
			}
		}
		if attempt < 20 {
			s.near(3*s.Radius, func(a, b *cell) {
				i, j := place[a], place[b]
				close := math.Hypot(a.x-b.x, a.y-b.y) < 1.5*(a.radius+b.radius)/2
				if again[i] && again[j] && v.how[i] == normal && v.how[j] == normal && close && a.dividesIn != 1 &&
					b.dividesIn != 1 && s.rng.Float64() < s.Under {
					v.how[i], v.how[j], v.partner[i], v.partner[j] = under, under, j, i
				}
			})
			for i := range again {
				if !again[i] || v.how[i] == under {
					continue
				}
				switch u := s.rng.Float64(); {
				case u < s.Miss:
					v.how[i] = missed
				case u < s.Miss+s.Over:
					v.how[i] = over
				}
			}
		}
		v.group()
		bad := false
		clear(again)
		for _, c := range s.components(from, before, v, mothers) {
			if c.kind() != "" || len(c.from) == 2 && len(c.to) == 2 {
				continue
			}
			for _, j := range c.to {
				for _, i := range v.groups[j] {
					again[i], bad = true, true
				}
			}
		}
		if !bad || attempt > 20 {
			return v
		}
	}
}

// group numbers the detections.
func (v *sight) group() {
	v.groups, v.seen = nil, make([][]int, len(v.how))
	add := func(cells ...int) {
		for _, i := range cells {
			v.seen[i] = append(v.seen[i], len(v.groups))
		}
		v.groups = append(v.groups, cells)
	}
	for i, how := range v.how {
		switch {
		case how == under && v.partner[i] > i:
			add(i, v.partner[i])
		case how == over:
			add(i)
			add(i)
		case how == normal:
			add(i)
		}
	}
}

// ancestry returns where a cell was in the last frame, itself or its mother: one place or none.
func ancestry(before []body) func(c *cell) []int {
	byID := map[int]int{}
	for k := range before {
		byID[before[k].id] = k
	}
	return func(c *cell) []int {
		if k, ok := byID[c.id]; ok {
			return []int{k}
		}
		if k, ok := byID[c.mother]; ok && c.mother >= 0 {
			return []int{k}
		}
		return nil
	}
}

// joined is a component of detections of two frames that share cells.
type joined struct {
	from, to []int
	births   bool // both targets are daughters of one mother, seen once each
}

// kind returns the kind of event, "" for none.
func (c *joined) kind() Kind {
	switch [2]int{len(c.from), len(c.to)} {
	case [2]int{1, 1}:
		return Move
	case [2]int{0, 1}:
		return Appear
	case [2]int{1, 0}:
		return Disappear
	case [2]int{2, 1}:
		return Merge
	case [2]int{1, 2}:
		if c.births {
			return Divide
		}
		return Split
	}
	return ""
}

// components joins the detections of the last frame with those of this one.
func (s *simulator) components(from int, before []body, v *sight, mothers func(c *cell) []int) []*joined {
	parent := make([]int, from+len(v.groups))
	for i := range parent {
		parent[i] = i
	}
	var root func(i int) int
	root = func(i int) int {
		if parent[i] != i {
			parent[i] = root(parent[i])
		}
		return parent[i]
	}
	births := map[int]int{} // last detection: daughters of the one cell that it shows, seen once
	for i, c := range s.cells {
		for _, k := range mothers(c) {
			for _, a := range before[k].seen {
				for _, b := range v.seen[i] {
					x, y := root(a), root(from+b)
					parent[max(x, y)] = min(x, y)
				}
				if before[k].id != c.id && len(before[k].seen) == 1 && len(v.seen[i]) == 1 &&
					len(v.groups[v.seen[i][0]]) == 1 {
					births[a]++
				}
			}
		}
	}
	var out []*joined
	of := map[int]*joined{}
	for i := range parent {
		r := root(i)
		c := of[r]
		if c == nil {
			c = &joined{}
			of[r], out = c, append(out, c)
		}
		if i < from {
			c.from = append(c.from, i)
			c.births = c.births || births[i] == 2
		} else {
			c.to = append(c.to, i-from)
		}
	}
	return out
}

// draw makes the detections of a sight, and clutter, in random order.
func (s *simulator) draw(v *sight) ([]body, []Detection) {
	type seen struct {
		d     Detection
		cells []int
	}
	var all []seen
	see := func(x, y, area, light float64, cells []int) {
		area *= math.Max(0.2, 1+s.AreaNoise*s.rng.NormFloat64())
		d := Detection{X: x + s.Noise*s.rng.NormFloat64(), Y: y + s.Noise*s.rng.NormFloat64(), Area: area,
			Intensity: math.Max(0.05, light+s.LightSD*s.rng.NormFloat64())}
		d.X, d.Y = math.Min(math.Max(d.X, 0), s.Width), math.Min(math.Max(d.Y, 0), s.Width)
		all = append(all, seen{d, cells})
	}
	for i, c := range s.cells {
		area := c.radius * c.radius
		switch v.how[i] {
		case normal:
			see(c.x, c.y, math.Pi*area, c.shine(), []int{i})
		case over:
			share, angle := 0.35+0.3*s.rng.Float64(), 2*math.Pi*s.rng.Float64()
			dx, dy := 0.5*c.radius*math.Cos(angle), 0.5*c.radius*math.Sin(angle)
			see(c.x+dx, c.y+dy, math.Pi*area*share, c.shine(), []int{i})
			see(c.x-dx, c.y-dy, math.Pi*area*(1-share), c.shine(), []int{i})
		case under:
			if j := v.partner[i]; j > i {
				o := s.cells[j]
				q := o.radius * o.radius
				see((area*c.x+q*o.x)/(area+q), (area*c.y+q*o.y)/(area+q), math.Pi*(area+q),
					(area*c.shine()+q*o.shine())/(area+q), []int{i, j})
			}
		}
	}
	for range poisson(s.rng, s.Clutter) {
		r := 4 + 2*s.rng.Float64()
		see(s.rng.Float64()*s.Width, s.rng.Float64()*s.Width, math.Pi*r*r,
			s.Intensity*(0.3+0.3*s.rng.Float64()), nil)
	}
	s.rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	bodies, out := make([]body, len(s.cells)), make([]Detection, len(all))
	for i, c := range s.cells {
		bodies[i].cell = *c
	}
	v.groups, v.seen = make([][]int, len(all)), make([][]int, len(s.cells))
	for k, x := range all {
		x.d.ID = k + 1
		out[k], v.groups[k] = x.d, x.cells
		for _, i := range x.cells {
			bodies[i].seen = append(bodies[i].seen, k)
			v.seen[i] = append(v.seen[i], k)
		}
	}
	return bodies, out
}

// shine is the cell's intensity, which is larger before a division.
func (c *cell) shine() float64 {
	if c.dividesIn > 0 {
		return 1.3 * c.light
	}
	return c.light
}

// events says what happens between two frames.
func (s *simulator) events(from []Detection, before []body, to []Detection, v *sight) ([]Event, error) {
	var out []Event
	for _, c := range s.components(len(from), before, v, ancestry(before)) {
		switch k := c.kind(); {
		case k != "":
			out = append(out, Event{k, c.from, c.to})
		case len(c.from) == 2 && len(c.to) == 2: // two moves, of the smaller total distance
			a, b, x, y := c.from[0], c.from[1], c.to[0], c.to[1]
			if distance(&from[a], &to[y])+distance(&from[b], &to[x]) < distance(&from[a], &to[x])+distance(
				&from[b], &to[y]) {
				x, y = y, x
			}
			out = append(out, Event{Move, []int{a}, []int{x}}, Event{Move, []int{b}, []int{y}})
		default:
			return nil, fmt.Errorf("tracking: simulation: %d detections become %d: no event expresses that",
				len(c.from), len(c.to))
		}
	}
	slices.SortFunc(out, compareEvents)
	return out, nil
}

// reveal makes the cells of a frame, with what of each a detection shows.
func (s *simulator) reveal(bodies []body, seen []Detection) []Cell {
	out := make([]Cell, len(bodies))
	for i := range bodies {
		b := &bodies[i]
		out[i] = Cell{ID: b.id, X: b.x, Y: b.y, Area: math.Pi * b.radius * b.radius, Seen: b.seen}
		total := 0.0
		for _, k := range b.seen {
			total += seen[k].Area
		}
		for _, k := range b.seen {
			out[i].Share = append(out[i].Share, seen[k].Area/total)
		}
	}
	return out
}

// poisson draws a number of a mean below some 700.
func poisson(rng *rand.Rand, mean float64) int {
	n := 0
	for p := rng.Float64(); p > math.Exp(-mean); p *= rng.Float64() {
		n++
	}
	return n
}

// Planted draws frame pairs whose true events are the best assignment by hidden weights, better
// than any other by at least a margin. These weights make no error on them. Detections are
// scattered at random over a field, and weights are normal.
func Planted(pairs, detections int, margin float64, seed uint64) ([]space.Sample[*Pair, *Annotation],
	[]float64, error) {
	rng := rand.New(rand.NewPCG(seed, 0x706c616e))
	w := make([]float64, Dim())
	for j := range w {
		w[j] = rng.NormFloat64()
	}
	side := 20 * math.Sqrt(float64(max(detections, 1)))
	scatter := func() []Detection {
		out := make([]Detection, detections)
		for i := range out {
			r := 8 + rng.NormFloat64()
			out[i] = Detection{ID: i + 1, X: side * rng.Float64(), Y: side * rng.Float64(), Area: math.Pi * r * r,
				Intensity: 1 + 0.1*rng.NormFloat64()}
		}
		return out
	}
	c := &Candidates{Neighbours: 3, Gate: side, Unit: 8, Light: 1, Kinds: []Kind{Divide, Split, Merge},
		Field: [4]float64{0, 0, side, side}}
	s := &Space{}
	var out []space.Sample[*Pair, *Annotation]
	for tries := 0; len(out) < pairs; tries++ {
		if tries == 1000*(pairs+1) {
			return nil, nil, fmt.Errorf("tracking: planted: %d of %d pairs with a margin of %g in %d tries", len(out),
				pairs, margin, tries)
		}
		p, err := NewPair(fmt.Sprintf("planted pair %d", len(out)), scatter(), scatter(), c, nil, false)
		if err != nil {
			return nil, nil, err
		}
		best, err := s.KBest(context.Background(), p, w, 2)
		if err != nil {
			return nil, nil, err
		}
		if len(best) < 2 || best[0].Value-best[1].Value < margin {
			continue
		}
		p.truth = best[0].Y
		out = append(out, space.Sample[*Pair, *Annotation]{X: p, A: p.Annotation(), Name: p.Name})
	}
	return out, w, nil
}
