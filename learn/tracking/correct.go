package tracking

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/tropica-fst/tropica/learn/optim/partition"
	"github.com/tropica-fst/tropica/learn/space"
)

// Correction is a user's constraint on a link: it must exist, or must not.
type Correction struct {
	Sequence string // of the movie, "" for any
	Frame    int    // number of the first of two frames
	From, To int    // ids; -1 is none: the other appears, or disappears
	Force    bool   // else it is forbidden
	Place    string // for errors, such as file and line; may be empty
}

func (c *Correction) String() string {
	word := "forbid"
	if c.Force {
		word = "force"
	}
	id := func(i int) string {
		if i < 0 {
			return "nothing"
		}
		return fmt.Sprint(i)
	}
	s := fmt.Sprintf("%s %s to %s after frame %d", word, id(c.From), id(c.To), c.Frame)
	if c.Place != "" {
		return c.Place + ": " + s
	}
	return s
}

// rules are the corrections of a frame pair, by places.
type rules struct {
	list []rule
}

type rule struct {
	*Correction
	i, j int // places, -1 for none
}

// rules sorts corrections by frame pairs. Contradictions are errors that name both.
func (m *Movie) rules(list []Correction) ([]*rules, error) {
	out := make([]*rules, max(len(m.Frames)-1, 0))
	seen := map[[3]int]*Correction{}
	for k := range list {
		c := &list[k]
		if c.Sequence != "" && c.Sequence != m.Sequence {
			continue
		}
		stride := max(m.Stride, 1)
		t := (c.Frame - m.First) / stride
		if c.Frame < m.First || (c.Frame-m.First)%stride != 0 || t >= len(out) {
			return nil, fmt.Errorf("tracking: %v: there is no such frame with a next one; they are %d to %d", c,
				m.First, m.Number(len(m.Frames)-2))
		}
		r := rule{c, -1, -1}
		for side, id := range [2]int{c.From, c.To} {
			if id < 0 {
				continue
			}
			i := slices.IndexFunc(m.Frames[t+side], func(d Detection) bool { return d.ID == id })
			if i < 0 {
				return nil, fmt.Errorf("tracking: %v: frame %d has no detection %d", c, m.Number(t+side), id)
			}
			if side == 0 {
				r.i = i
			} else {
				r.j = i
			}
		}
		if r.i < 0 && r.j < 0 {
			return nil, fmt.Errorf("tracking: %v: it names no detection", c)
		}
		key := [3]int{t, r.i, r.j}
		if o := seen[key]; o != nil && o.Force != c.Force {
			return nil, fmt.Errorf("tracking: corrections contradict each other: %v; %v", o, c)
		}
		seen[key] = c
		if out[t] == nil {
			out[t] = &rules{}
		}
		out[t].list = append(out[t].list, r)
	}
	return out, nil
}

// included returns the links that are forced: they are candidates whatever their length.
func (r *rules) included() [][2]int {
	if r == nil {
		return nil
	}
	var out [][2]int
	for _, x := range r.list {
		if x.Force && x.i >= 0 && x.j >= 0 {
			out = append(out, [2]int{x.i, x.j})
		}
	}
	return out
}

// apply forbids the hypotheses that break a rule. It finds forced links that no event has together.
func (r *rules) apply(p *Pair, score []float64) error {
	if r == nil {
		return nil
	}
	for _, x := range r.list {
		left := [2]int{}
		for side, i := range [2]int{x.i, x.j} {
			if i < 0 {
				continue
			}
			v := i + side*len(p.From)
			for _, h := range p.cover.Of(v) {
				e := &p.Hypotheses[h]
				has := false
				switch {
				case x.i < 0:
					has = len(e.From) == 0
				case x.j < 0:
					has = len(e.To) == 0
				default:
					has = slices.Contains(e.From, x.i) && slices.Contains(e.To, x.j)
				}
				if has != x.Force {
					score[h] = math.Inf(-1)
				}
				if !math.IsInf(score[h], -1) {
					left[side]++
				}
			}
			if left[side] == 0 {
				return r.contradiction(p, v, &x)
			}
		}
	}
	return nil
}

// contradiction names the rules about a detection that leave it no event.
func (r *rules) contradiction(p *Pair, v int, last *rule) error {
	var about []string
	for _, x := range r.list {
		if x.i == last.i && x.i >= 0 || x.j == last.j && x.j >= 0 {
			about = append(about, x.Correction.String())
		}
	}
	return fmt.Errorf("tracking: %s: no event of %s obeys the corrections: %s", p.Name, p.element(v),
		strings.Join(about, "; "))
}

// explain says that corrections leave no assignment.
func (r *rules) explain(err error) error {
	if r == nil || !errors.Is(err, space.ErrEmpty) {
		return err
	}
	var all []string
	for _, x := range r.list {
		all = append(all, x.Correction.String())
	}
	return fmt.Errorf("tracking: %w; the corrections there are: %s", err, strings.Join(all, "; "))
}

// touched tells which detections the rules are about.
func (r *rules) touched(p *Pair) []int {
	var out []int
	for _, x := range r.list {
		if x.i >= 0 {
			out = append(out, x.i)
		}
		if x.j >= 0 {
			out = append(out, len(p.From)+x.j)
		}
	}
	return out
}

// again solves the components that the rules touch, and takes the rest from an assignment that was
// the best before.
func (m *Model) again(ctx context.Context, p *Pair, score []float64, r *rules, old []int) (*linked, error) {
	part := p.cover.Components()
	free := map[int32]bool{}
	for _, v := range r.touched(p) {
		free[part[v]] = true
	}
	var sets [][]int32
	var names []int
	place := map[int32]int32{} // of elements of free components
	for h := range p.Hypotheses {
		members := p.cover.Members(h)
		if !free[part[members[0]]] {
			continue
		}
		var local []int32
		for _, v := range members {
			if _, ok := place[v]; !ok {
				place[v] = int32(len(place))
			}
			local = append(local, place[v])
		}
		sets, names = append(sets, local), append(names, h)
	}
	allowed := slices.Clone(score)
	if err := r.apply(p, allowed); err != nil {
		return nil, err
	}
	cover, err := partition.New(len(place), sets)
	if err != nil {
		return nil, err
	}
	local := make([]float64, len(names))
	for k, h := range names {
		local[k] = allowed[h]
	}
	s, err := cover.Solve(ctx, local, &partition.Options{Nodes: m.Nodes})
	if err != nil {
		var e *partition.InfeasibleError
		if errors.As(err, &e) && e.Element >= 0 {
			for v, k := range place {
				if int(k) == e.Element {
					err = &partition.InfeasibleError{Element: int(v)}
				}
			}
		}
		return nil, r.explain(p.failed(err, true))
	}
	y := make([]int, 0, len(old))
	for _, h := range old {
		if !free[part[p.cover.Members(h)[0]]] {
			y = append(y, h)
		}
	}
	for _, k := range s.Sets {
		y = append(y, names[k])
	}
	slices.SortFunc(y, func(a, b int) int { return cmp.Compare(a, b) })
	return p.linked(y, score, s.Bound-s.Value, true), nil
}

// pair makes the assignment problem of frames t and t+1.
func (m *Movie) pair(t int, c *Candidates, r *rules, truth []Event, include bool) (*Pair, error) {
	here := *c
	here.Include = r.included()
	return NewPair(fmt.Sprintf("%s, frames %d and %d", m.title(), m.Number(t), m.Number(t+1)), m.Frames[t],
		m.Frames[t+1], &here, truth, include)
}
