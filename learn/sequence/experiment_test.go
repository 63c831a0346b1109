package sequence_test

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tropica-fst/tropica/learn/dataset"
	"github.com/tropica-fst/tropica/learn/metrics"
	"github.com/tropica-fst/tropica/learn/run"
	"github.com/tropica-fst/tropica/learn/sequence"
	"github.com/tropica-fst/tropica/losses"
)

// The features of the reference baselines.
const chunkingTemplates = `
U00:%x[-2,0]
U01:%x[-1,0]
U02:%x[0,0]
U03:%x[1,0]
U04:%x[2,0]
U05:%x[-1,0]|%x[0,0]
U06:%x[0,0]|%x[1,0]
U10:%x[-2,1]
U11:%x[-1,1]
U12:%x[0,1]
U13:%x[1,1]
U14:%x[2,1]
U15:%x[-2,1]|%x[-1,1]
U16:%x[-1,1]|%x[0,1]
U17:%x[0,1]|%x[1,1]
U18:%x[1,1]|%x[2,1]
U20:%x[-2,1]|%x[-1,1]|%x[0,1]
U21:%x[-1,1]|%x[0,1]|%x[1,1]
U22:%x[0,1]|%x[1,1]|%x[2,1]
`

const posTemplates = `
U00:%x[0,0]
U01:%l[-2,0]
U02:%l[-1,0]
U03:%l[0,0]
U04:%l[1,0]
U05:%l[2,0]
U06:%l[-1,0]|%l[0,0]
U07:%l[0,0]|%l[1,0]
U10:%p1[0,0]
U11:%p2[0,0]
U12:%p3[0,0]
U13:%s1[0,0]
U14:%s2[0,0]
U15:%s3[0,0]
U16:%s4[0,0]
U17:%h[0,0]
U20:%s4[-1,0]
U21:%s4[1,0]
U22:%h[-1,0]|%h[0,0]
`

func parse(t testing.TB, text string) []*sequence.Template {
	list, err := sequence.ParseTemplates(strings.NewReader(text), "templates")
	if err != nil {
		t.Fatal(err)
	}
	sequence.AsOldModels(list) // the references know one mark a side, and letters of ASCII
	return list
}

// TestExperiment trains on real data, by hand:
//
//	SEQUENCE_DATA=folder SEQUENCE_TASK=chunking|pos|ocr go test ./learn/sequence -run Experiment -v
//
// The folder holds chunking/conll2000-{train,test}.txt.gz (CoNLL-2000),
// ud-english-ewt/en_ewt-ud-{train,test}.conllu.gz (Universal Dependencies) and
// ocr-letters/ocr-letters-{train,test}.tsv.gz (words of a column for the word's
// number, one for the position, the letter, and 128 pixels). Settings may be given
// in SEQUENCE_OPTIONS, such as "observed order=3 l2=0.5 iterations=50 solver=adagrad", or
// "workers=1" to time the training alone, on one thread but for the collector of garbage.
func TestExperiment(t *testing.T) {
	folder, task := os.Getenv("SEQUENCE_DATA"), os.Getenv("SEQUENCE_TASK")
	if folder == "" {
		t.Skip("an experiment on data that is not in the repository; see the comment")
	}
	opts := &sequence.TrainOptions{MinCount: 2}
	var read func(part string) []sequence.Example
	switch task {
	case "chunking":
		opts.Templates = parse(t, chunkingTemplates)
		read = func(part string) []sequence.Example {
			s, err := dataset.ReadColumns(open(t, folder, "chunking/conll2000-"+part+".txt.gz"), part, nil)
			if err != nil {
				t.Fatal(err)
			}
			return columns(s, -1)
		}
	case "pos":
		opts.Templates = parse(t, posTemplates)
		read = func(part string) []sequence.Example {
			s, err := dataset.ReadCoNLLU(open(t, folder, "ud-english-ewt/en_ewt-ud-"+part+".conllu.gz"), part, nil)
			if err != nil {
				t.Fatal(err)
			}
			for i := range s {
				for k, row := range s[i].Tokens {
					s[i].Tokens[k] = []string{strings.ReplaceAll(row[dataset.Form], " ", "_"), row[dataset.UPOS]}
				}
			}
			return columns(s, 1)
		}
	case "ocr":
		read = func(part string) []sequence.Example { return ocr(t, folder, part) }
	default:
		t.Fatalf("SEQUENCE_TASK is %q", task)
	}
	for _, f := range strings.Fields(os.Getenv("SEQUENCE_OPTIONS")) {
		name, value, _ := strings.Cut(f, "=")
		x, _ := strconv.ParseFloat(value, 64)
		var err error
		switch name {
		case "observed":
			opts.Observed = true
		case "order":
			opts.Order = int(x)
		case "l1":
			opts.L1 = x
		case "l2":
			opts.L2 = x
		case "gamma":
			opts.Gamma = x
		case "beta":
			opts.Beta = x
		case "rate":
			opts.Rate = x
		case "memory":
			opts.Memory = int(x)
		case "iterations":
			opts.Control.Stop.Iterations = int(x)
		case "relative":
			opts.Control.Stop.Relative = x
		case "gap":
			opts.Gap = x
		case "workers":
			opts.Workers = int(x)
		case "solver":
			opts.Solver, err = sequence.ParseSolver(value)
		case "loss":
			opts.Loss = map[string]losses.Loss{"edit": sequence.LongEdit{}, "bigram": losses.NGram{N: 2, C: 1}}[value]
		case "kind":
			opts.Kind, err = sequence.ParseKind(value)
		default:
			err = fmt.Errorf("unknown setting %q", f)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var clock stopwatch
	clock.start()
	train, test := read("train"), read("test")
	reading := clock.lap()
	opts.Control.Recorder = run.RecorderFunc(func(r run.Row) error {
		if r.Iteration%10 == 0 {
			t.Logf("%+v", r)
		}
		return nil
	})
	problem, err := sequence.Prepare(train, opts)
	if err != nil {
		t.Fatal(err)
	}
	features := clock.lap()
	m, r, err := problem.Train()
	if err != nil {
		t.Fatal(err)
	}
	trained := clock.lap()
	weights, nonzero := m.Size()
	t.Log(r.Note)
	t.Logf("%d weights, %d not zero; %d iterations, %d evaluations, %s, objective %.3f", weights, nonzero, r.Iterations, r.Evaluations, r.Reason, r.F)
	tagger := m.Tagger()
	var symbols, strs metrics.Rate
	var chunks metrics.ChunkCounts
	for i := range test {
		got, err := tagger.Viterbi(&test[i].Input)
		if err != nil {
			t.Fatal(err)
		}
		symbols = symbols.Add(metrics.Symbols(got, test[i].Labels))
		strs = strs.Add(metrics.Strings(got, test[i].Labels))
		chunks = chunks.Add(metrics.Chunks(got, test[i].Labels))
	}
	t.Logf("%s: reading %v, features %v, training %v, labelling %v; tokens %.2f%%, sequences %.2f%%",
		task, reading, features, trained, clock.lap(), 100-100*symbols.Value(), 100-100*strs.Value())
	if slices.ContainsFunc(m.Labels(), func(y string) bool { return strings.HasPrefix(y, "B-") }) {
		t.Logf("%s: chunk F1 %.2f", task, 100*chunks.F1())
	}
}

// stopwatch measures one thing after the other.
type stopwatch struct {
	wall      time.Time
	processor time.Duration
}

// stretch is a duration by both clocks; processor is what all threads of the process
// took together, negative where that is not known.
type stretch struct{ wall, processor time.Duration }

func (s stretch) String() string {
	if s.processor < 0 {
		return fmt.Sprintf("%.2f s", s.wall.Seconds())
	}
	return fmt.Sprintf("%.2f s (processor %.2f s)", s.wall.Seconds(), s.processor.Seconds())
}

func (s *stopwatch) start() { s.wall, s.processor = time.Now(), processorTime() }

func (s *stopwatch) lap() stretch {
	before := *s
	s.start()
	d := stretch{s.wall.Sub(before.wall), s.processor - before.processor}
	if s.processor < 0 {
		d.processor = -1
	}
	return d
}

func open(t *testing.T, folder, name string) *bufio.Reader {
	f, err := os.Open(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	return bufio.NewReader(z)
}

// columns makes examples whose labels are one of the columns.
func columns(sentences []dataset.Sentence, label int) []sequence.Example {
	out := make([]sequence.Example, len(sentences))
	for i := range sentences {
		out[i] = sequence.Example{Input: sequence.Input{Columns: sentences[i].Tokens}, Labels: sentences[i].Column(label)}
	}
	return out
}

func ocr(t *testing.T, folder, part string) []sequence.Example {
	rows, err := dataset.ReadTSV(open(t, folder, "ocr-letters/ocr-letters-"+part+".tsv.gz"), part, &dataset.TSVOptions{Header: true})
	if err != nil {
		t.Fatal(err)
	}
	var out []sequence.Example
	word := ""
	for _, r := range rows {
		if r.Fields[0] != word {
			word = r.Fields[0]
			out = append(out, sequence.Example{})
		}
		e := &out[len(out)-1]
		pixels := []sequence.Attribute{{Name: "bias", Value: 1}}
		for k, b := range r.Fields[3] {
			if b == '1' {
				pixels = append(pixels, sequence.Attribute{Name: "x" + strconv.Itoa(k), Value: 1})
			}
		}
		e.Attributes = append(e.Attributes, pixels)
		e.Labels = append(e.Labels, r.Fields[2])
	}
	return out
}
