package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/memfs"

	"github.com/tropica-fst/tropica/cmd/internal/cli"
	"github.com/tropica-fst/tropica/learn/sequence"
)

// call runs the program, and returns what it wrote.
func beamCall(ctx context.Context, words ...string) (out, errs string, status int) {
	var o, e bytes.Buffer
	status = tool.Execute(ctx, words, cli.Streams{In: strings.NewReader(""), Out: &o, Err: &e})
	return o.String(), e.String(), status
}

func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// lines returns the lines of a file of testdata, decompressed.
func lines(t testing.TB, name string) []string {
	t.Helper()
	b := must[[]byte](t)(os.ReadFile(filepath.Join("..", "..", "testdata", filepath.FromSlash(name))))
	if strings.HasSuffix(name, ".gz") {
		b = must[[]byte](t)(io.ReadAll(must[*gzip.Reader](t)(gzip.NewReader(bytes.NewReader(b)))))
	}
	return strings.Split(strings.TrimRight(string(b), "\n"), "\n")
}

// write writes n shards of records, with a head each, and returns their pattern.
func write(t testing.TB, dir, kind, head, end string, records []string, n int) string {
	t.Helper()
	for k := range n {
		part := records[len(records)*k/n : len(records)*(k+1)/n]
		text := head + strings.Join(part, end) + end
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("part-%d.%s", k, kind)), []byte(text),
			0o666); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "part-*."+kind)
}

// chunks are sentences in the columns of the chunking task: word, tag, and the phrase that the
// word's relation stands for, as B-, I- and O.
func chunks(t testing.TB) []string {
	t.Helper()
	var out []string
	var b strings.Builder
	before := ""
	for _, l := range append(lines(t, "ud-english-ewt-sample/train.conllu.gz"), "") {
		f := strings.Split(l, "\t")
		switch {
		case l == "":
			if b.Len() > 0 {
				out = append(out, b.String())
			}
			b.Reset()
			before = ""
		case len(f) == 10 && !strings.ContainsAny(f[0], "-."):
			label := map[string]string{"det": "NP", "nsubj": "NP", "obj": "NP", "obl": "NP", "amod": "NP",
				"compound": "NP", "root": "VP", "aux": "VP", "case": "PP"}[f[7]]
			switch {
			case label == "":
				before, label = "", "O"
			case label == before:
				label = "I-" + label
			default:
				before, label = label, "B-"+label
			}
			fmt.Fprintf(&b, "%s %s %s\n", f[1], f[4], label)
		}
	}
	return out
}

// rows are those of a table of two classes.
func rows(n int) []string {
	rng := rand.New(rand.NewPCG(1, 2))
	var out []string
	for range n {
		p, q, c := rng.NormFloat64(), rng.NormFloat64(), "abc"[rng.IntN(3)]
		z := 1.5*p - q + rng.NormFloat64()/2
		if c == 'a' {
			z++
		}
		out = append(out, fmt.Sprintf("%.4f,%.4f,%c,%v", p, q, c, z > 0))
	}
	return out
}

// corpus is a learner with its shards.
type corpus struct {
	learner, pattern string
	flags            []string
}

func corpora(t *testing.T, dir string) []corpus {
	t.Helper()
	table := write(t, dir, "csv", "p,q,c,y\n", "\n", rows(600), 3)
	return []corpus{
		// More weights than travel: they go by files.
		{"sequence", write(t, dir, "conll", "", "\n", chunks(t)[:240], 4),
			[]string{"--iterations=10", "--templates=chunking"}},
		{"g2p", write(t, dir, "tsv", "", "\n", lines(t, "g2p/ice_train.tsv")[:300], 3),
			[]string{"--iterations=10"}},
		{"linear", table, []string{"--iterations=10", "--target=y", "--l1=1"}},
		{"nn", table, []string{"--iterations=10", "--target=y", "--hidden=8"}},
	}
}

// train trains, and returns the model and what the program said.
func (c *corpus) train(t *testing.T, more ...string) (model []byte, said string) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "model")
	words := append([]string{c.learner, "train", "--data", c.pattern, "--model", name},
		append(c.flags, more...)...)
	out, errs, status := beamCall(t.Context(), words...)
	if status != 0 {
		t.Fatalf("beam %s: %s", strings.Join(words, " "), errs)
	}
	return must[[]byte](t)(os.ReadFile(name)), out + errs
}

// Ten iterations on Beam give the model of this process, bit for bit.
func TestSameBits(t *testing.T) {
	for _, c := range corpora(t, t.TempDir()) {
		t.Run(c.learner, func(t *testing.T) {
			want, said := c.train(t, "--here", "--workers=1")
			got, _ := c.train(t, "--workers=2")
			if !bytes.Equal(got, want) {
				t.Errorf("the models differ, of %d and %d bytes", len(got), len(want))
			}
			if c.learner == "sequence" {
				m := must[*sequence.Model](t)(sequence.Read(bytes.NewReader(want)))
				if weights, nonzero := m.Size(); weights <= travelling || nonzero == 0 {
					t.Errorf("%d weights, %d of them not 0: files were to be tested", weights, nonzero)
				}
			}
			if !strings.Contains(said, "10 iterations") {
				t.Errorf("not ten iterations: %s", said)
			}
		})
	}
}

// chunking returns the sentences of the real chunking task, where its folder is given: its licence
// keeps it out of testdata.
func chunking(t testing.TB) []string {
	t.Helper()
	dir := os.Getenv("TROPICA_CHUNKING")
	if dir == "" {
		t.Skip("TROPICA_CHUNKING is not set to a folder with conll2000-train.txt.gz")
	}
	f := must[*os.File](t)(os.Open(filepath.Join(dir, "conll2000-train.txt.gz")))
	defer f.Close()
	b := must[[]byte](t)(io.ReadAll(must[*gzip.Reader](t)(gzip.NewReader(f))))
	sentences := strings.SplitAfter(strings.TrimRight(string(b), "\n")+"\n", "\n\n")
	for i, s := range sentences {
		sentences[i] = strings.TrimRight(s, "\n") + "\n"
	}
	return sentences
}

func TestSameBitsOfChunking(t *testing.T) {
	pattern := write(t, t.TempDir(), "conll", "", "\n", chunking(t), 8)
	c := corpus{"sequence", pattern, []string{"--iterations=10"}}
	want, _ := c.train(t, "--here")
	if got, _ := c.train(t); !bytes.Equal(got, want) {
		t.Error("the models differ")
	}
}

// So do passes of proximal steps, with l1, which end where L-BFGS ends.
func TestProximal(t *testing.T) {
	for _, c := range corpora(t, t.TempDir()) {
		t.Run(c.learner, func(t *testing.T) {
			c.flags = append(c.flags, "--solver=proximal")
			want, said := c.train(t, "--here", "--workers=1")
			if got, _ := c.train(t, "--workers=2"); !bytes.Equal(got, want) {
				t.Errorf("the models differ, of %d and %d bytes", len(got), len(want))
			}
			if c.learner != "linear" {
				return
			}
			_, said = c.train(t, "--here", "--iterations=1000", "--stop=1e-12")
			_, best := c.train(t, "--here", "--iterations=1000", "--stop=1e-12", "--solver=lbfgs")
			if a, b := objective(t, said), objective(t, best); math.Abs(a-b) > 1e-5*b {
				t.Errorf("proximal steps end at %v, L-BFGS at %v", a, b)
			}
		})
	}
}

// objective returns the one that a run has said.
func objective(t *testing.T, said string) (f float64) {
	t.Helper()
	_, rest, _ := strings.Cut(said, "objective ")
	if _, err := fmt.Sscan(rest, &f); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	return f
}

// Files may be where the SDK has a file system: here in memory, shards and what passes between
// workers alike.
func TestMemory(t *testing.T) {
	dir := t.TempDir()
	for _, c := range corpora(t, dir)[:2] {
		want, _ := c.train(t, "--here")
		names := must[[]string](t)(filepath.Glob(c.pattern))
		for _, n := range names {
			memfs.Write("memfs://corpus/"+filepath.Base(n), must[[]byte](t)(os.ReadFile(n)))
		}
		c.pattern = "memfs://corpus/" + filepath.Base(c.pattern)
		if got, _ := c.train(t, "--work=memfs://parts"); !bytes.Equal(got, want) {
			t.Errorf("%s: the models differ", c.learner)
		}
		if left := must[[]string](t)(memfs.New(t.Context()).List(t.Context(), "memfs://parts/*/*")); len(left) > 0 {
			t.Errorf("it left %v", left)
		}
	}
}

// A shard that is another one than when it was surveyed ends the run.
func TestShardChanges(t *testing.T) {
	for k, learner := range []string{"sequence", "g2p", "linear"} {
		dir := t.TempDir()
		c := corpora(t, dir)[k]
		name := must[[]string](t)(filepath.Glob(c.pattern))[1]
		read := 0
		failures.Lock()
		failures.of = map[string][]func() error{}
		for range 100 {
			failures.of[filepath.Base(name)] = append(failures.of[filepath.Base(name)], func() error {
				if read++; read != 2 {
					return nil
				}
				b, err := os.ReadFile(name)
				if err != nil {
					return err
				}
				old, new := "the", "teh"
				if learner == "linear" {
					old, new = "1", "2"
				}
				return os.WriteFile(name, bytes.ReplaceAll(b, []byte(old), []byte(new)), 0o666)
			})
		}
		failures.Unlock()
		model := filepath.Join(dir, "m")
		_, errs, status := beamCall(t.Context(), append([]string{learner, "train", "--data", flakyScheme +
			"://" + c.pattern, "--model", model}, c.flags...)...)
		failures.Lock()
		failures.of = nil
		failures.Unlock()
		if learner == "g2p" { // the driver has all words
			if status != 0 {
				t.Errorf("g2p: %s", errs)
			}
			continue
		}
		if status == 0 || !strings.Contains(errs, "part-1") || !strings.Contains(errs, "surveyed") ||
			strings.Contains(errs, "starts again") {
			t.Errorf("%s: status %d: %s", learner, status, errs)
		}
	}
}

// Files that are cut, empty or not text are errors with their name.
func TestHostileShards(t *testing.T) {
	packed := func(b []byte) []byte {
		var z bytes.Buffer
		w := gzip.NewWriter(&z)
		w.Write(b)
		w.Close()
		return z.Bytes()
	}
	for k, learner := range []string{"sequence", "g2p", "linear"} {
		for what, damage := range map[string]func([]byte) []byte{
			"empty":       func([]byte) []byte { return nil },
			"blank":       func([]byte) []byte { return []byte("\n\n\n") },
			"cut gzip":    func(b []byte) []byte { z := packed(b); return z[:len(z)/2] },
			"gzip's head": func(b []byte) []byte { return packed(b)[:5] },
			"binary":      func([]byte) []byte { return bytes.Repeat([]byte{0, 0xff, 0xfe, '\t'}, 5000) },
			"a long line": func([]byte) []byte { return bytes.Repeat([]byte("x"), 1<<22) },
		} {
			dir := t.TempDir()
			c := corpora(t, dir)[k]
			name := must[[]string](t)(filepath.Glob(c.pattern))[1]
			if err := os.WriteFile(name, damage(must[[]byte](t)(os.ReadFile(name))), 0o666); err != nil {
				t.Fatal(err)
			}
			model := filepath.Join(dir, "m")
			_, errs, status := beamCall(t.Context(), append([]string{learner, "train", c.pattern, "--model", model},
				c.flags...)...)
			if status == 0 || !strings.Contains(errs, "part-1") || strings.Contains(errs, "starts again") ||
				len(errs) > 1000 {
				t.Errorf("%s, %s: status %d: %.1000s", learner, what, status, errs)
			}
			if _, err := os.Stat(model); err == nil {
				t.Errorf("%s, %s: a model was written", learner, what)
			}
		}
	}
}

// A run leaves nothing in the temporary folder: Beam makes a file in each pass.
func TestNothingIsLeft(t *testing.T) {
	c := corpora(t, t.TempDir())[2]
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	c.train(t)
	if left, _ := os.ReadDir(folder); len(left) > 0 {
		t.Errorf("it left %v", left)
	}
	if os.TempDir() != folder {
		t.Errorf("the temporary folder is %s now", os.TempDir())
	}
}

// What a worker keeps open has no influence.
func TestKeep(t *testing.T) {
	c := corpora(t, t.TempDir())[1]
	want, _ := c.train(t, "--here")
	if got, _ := c.train(t, "--keep=1"); !bytes.Equal(got, want) {
		t.Error("the models differ")
	}
}

// A run that ended at a limit of iterations goes on from its checkpoint: its history of L-BFGS
// starts afresh, so it ends at the same objective, up to where it stops.
func TestResume(t *testing.T) {
	c := corpora(t, t.TempDir())[2]
	c.flags = []string{"--target=y"}
	value := func(said string) float64 { return objective(t, said) }
	_, said := c.train(t)
	want := value(said)
	k := filepath.Join(t.TempDir(), "state")
	_, said = c.train(t, "--iterations=4", "--checkpoint="+k, "--checkpoint_every=1")
	if early := value(said); early <= want {
		t.Errorf("after 4 iterations the objective is %v, at the end %v", early, want)
	}
	_, said = c.train(t, "--checkpoint="+k, "--resume")
	if got := value(said); math.Abs(got-want) > 1e-5*want {
		t.Errorf("resumed, it ends at %v, and without at %v", got, want)
	}
	c.flags = append(c.flags, "--l2=3")
	_, errs, status := beamCall(t.Context(), append([]string{"linear", "train", c.pattern, "--model",
		filepath.Join(t.TempDir(), "m"), "--checkpoint", k, "--resume"}, c.flags...)...)
	if status == 0 || !strings.Contains(errs, "l2") {
		t.Errorf("a checkpoint of other settings was taken: %s", errs)
	}
}

// An interrupt ends a run in order, and soon.
func TestInterrupt(t *testing.T) {
	c := corpora(t, t.TempDir())[0]
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(1500*time.Millisecond, cancel)
	dir := t.TempDir()
	begin := time.Now()
	_, errs, status := beamCall(ctx, "sequence", "train", c.pattern, "--model", filepath.Join(dir, "m"),
		"--stop=0", "--iterations=100000")
	if status != 1 || !strings.Contains(errs, "interrupted") {
		t.Errorf("status %d: %s", status, errs)
	}
	if spent := time.Since(begin); spent > 10*time.Second {
		t.Errorf("it took %v", spent)
	}
	if _, err := os.Stat(filepath.Join(dir, "m")); err == nil {
		t.Error("a model was written")
	}
}

// A corrupt line ends a run, with file and line, and without another attempt.
func TestCorruptLine(t *testing.T) {
	for _, x := range []struct {
		corpus, line int
		file, text   string
		want         string
	}{
		{0, 6, "part-2.conll", "word only", "part-2.conll:6: 2 columns"},
		{1, 9, "part-1.tsv", "no phones", "part-1.tsv:9: no tab"},
		{2, 50, "part-1.csv", "x1,2,a,true", `part-1.csv:50`},
	} {
		dir := t.TempDir()
		c := corpora(t, dir)[x.corpus]
		name := filepath.Join(dir, x.file)
		text := strings.Split(string(must[[]byte](t)(os.ReadFile(name))), "\n")
		text[x.line-1] = x.text
		if err := os.WriteFile(name, []byte(strings.Join(text, "\n")), 0o666); err != nil {
			t.Fatal(err)
		}
		model := filepath.Join(dir, "m")
		_, errs, status := beamCall(t.Context(), append([]string{c.learner, "train", "--data", c.pattern,
			"--model", model}, c.flags...)...)
		if status == 0 || !strings.Contains(errs, x.want) || strings.Contains(errs, "starts again") {
			t.Errorf("%s: got %q, want it to say %q", c.learner, errs, x.want)
		}
		if _, err := os.Stat(model); err == nil {
			t.Error("a model was written")
		}
	}
}

// flaky is a file system of the test, whose files are local and fail when they are told to.
type flaky struct{ filesystem.Interface }

// failures has what happens at the next openings of a file.
var failures struct {
	sync.Mutex
	of map[string][]func() error
}

const flakyScheme = "flaky"

func init() {
	filesystem.Register(flakyScheme, func(ctx context.Context) filesystem.Interface {
		local, err := filesystem.New(ctx, "/")
		if err != nil {
			panic(err)
		}
		return flaky{local}
	})
}

func flakyLocal(name string) string { return strings.TrimPrefix(name, flakyScheme+"://") }

func (f flaky) List(ctx context.Context, glob string) ([]string, error) {
	names, err := f.Interface.List(ctx, flakyLocal(glob))
	for k := range names {
		names[k] = flakyScheme + "://" + names[k]
	}
	return names, err
}

func (f flaky) OpenRead(ctx context.Context, name string) (io.ReadCloser, error) {
	failures.Lock()
	var next func() error
	if list := failures.of[filepath.Base(name)]; len(list) > 0 {
		next, failures.of[filepath.Base(name)] = list[0], list[1:]
	}
	failures.Unlock()
	if next != nil {
		if err := next(); err != nil {
			return nil, err
		}
	}
	return f.Interface.OpenRead(ctx, flakyLocal(name))
}

// A shard whose worker fails is done again: by the worker itself, and, where that fails as often
// as it tries, by the driver.
func TestWorkerFails(t *testing.T) {
	lost := func() error { return errors.New("connection lost") }
	panics := func() error { panic("a worker's bug") }
	c := corpora(t, t.TempDir())[0]
	c.flags = append(c.flags, "--iterations=3", "--retries=2")
	want, _ := c.train(t, "--here")
	c.pattern = flakyScheme + "://" + c.pattern
	for _, x := range []struct {
		name  string
		fail  []func() error
		again bool // by the driver
	}{
		{"once", []func() error{lost}, false},
		{"panic", []func() error{panics}, false},
		{"in the survey and in the first pass", []func() error{lost, nil, panics}, false},
		{"as often as a worker tries", []func() error{nil, lost, panics, lost}, true},
	} {
		t.Run(x.name, func(t *testing.T) {
			for k, f := range x.fail {
				if f == nil {
					x.fail[k] = func() error { return nil }
				}
			}
			failures.Lock()
			failures.of = map[string][]func() error{"part-2.conll": x.fail}
			failures.Unlock()
			got, said := c.train(t)
			if string(undoScheme(got)) != string(undoScheme(want)) {
				t.Error("the models differ")
			}
			if strings.Contains(said, "starts again") != x.again {
				t.Errorf("it said %q", said)
			}
			failures.Lock()
			left := len(failures.of["part-2.conll"])
			failures.Unlock()
			if left > 0 {
				t.Errorf("%d failures did not come about", left)
			}
		})
	}
	// What does not pass is an error in the end.
	failures.Lock()
	failures.of = map[string][]func() error{"part-1.conll": nil}
	for range 100 {
		failures.of["part-1.conll"] = append(failures.of["part-1.conll"], lost)
	}
	failures.Unlock()
	_, errs, status := beamCall(t.Context(), append([]string{"sequence", "train", "--data", c.pattern,
		"--model", filepath.Join(t.TempDir(), "m"), "--retries=1"}, c.flags[1:2]...)...)
	if status == 0 || !strings.Contains(errs, "failed 2 times") || !strings.Contains(errs, "connection lost") {
		t.Errorf("status %d: %s", status, errs)
	}
}

// undoScheme is for what a model says of its data: nothing, today.
func undoScheme(b []byte) []byte { return bytes.ReplaceAll(b, []byte(flakyScheme+"://"), nil) }

// Sums of messages have the bits of a loop over the shards, zeros and infinities included.
func TestMessages(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		n := rng.IntN(40)
		want, got := make([]float64, n), make([]float64, n)
		for k := range 5 {
			g := make([]float64, n)
			for j := range g {
				switch rng.IntN(4) {
				case 0:
					g[j] = rng.NormFloat64() * math.Pow(10, float64(rng.IntN(30)-15))
				case 1:
					g[j] = math.Copysign(0, -1)
				}
			}
			if n > 0 && rng.IntN(20) == 0 {
				g[rng.IntN(n)] = math.Inf(1)
			}
			for j, v := range g {
				want[j] += v
			}
			m, err := decode(appendRuns(appendHead(nil, k, sumKind, float64(k)/3), g))
			if err != nil || m.shard != k || m.kind != sumKind || m.value != float64(k)/3 {
				t.Fatal(m, err)
			}
			if err := m.add(got); err != nil {
				t.Fatal(err)
			}
		}
		for j := range want {
			if math.Float64bits(got[j]) != math.Float64bits(want[j]) {
				t.Fatalf("coordinate %d: %v, want %v", j, got[j], want[j])
			}
		}
	}
	if _, ok := unsealed(sealed([]byte("abc"))[1:]); ok {
		t.Error("a file that is not whole was read")
	}
}

// FuzzMessage: no bytes make a message that panics or writes beyond its stripe.
func FuzzMessage(f *testing.F) {
	f.Add(appendRuns(appendHead(nil, 3, sumKind, 1), []float64{0, 1, 2, 0, 0, 0, 4}))
	f.Add([]byte{1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := decode(b)
		if err == nil {
			m.add(make([]float64, 8))
		}
	})
}

// Mistakes on the command line are told before any work.
func TestErrors(t *testing.T) {
	dir := t.TempDir()
	c := corpora(t, dir)[2]
	model := filepath.Join(dir, "m")
	for _, x := range []struct {
		want  string
		words []string
	}{
		{"flag --data is needed", []string{"linear", "train", "--model", model}},
		{"flag --model is needed", []string{"linear", "train", c.pattern}},
		{"there is no file", []string{"linear", "train", filepath.Join(dir, "none-*"), "--model", model}},
		{"is named twice", []string{"linear", "train", c.pattern, filepath.Join(dir, "part-1.csv"), "--model",
			model}},
		{"would overwrite the data", []string{"linear", "train", c.pattern, "--model",
			filepath.Join(dir, "part-1.csv")}},
		{"flag --work is needed", []string{"linear", "train", c.pattern, "--model", model, "--runner=universal",
			"--endpoint=localhost:1"}},
		{"there is no target", []string{"linear", "train", c.pattern, "--model", model}},
		{"nosuch", []string{"sequence", "train", c.pattern, "--model", model, "--templates=" +
			filepath.Join(dir, "nosuch")}},
		{"there is no command", []string{"boost", "train"}},
		{"resilient", []string{"linear", "train", c.pattern, "--model", model, "--target=y", "--resilient=huber"}},
		{"gamma", []string{"sequence", "train", c.pattern, "--model", model, "--gamma=0",
			"--objective=softmax-margin"}},
	} {
		if _, errs, status := beamCall(t.Context(), x.words...); status != 1 || !strings.Contains(errs, x.want) {
			t.Errorf("%v: status %d, %q, want %q", x.words, status, errs, x.want)
		}
	}
	if out, _, status := beamCall(t.Context(), "sequence", "train", "--help"); status != 0 ||
		!strings.Contains(out, "--templates") {
		t.Error("no help")
	}
}
