package g2p

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/tropica-fst/tropica/learn/metrics"
)

// Report sets objectives side by side on held-out words.
type Report struct {
	Sections []Section `json:"sections"` // one a data set
	Pooled   Section   `json:"pooled"`   // all words together
	Decoding Decoding  `json:"decoding"`
	Seconds  float64   `json:"seconds"`
}

// Section is the result on some words.
type Section struct {
	Name       string `json:"name"`
	Words      int    `json:"words"`          // held-out words
	References int    `json:"references"`     // their pronunciations
	Reachable  int    `json:"reachable"`      // words with a reference that labels can spell
	Seen       int    `json:"reachable_seen"` // the same without labels that letters back off to
	Unseen     int    `json:"unseen_letters"` // words with a letter that training did not have
	Folds      int    `json:"folds"`
	Trained    int    `json:"train_pairs"` // over all folds, as the next two
	Unaligned  int    `json:"unaligned"`
	Restricted int    `json:"restricted"`

	// Outside names the words that no labels can spell.
	Outside []string `json:"outside,omitempty"`

	// Lost names the training pairs that could not be aligned, each once.
	Lost []string `json:"lost,omitempty"`

	Models []Score `json:"models"`
}

// Score is one objective's result in a section. A word is right when the output is one of
// its references, and edits are those to the nearest one. The phone error rate is all edits
// by the phones of these nearest references.
type Score struct {
	Kind      Kind         `json:"kind"`
	Networks  string       `json:"networks,omitempty"` // as Model.NetworkNames
	Chosen    []Objective  `json:"chosen"`             // constants, by fold; one where all folds have the same
	Phones    int          `json:"phones"`             // of the nearest references
	PER       float64      `json:"per"`                // phone error rate, in per cent
	WER       float64      `json:"wer"`                // word error rate, in per cent
	Edits     int          `json:"edits"`
	Wrong     int          `json:"wrong"`
	Converged bool         `json:"converged"` // every fold's fit ended by its stopping rule
	Versus    []Comparison `json:"versus"`    // against each model before it
}

// Comparison is a paired test of a model against another on the same words.
type Comparison struct {
	Kind     Kind          `json:"kind"`         // of the other
	Relative float64       `json:"relative_per"` // change of the phone error rate, in per cent: negative is better than the other
	T        metrics.Maybe `json:"t"`            // of the edits, paired by word
	P        metrics.Maybe `json:"p"`            // two-sided
	Fixed    int           `json:"fixed"`        // words that only this model has right
	Broken   int           `json:"broken"`       // words that only the other has right
	McNemar  float64       `json:"mcnemar_p"`    // exact, two-sided
}

// newReport pools units by data set and all together.
func newReport(o *CompareOptions, units []*unit, took time.Duration) *Report {
	d, _ := o.Decode.withDefaults()
	r := &Report{Decoding: d.Decoding, Seconds: took.Seconds()}
	for i := 0; i < len(units); {
		k := i
		for k < len(units) && units[k].dataset == units[i].dataset {
			k++
		}
		r.Sections = append(r.Sections, newSection(units[i].dataset, units[i:k]))
		i = k
	}
	r.Pooled = newSection("pooled", units)
	return r
}

func newSection(name string, units []*unit) Section {
	s := Section{Name: name, Folds: len(units)}
	lost := map[string]bool{}
	for _, u := range units {
		s.Words += len(u.models[0].edits)
		s.References += len(u.test)
		s.Reachable += u.reachable
		s.Seen += u.seen
		s.Outside = append(s.Outside, u.outside...)
		s.Unseen += u.unseen
		s.Trained += u.stats.Pairs
		s.Unaligned += u.stats.Unaligned
		s.Restricted += u.stats.Restricted
		for _, name := range u.stats.Lost {
			if !lost[name] {
				lost[name] = true
				s.Lost = append(s.Lost, name)
			}
		}
	}
	edits := make([][]float64, len(units[0].models))
	right := make([][]bool, len(units[0].models))
	for i := range units[0].models {
		m := Score{Kind: units[0].models[i].objective.Kind, Networks: units[0].models[i].networks, Converged: true}
		same := true
		for _, u := range units {
			out := &u.models[i]
			m.Chosen = append(m.Chosen, out.objective)
			same = same && out.objective == m.Chosen[0]
			m.Converged = m.Converged && out.converged
			for k, e := range out.edits {
				m.Edits += e
				m.Phones += out.phones[k]
				if e > 0 {
					m.Wrong++
				}
				edits[i] = append(edits[i], float64(e))
				right[i] = append(right[i], e == 0)
			}
		}
		if same {
			m.Chosen = m.Chosen[:1]
		}
		m.PER = 100 * metrics.Rate{Errors: m.Edits, Base: m.Phones}.Value()
		m.WER = 100 * metrics.Rate{Errors: m.Wrong, Base: s.Words}.Value()
		for k := range i {
			m.Versus = append(m.Versus, compare(&s.Models[k], &m, edits[k], edits[i], right[k], right[i]))
		}
		s.Models = append(s.Models, m)
	}
	return s
}

// compare tests model b against a.
func compare(a, b *Score, editsA, editsB []float64, rightA, rightB []bool) Comparison {
	c := Comparison{Kind: a.Kind, P: 1, McNemar: 1}
	if a.Edits > 0 {
		c.Relative = 100 * float64(b.Edits-a.Edits) / float64(a.Edits)
	}
	// Fewer than two words leave nothing to test.
	if t, err := metrics.PairedT(editsB, editsA); err == nil {
		c.T, c.P = t.T, t.P
	}
	if m, err := metrics.McNemar(rightA, rightB); err == nil {
		c.Fixed, c.Broken, c.McNemar = m.OnlyB, m.OnlyA, m.Exact
	}
	return c
}

// WriteTable writes the report as a table for people: a row for each model and
// section, compared with the first model of the section.
func (r *Report) WriteTable(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "words\tmodel\tPER %\tWER %\tPER change\tp (edits)\twords fixed/broken\tp (words)")
	sections := r.Sections
	if len(sections) != 1 {
		sections = append(sections[:len(sections):len(sections)], r.Pooled)
	}
	for _, s := range sections {
		for i, m := range s.Models {
			name := ""
			if i == 0 {
				name = fmt.Sprintf("%s (%d)", s.Name, s.Words)
			}
			fmt.Fprintf(t, "%s\t%s\t%.2f\t%.1f", name, m.label(), m.PER, m.WER)
			if i > 0 {
				c := m.Versus[0]
				fmt.Fprintf(t, "\t%+.1f%%\t%s\t%d/%d\t%.2g", c.Relative, c.P.Text("%.2g"), c.Fixed, c.Broken, c.McNemar)
			}
			fmt.Fprintln(t)
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	p := r.Pooled
	if p.References > p.Words {
		if _, err := fmt.Fprintf(w, "%d words with %d pronunciations: a word is counted against the nearest of its own; PER is edits by the phones of these\n",
			p.Words, p.References); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "reference within reach of the labels: %d of %d held-out words%s; %d by labels "+
		"seen at these letters; %d have a letter unseen in training\n",
		p.Reachable, p.Words, ListLost(p.Outside), p.Seen, p.Unseen)
	if err == nil && p.Trained > 0 {
		_, err = fmt.Fprintf(w, "training pairs left out: %d of %d%s; words with a restricted lattice: %d\n",
			p.Unaligned, p.Trained, ListLost(p.Lost), p.Restricted)
	}
	return err
}

// ListLost names pairs that were left out, or that are out of reach, for a sentence of a report,
// the first ten of them: " (a.tsv:3 "x", a.tsv:7 "www")". It is empty when there are none.
func ListLost(names []string) string {
	const most = 10
	if len(names) == 0 {
		return ""
	}
	text := strings.Join(names[:min(most, len(names))], ", ")
	if more := len(names) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return " (" + text + ")"
}

// WriteCSV writes the report as a table for programs. It has a row for each model of each section,
// compared with the first model, and where there are several sections rows for all together.
func (r *Report) WriteCSV(w io.Writer) error {
	rows := [][]string{{"words", "number", "phones", "model", "constants", "per", "wer", "edits", "wrong", "converged", "relative_per", "p_edits", "fixed", "broken", "p_words"}}
	g := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	sections := r.Sections
	if len(sections) != 1 {
		sections = append(sections[:len(sections):len(sections)], r.Pooled)
	}
	for _, s := range sections {
		for i := range s.Models {
			m := &s.Models[i]
			row := []string{s.Name, strconv.Itoa(s.Words), strconv.Itoa(m.Phones), string(m.Kind), m.label(), g(m.PER), g(m.WER),
				strconv.Itoa(m.Edits), strconv.Itoa(m.Wrong), strconv.FormatBool(m.Converged), "", "", "", "", ""}
			if i > 0 {
				c := m.Versus[0]
				row = append(row[:10], g(c.Relative), g(float64(c.P)), strconv.Itoa(c.Fixed), strconv.Itoa(c.Broken), g(c.McNemar))
			}
			rows = append(rows, row)
		}
	}
	return csv.NewWriter(w).WriteAll(rows)
}

func (m *Score) label() string {
	name := string(m.Kind) + " (constants by fold)"
	if len(m.Chosen) == 1 {
		name = m.Chosen[0].String()
	}
	if m.Networks != "" {
		name = m.Networks + ": " + name
	}
	return name
}
