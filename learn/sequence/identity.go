package sequence

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"math"
	"strings"
)

// identity describes all that a checkpoint must have in common with the run that goes on from it,
// in the words that run.Checkpoint.BelongsTo compares. It omits what the result does not depend on:
// workers, memory for machines, and the pairs of L-BFGS and initial weights, which a resumed run
// does not read.
func (o *TrainOptions) identity(examples []Example) string {
	words := []string{fmt.Sprintf("sequence solver=%v objective=%v l2=%v l1=%v order=%d min_count=%d observed=%v", o.Solver, o.Kind, o.L2, o.L1, o.Order, o.MinCount, o.Observed)}
	add := func(format string, args ...any) { words = append(words, fmt.Sprintf(format, args...)) }
	if o.Partial {
		add("partial=true")
	}
	if len(o.Labels) > 0 {
		add("labels=%s", strings.Join(o.Labels, ","))
	}
	if o.Kind != CrossEntropy {
		add("loss=%s", lossName(o))
		if o.Kind != Risk {
			add("gamma=%v", o.Gamma)
		}
	}
	if o.Relax != nil {
		add("resilient=%s", o.Relax.Name())
	}
	if o.Sampled != nil {
		s := *o.Sampled
		s.Seed += o.Seed
		g, _ := newSampling(s, o.Loss) // withDefaults has checked it
		add("%s", g.name())
	}
	if o.Kind == MaxMargin {
		add("beta=%v", o.Beta)
	}
	switch o.Solver {
	case SGD:
		add("decay=%v", o.Decay)
		fallthrough
	case AdaGrad, Adam:
		add("rate=%v", o.Rate)
	}
	d := digest{sha256.New()}
	for _, t := range o.Templates {
		d.string(t.String())
		if t.marks != sentenceMarks {
			d.string(string(t.marks))
		}
	}
	add("templates=%s", d.sum())
	add("sequences=%d data=%s", len(examples), digestOf(examples))
	if len(o.Dev) > 0 {
		add("dev=%s", digestOf(o.Dev))
	}
	return strings.Join(words, " ")
}

// digestOf tells examples from others.
func digestOf(examples []Example) string {
	d := digest{sha256.New()}
	for i := range examples {
		e := &examples[i]
		d.strings(e.Labels)
		d.number(uint64(len(e.Columns)))
		for _, row := range e.Columns {
			d.strings(row)
		}
		d.number(uint64(len(e.Attributes)))
		for _, row := range e.Attributes {
			d.number(uint64(len(row)))
			for _, a := range row {
				d.string(a.Name)
				d.number(math.Float64bits(a.Value))
			}
		}
	}
	return d.sum()
}

// lossName names a loss for people where it can: equal names are equal losses.
func lossName(o *TrainOptions) string {
	switch l := o.Loss.(type) {
	case nil:
		return "hamming"
	case LongEdit:
		l = l.withDefaults()
		return fmt.Sprintf("edit:%s,exact:%d,band:%d", short(l.Edit.AppendKey(nil)), l.Exact, l.Band)
	default:
		name := strings.TrimPrefix(fmt.Sprintf("%T", l), "*")
		return fmt.Sprintf("%s:%s", name[strings.LastIndexByte(name, '.')+1:], short(l.AppendKey(nil)))
	}
}

func short(key []byte) string {
	sum := sha256.Sum256(key)
	return hex.EncodeToString(sum[:4])
}

// digest hashes lists of strings so that no two different ones look alike.
type digest struct{ h hash.Hash }

func (d digest) number(v uint64) {
	var b [8]byte
	d.h.Write(binary.LittleEndian.AppendUint64(b[:0], v))
}

func (d digest) string(s string) {
	d.number(uint64(len(s)))
	d.h.Write([]byte(s))
}

func (d digest) strings(list []string) {
	d.number(uint64(len(list)))
	for _, s := range list {
		d.string(s)
	}
}

func (d digest) sum() string { return hex.EncodeToString(d.h.Sum(nil)[:8]) }
