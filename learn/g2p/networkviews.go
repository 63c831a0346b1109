package g2p

import "github.com/tropica-fst/tropica/learn/nn/encoder"

// wordViews is what one goroutine keeps of views while a network is trained: what the events of a
// word pay under the weights of its batch, and the gradient of these events.
type wordViews struct {
	pays, gain []float64 // by event
	seen       []bool    // whether an event is in met
	met        []int32   // events of the word
}

// pay stores what the events of word i pay, given the weights of views, times scale.
func (k *networkWorker) pay(p *Problem, i int, weights []float32, scale float64) {
	v, e := &k.views, &p.events
	if v.pays == nil {
		v.pays, v.gain, v.seen = make([]float64, e.len()), make([]float64, e.len()), make([]bool, e.len())
	}
	v.met = v.met[:0]
	l := p.words[i].trellis
	for at, x := range l.pays {
		if x < 0 || at < len(l.to) && l.to[at] < 0 || v.seen[x] {
			continue
		}
		v.seen[x] = true
		v.met = append(v.met, x)
		sum := -e.cost[x]
		p.views.each(e.entries[e.start[x]:e.start[x+1]], func(weight int32, value float64) {
			sum += value * float64(weights[weight])
		})
		v.pays[x], v.gain[x] = scale*sum, 0
	}
	for _, x := range v.met {
		v.seen[x] = false
	}
	k.scorer.pays = v.pays
	k.events, k.moves = k.events[:0], k.moves[:0]
}

// gather adds the gradient of the events of a word to that of the weights of views, which begin at
// first.
func (k *networkWorker) gather(p *Problem, first int, dExtra *encoder.SparseGradient) {
	v, e := &k.views, &p.events
	for i, x := range k.events {
		v.gain[x] += k.moves[i]
	}
	for _, x := range v.met {
		if v.gain[x] == 0 {
			continue
		}
		p.views.each(e.entries[e.start[x]:e.start[x+1]], func(weight int32, value float64) {
			dExtra.Row(first+int(weight), 1)[0] += float32(value * v.gain[x])
		})
	}
}

// each calls do with every weight that entries pay, and its value.
func (v *views) each(entries []int32, do func(weight int32, value float64)) {
	phones, marks, _ := v.offsets()
	for _, x := range entries {
		switch {
		case int(x) < phones:
			v.labels.each(x, 0, do)
		case int(x) < marks:
			v.phones.each(x-int32(phones), int32(phones), do)
		default:
			do(x, 1)
		}
	}
}

// each calls do with a node and its suffixes, their numbers counted from first.
func (h *histories) each(node, first int32, do func(weight int32, value float64)) {
	value := h.value(node)
	for ; node != 0 && value > 0; node = h.fail[node] {
		do(first+node, value)
		if value /= h.damping; int(h.depth[h.fail[node]]) < h.least {
			break
		}
	}
}
