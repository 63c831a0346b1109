package g2p

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/tropica-fst/tropica/learn/nn/encoder"
	"github.com/tropica-fst/tropica/losses"
)

// LetterNetwork computes scores of labels for every letter of a word. The letters of a word are
// numbered from 1 as in Inventory.Letters; 0 is a letter that training did not have.
type LetterNetwork = encoder.Network[[]int32]

// Networks says which networks a model has.
type Networks string

const (
	AutoNetworks  Networks = "auto" // as For says
	NoNetwork     Networks = "none" // linear features alone
	Convolutional Networks = "conv" // residual blocks of convolutions
	Recurrent     Networks = "lstm" // bidirectional LSTM
	BothNetworks  Networks = "both" // members of the two kinds in turn
)

// markedPairs is up to where accents are counted by default. The lattices of 8000 pairs take 0.7
// GB.
const markedPairs = 10000

// Recipe sets what the preparation of so many pairs has otherwise for networks: no features of
// letters unless asked for, five labels more for every letter, since networks can tell more of them
// apart than linear models, and up to 10000 pairs the counts of accents and stress, where phones
// have any.
func (o *NetworkOptions) Recipe(pairs int, p *Options) {
	p.Features.Bare = !o.Features
	p.Align.Widen = 5
	if pairs <= markedPairs {
		p.Views.Marks = []string{AutoMarks}
	}
}

// MostWords is up to how many words networks are the default. A pass of networks over more takes
// minutes.
const MostWords = 50000

// For returns the networks for so many training words, where n is "" or AutoNetworks; else n.
func (n Networks) For(words int) Networks {
	switch {
	case n != "" && n != AutoNetworks:
		return n
	case words > MostWords:
		return NoNetwork
	case words > fewWords:
		return BothNetworks
	}
	return Convolutional
}

// NetworkOptions adjusts Problem.FitNetworks. The zero value is the recipe that was chosen for all
// languages; where it says so, its sizes depend on the number of words.
type NetworkOptions struct {
	Networks Networks `flag:"network" default:"auto" values:"auto,none,conv,lstm,both" help:"Networks under the lattice: residual convolutions, bidirectional LSTM, members of both in turn, or none; auto is conv for up to 2000 words, both up to 50000, and none above"`
	Members  int      `flag:"members" min:"0" max:"64" help:"Networks that are trained, each from a seed of its own, and whose scores are averaged; 0 is 5 for up to 2000 words, 6 up to 20000, and 4 above"`
	Epochs   int      `flag:"epochs" min:"0" help:"Passes over the words; 0 is 25 for up to 2000 words, 20 up to 20000, and 12 above"`
	Hidden   int      `flag:"hidden" min:"0" max:"4096" help:"Channels of convolutions, and units of each direction; 0 is 128, and 192 for convolutions of more than 2000 words"`
	Dropout  float64  `flag:"dropout" default:"0.4" min:"0" below:"1" help:"Share of values that dropout sets to zero"`
	Rate     float64  `flag:"rate" min:"0" help:"Largest rate of Adam; 0 is 0.002 for convolutions and 0.004 for LSTM"`
	Batch    int      `flag:"batch" min:"0" help:"Words of a step; 0 is 32 for up to 2000 words, and 64 above"`
	Features bool     `flag:"features" help:"Add the linear features of letter n-grams to the networks' scores"`
	// FirstEpochs is how many of the passes minimise the Hamming margin before the objective does.
	FirstEpochs int `flag:"first_epochs" min:"0" help:"Passes of the Hamming margin before those of another objective; 0 is half of them"`

	Seed uint64 // of the networks' starts, the order of words, and dropout

	// Own are networks of the caller's, one for each member; nil is those that Networks names. They
	// have as many outputs as the inventory has labels (Problem.Labels). A model that has them is
	// not written to files.
	Own []LetterNetwork
}

// member is one network of a model, with the weights that were trained beside it.
type member struct {
	kind    Networks
	shape   encoder.Shape // of a ready network
	net     LetterNetwork
	params  []float32
	weights []float64 // of the model's features and views
	linear  *Model    // the model of these weights alone
	share   float64   // of the potentials; all shares sum to 1
}

// networkTask is a Problem under an objective, as training of a network sees it. The parameters
// beside the network are the weights of label bigrams, letter pairs and groups of features.
type networkTask struct {
	p       *Problem
	o       Objective
	linear  bool      // letter pairs and features are trained, too
	inputs  [][]int32 // letters of each word, none irregular
	workers []networkWorker
}

type networkWorker struct {
	scorer
	pairs    losses.PairScores
	out, sum []float64
	views    wordViews
}

func (p *Problem) networkTask(o Objective, linear bool, workers int) *networkTask {
	t := &networkTask{p: p, o: o, linear: linear, inputs: make([][]int32, len(p.words)),
		workers: make([]networkWorker, workers)}
	for i := range p.words {
		t.inputs[i] = p.Inventory.regularLetters(p.words[i].x)
	}
	return t
}

// regularLetters returns the letters that x stand for, x itself where none is irregular.
func (inv *Inventory) regularLetters(x []int32) []int32 {
	if len(inv.of) == 0 {
		return x
	}
	out := make([]int32, len(x))
	for t, id := range x {
		out[t], _ = inv.base(id)
	}
	return out
}

// Len implements encoder.Task.
func (t *networkTask) Len() int { return len(t.p.words) }

// Input implements encoder.Task.
func (t *networkTask) Input(i int) []int32 { return t.inputs[i] }

// Positions implements encoder.Task.
func (t *networkTask) Positions(i int) int { return len(t.p.words[i].x) }

// Extra implements encoder.Task.
func (t *networkTask) Extra() int { return t.p.dim() }

// Loss implements encoder.Task.
func (t *networkTask) Loss(worker, i int, scores, extra, dScores []float32,
	dExtra *encoder.SparseGradient) (float64, error) {
	k, w := &t.workers[worker], &t.p.words[i]
	if t.p.views != nil {
		k.pay(t.p, i, extra[t.p.groups.dim:], t.o.beta())
	}
	gold, err := t.score(k, w, scores, extra)
	if err != nil {
		return 0, fmt.Errorf("g2p: %s: %w", t.p.where(i), err)
	}
	n := len(w.x)
	k.out, k.sum = sized(k.out, w.shape.pairs[n]), sized(k.sum, w.shape.unary[n])
	value, err := k.loss(&t.o, w, gold, k.out)
	if err != nil {
		return 0, fmt.Errorf("g2p: %s: %w", t.p.where(i), err)
	}
	w.shape.marginalize(k.out, k.sum)
	if t.p.views != nil {
		k.gather(t.p, t.p.groups.dim, dExtra)
	}
	return value + t.spread(k, w, extra, dScores, dExtra), nil
}

// score gives k the scores of a word, as evaluation.scoreWord does.
func (t *networkTask) score(k *networkWorker, w *word, scores, extra []float32) (gold float64, err error) {
	f, o := t.p.Features, &t.o
	n, outputs, first := len(w.x), len(t.p.Inventory.Labels), f.bigrams.Len()
	s, beta, left := &k.scores, o.beta(), 0
	s.Sizes, s.Pairs, s.At = w.sizes, &k.pairs, w.shape.pairs[:n]
	s.Unary, k.pairs.Scores = sized(s.Unary, w.shape.unary[n]), sized(k.pairs.Scores, w.shape.pairs[n])
	for l, x := range w.x {
		u := s.Unary[w.shape.unary[l]:w.shape.unary[l+1]]
		groupUnary(&t.p.groups, extra, &w.compiled, l, u)
		row := scores[l*outputs : (l+1)*outputs]
		for b, label := range t.p.Inventory.Allowed[x] {
			u[b] += float64(row[label])
		}
		at := int(f.pairAt[w.pair[l]])
		big := f.pairBig[at-first:]
		pairs := k.pairs.Scores[w.shape.pairs[l]:w.shape.pairs[l+1]]
		for i := range pairs {
			pairs[i] = beta * (float64(extra[big[i]]) + float64(extra[at+i]))
		}
		right := int(w.gold[l])
		gold += u[right] + pairs[left*len(u)+right]/beta
		left = right
		for b := range u {
			if o.Kind == HammingMargin && b != right {
				u[b] += o.Gamma
			}
			u[b] *= beta
		}
	}
	if w.trellis != nil {
		for _, x := range w.goldPays {
			gold += k.scorer.pays[x] / beta
		}
		return gold, nil
	}
	k.pairs.Set()
	return gold, k.SetFactored(s)
}

// spread adds the gradient of a word to that of the network's scores and of the weights, and
// returns the word's share of the penalty. Every weight of a letter pair or a feature pays for
// each of its n occurrences the n-th part of its penalty; over all words this is L2/2 |w|².
func (t *networkTask) spread(k *networkWorker, w *word, extra, dScores []float32,
	dExtra *encoder.SparseGradient) (penalty float64) {
	f, g := t.p.Features, &t.p.groups
	outputs, first := len(t.p.Inventory.Labels), f.bigrams.Len()
	bigrams := dExtra.Row(0, first)
	add := func(at int, d []float64, value, l2 float64) {
		own, weights := dExtra.Row(at, len(d)), extra[at:at+len(d)]
		for i, x := range weights {
			own[i] += float32(value*d[i] + l2*float64(x))
			penalty += l2 / 2 * float64(x) * float64(x)
		}
	}
	for l, x := range w.x {
		u := k.sum[w.shape.unary[l]:w.shape.unary[l+1]]
		row := dScores[l*outputs : (l+1)*outputs]
		for b, label := range t.p.Inventory.Allowed[x] {
			row[label] += float32(u[b])
		}
		id := w.pair[l]
		at := int(f.pairAt[id])
		big := f.pairBig[at-first:]
		pairs := k.out[w.shape.pairs[l]:w.shape.pairs[l+1]]
		for i, d := range pairs {
			bigrams[big[i]] += float32(d)
		}
		if !t.linear {
			continue
		}
		add(at, pairs, 1, t.o.L2/float64(t.p.pairCount[id]))
		for _, id := range w.gram[w.start[l]:w.start[l+1]] {
			add(int(g.at[id]), u, g.value[id], t.o.L2/t.p.groupOcc.number(id))
		}
	}
	return penalty
}

// searches has memory of goroutines that are done, of any model.
var searches sync.Pool

// search returns memory for decoding with m, to be given back to searches.
func (m *Model) search() *search {
	s, ok := searches.Get().(*search)
	if !ok {
		s = new(search)
	}
	if s.networks.model != m {
		s.networks = networkScores{model: m}
	}
	return s
}

// networkScores is one goroutine's memory for what networks say of a batch of words.
type networkScores struct {
	model  *Model                  // whose networks they are
	passes []encoder.Pass[[]int32] // by member
	words  []compiled              // of the batch
	input  [][]int32
	starts []int       // letter with which each word begins
	scores [][]float32 // by member
}

// ahead computes what the networks say of words, for score: one pass over many words takes less
// time than many over one.
func (m *Model) ahead(words []compiled, s *scores) {
	if len(m.members) == 0 {
		return
	}
	n := &s.networks
	n.words, n.input, n.starts = words, n.input[:0], n.starts[:0]
	letters := 0
	for i := range words {
		n.starts = append(n.starts, letters)
		n.input = append(n.input, words[i].x)
		letters += len(words[i].x)
	}
	n.scores = n.scores[:0]
	for k, b := range m.members {
		if len(n.passes) == k {
			n.passes = append(n.passes, b.net.NewPass())
		}
		n.scores = append(n.scores, n.passes[k].Forward(b.params, n.input, nil))
	}
}

// of returns the number of a word in the batch, or -1.
func (n *networkScores) of(c *compiled) int {
	for i := range n.words {
		if &n.words[i] == c {
			return i
		}
	}
	return -1
}

// at returns the number of a word in the batch of s, which is that word alone if it had no such
// number.
func (m *Model) at(c *compiled, s *scores) int {
	i := s.networks.of(c)
	if i < 0 {
		m.ahead([]compiled{*c}, s)
		i = 0
	}
	return i
}

// addNetworks adds to s what the networks say of a word, by their shares.
func (m *Model) addNetworks(c *compiled, s *scores) {
	i := m.at(c, s)
	for k, b := range m.members {
		m.addNetwork(k, i, b.share, s)
	}
}

// addNetwork adds to s the scores of network k for word i of the batch, times share.
func (m *Model) addNetwork(k, i int, share float64, s *scores) {
	n, outputs := &s.networks, len(m.Inventory.Labels)
	for t, list := range s.lists {
		row := n.scores[k][(n.starts[i]+t)*outputs:][:outputs]
		u := s.unary[s.shape.unary[t]:]
		for b, label := range list {
			u[b] += share * float64(row[label])
		}
	}
}

// pooled returns the phone strings of the n best label strings of every member, by falling weight:
// the mean of their probabilities under the members. What is not among a member's best has none.
func (m *Model) pooled(c *compiled, s *search, n int) []spelt {
	i := m.at(c, &s.scores)
	var out []spelt
	at := map[string]int{}
	for k, b := range m.members {
		b.linear.prepareBy(c, s, func() {
			b.linear.score(c, &s.scores)
			m.addNetwork(k, i, 1, &s.scores)
		})
		logZ := s.total()
		for _, h := range m.merged(s, n) {
			key := string(appendPhones(nil, h.phones))
			score := math.Log(b.share) + h.score - logZ
			if j, ok := at[key]; ok {
				out[j].score = logAdd(out[j].score, score)
				continue
			}
			at[key] = len(out)
			out = append(out, spelt{h.phones, score})
		}
	}
	slices.SortStableFunc(out, func(a, b spelt) int { return cmp.Compare(b.score, a.score) })
	return out
}

// setMembers gives m its networks, and the mean of the weights beside them.
func (m *Model) setMembers(members []*member) {
	m.members = members
	m.Weights = make([]float64, m.Features.dim+m.views.size())
	for _, b := range members {
		b.linear = &Model{Inventory: m.Inventory, Features: m.Features, Weights: b.weights, Objective: m.Objective,
			views: m.views}
		b.linear.ready()
		for i, w := range b.weights {
			m.Weights[i] += b.share * w
		}
	}
	m.ready()
}

// Networks returns the kinds of the networks of a model; nil is a linear one.
func (m *Model) Networks() []Networks {
	var kinds []Networks
	for _, b := range m.members {
		kinds = append(kinds, b.kind)
	}
	return kinds
}

// NetworkDim returns the number of parameters of all networks.
func (m *Model) NetworkDim() (n int) {
	for _, b := range m.members {
		n += len(b.params)
	}
	return n
}

// NetworkNames counts the networks of a model by kind, as in "2 conv, 1 lstm"; "" is none.
func (m *Model) NetworkNames() string {
	var names []string
	number := map[Networks]int{}
	for _, b := range m.members {
		if number[b.kind]++; number[b.kind] == 1 {
			names = append(names, string(b.kind))
		}
	}
	for i, name := range names {
		names[i] = fmt.Sprintf("%d %s", number[Networks(name)], name)
	}
	return strings.Join(names, ", ")
}

// Select returns the model of some of the networks of m, by number. Every kind among them counts
// alike.
func (m *Model) Select(members ...int) (*Model, error) {
	var chosen []*member
	for _, k := range members {
		if k < 0 || k >= len(m.members) {
			return nil, fmt.Errorf("g2p: the model has no network %d, but %d", k, len(m.members))
		}
		b := *m.members[k]
		chosen = append(chosen, &b)
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("g2p: no network of the model was chosen")
	}
	setShares(chosen)
	out := &Model{Inventory: m.Inventory, Features: m.Features, Objective: m.Objective, views: m.views}
	out.setMembers(chosen)
	return out, nil
}
