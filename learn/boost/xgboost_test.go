package boost

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/learn/boost/tree"
	"github.com/tropica-fst/tropica/learn/dataset/table"
)

// readGrid reads lines of numbers; an empty field is missing.
func readGrid(t *testing.T, path string) [][]float64 {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out [][]float64
	for line := range strings.Lines(string(b)) {
		var row []float64
		for _, s := range strings.Split(strings.TrimRight(line, "\n"), ",") {
			v := math.NaN()
			if s != "" {
				if v, err = strconv.ParseFloat(s, 64); err != nil {
					t.Fatal(err)
				}
			}
			row = append(row, v)
		}
		out = append(out, row)
	}
	return out
}

// gridTable makes a table of a schema's columns.
func gridTable(s *Schema, rows [][]float64) *table.Table {
	x := s.Table()
	x.Rows = len(rows)
	for j := range x.Columns {
		for _, r := range rows {
			x.Columns[j].Values = append(x.Columns[j].Values, float32(r[j]))
		}
	}
	return x
}

func compareScores(t *testing.T, what string, got []float64, want [][]float64) {
	t.Helper()
	k := len(want[0])
	if len(got) != k*len(want) {
		t.Fatalf("%s: %d scores, want %d", what, len(got), k*len(want))
	}
	for i, v := range got {
		if w := want[i/k][i%k]; !(math.Abs(v-w) <= 1e-6*max(1, math.Abs(w))) {
			t.Fatalf("%s: score %d of row %d is %v, XGBoost has %v", what, i%k, i/k, v, w)
		}
	}
}

var xgbCases = []string{"binary", "exact", "regression", "leaves", "classes"}

func checkImport(t *testing.T, folder string) {
	for _, name := range xgbCases {
		f, err := os.Open(filepath.Join(folder, name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		e, err := ReadXGBoost(f, nil)
		f.Close()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		x := gridTable(&e.Schema, readGrid(t, filepath.Join(folder, name+".rows.csv")))
		got, err := e.Scores(x, nil)
		if err != nil {
			t.Fatal(err)
		}
		compareScores(t, name, got, readGrid(t, filepath.Join(folder, name+".scores.csv")))

		// Written and read again, and saved in our own format, it predicts the same.
		var again bytes.Buffer
		if err := e.WriteXGBoost(&again); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		back, err := ReadXGBoost(&again, &e.Schema)
		if err != nil {
			t.Fatalf("%s: what was written: %v", name, err)
		}
		second, err := back.Scores(x, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range got {
			near(t, name+" after a round trip", second[i], got[i], 1e-6)
		}
		loaded, err := Read(bytes.NewReader(saved(t, e)))
		if err != nil {
			t.Fatal(err)
		}
		third, _ := loaded.Scores(x, nil)
		for i := range got {
			near(t, name+" from our own file", third[i], got[i], 0)
		}
	}
}

func TestXGBoostRecordedModels(t *testing.T) {
	checkImport(t, "testdata/xgboost")
	checkSparse(t, "testdata/xgboost")
}

// To a model of XGBoost what a line of LIBSVM leaves out is missing, and its columns are
// counted from 0.
func checkSparse(t *testing.T, folder string) {
	files := os.DirFS(folder)
	x := must[*table.Table](t)(table.Open(files, "sparse.rows.svm", nil))
	raw := must[[]byte](t)(os.ReadFile(filepath.Join(folder, "sparse.json")))
	s := SchemaOf(x)
	e := must[*Ensemble](t)(ReadXGBoost(bytes.NewReader(raw), &s))
	e = must[*Ensemble](t)(Read(bytes.NewReader(saved(t, e))))
	if x = must[*table.Table](t)(table.Open(files, "sparse.rows.svm",
		&table.Options{Like: e.Schema.Table()})); x.Missing() == 0 {
		t.Error("nothing is missing")
	}
	compareScores(t, "sparse", must[[]float64](t)(e.Scores(x, nil)),
		readGrid(t, filepath.Join(folder, "sparse.scores.csv")))
	// A model of ours reads zeros.
	if x = must[*table.Table](t)(table.Open(files, "sparse.rows.svm",
		&table.Options{Like: s.Table()})); x.Missing() > 0 {
		t.Errorf("%d cells are missing", x.Missing())
	}
	s.Columns = s.Columns[1:]
	if _, err := ReadXGBoost(bytes.NewReader(raw), &s); !errors.Is(err, ErrXGBoost) {
		t.Errorf("two columns less: %v", err)
	}
}

// XGBoost 3.1 writes base_score as a list.
func TestXGBoostBaseScores(t *testing.T) {
	raw := string(must[[]byte](t)(os.ReadFile("testdata/xgboost/classes.json")))
	for list, want := range map[string][]float64{"5E-1": {.5, .5, .5}, "[5E-1]": {.5, .5, .5},
		"[5E-1,-1E0,2.5E-1]": {.5, -1, .25}, "[5E-1,1E0]": nil, "[]": nil, "[1E0": nil, "[1E0,1E0,NaN]": nil} {
		text := strings.Replace(raw, `"base_score":"5E-1"`, `"base_score":"`+list+`"`, 1)
		e, err := ReadXGBoost(strings.NewReader(text), nil)
		switch {
		case want == nil && (!errors.Is(err, ErrXGBoost) || !strings.Contains(err.Error(), "base_score")):
			t.Errorf("%s: %v", list, err)
		case want != nil && (err != nil || !slices.Equal(e.Start, want)):
			t.Errorf("%s: %v, %v", list, e, err)
		}
	}
	text := strings.Replace(string(must[[]byte](t)(os.ReadFile("testdata/xgboost/binary.json"))),
		`"base_score":"3E-1"`, `"base_score":"[3E-1,3E-1]"`, 1)
	if _, err := ReadXGBoost(strings.NewReader(text), nil); !errors.Is(err, ErrXGBoost) {
		t.Errorf("two for one score: %v", err)
	}
	if _, err := ReadXGBoost(strings.NewReader("{L\x00\x00"), nil); !errors.Is(err, ErrXGBoost) ||
		!strings.Contains(err.Error(), "UBJSON") {
		t.Errorf("the binary form: %v", err)
	}
}

// peer returns the interpreter that has XGBoost, or skips: with the race detector too, which has
// nothing to find in files that are compared.
func peer(t *testing.T) string {
	t.Helper()
	fsttest.OneGoroutine(t)
	for _, python := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(python, "-c", "import xgboost").Run() == nil {
			return python
		}
	}
	t.Skip("no XGBoost (Debian: python3-xgboost); recorded models are still compared")
	return ""
}

func runPeer(t *testing.T, python string, args ...string) {
	t.Helper()
	if out, err := exec.Command(python, append([]string{"testdata/xgboost/make.py"},
		args...)...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
}

func TestXGBoostReadsBack(t *testing.T) {
	python := peer(t)
	folder := t.TempDir()
	runPeer(t, python, "train", folder)
	checkImport(t, folder)
	checkSparse(t, folder)
}

// levelled makes the last column of some data categorical.
func levelled(d *Data, levels int) *Data {
	rng := rand.New(rand.NewPCG(8, 8))
	c := &d.X.Columns[len(d.X.Columns)-1]
	c.Kind, c.Levels = table.Categorical, numbers(levels)
	for i := range c.Values {
		c.Values[i] = float32(rng.IntN(levels))
		if i%11 == 0 {
			c.Values[i] = float32(math.NaN())
		}
	}
	return d
}

func TestXGBoostPredictsWithOurModels(t *testing.T) {
	python := peer(t)
	args := []string{"predict"}
	models, data := map[string]*Ensemble{}, map[string]*Data{}
	root := t.TempDir()
	for name, o := range gradientCases() {
		if name == "huber" || name == "exponential" {
			continue
		}
		d := levelled(caseData(o, 400), map[bool]int{true: 3, false: 90}[name == "default"])
		e, err := trainGradient(d, o)
		if err != nil {
			t.Fatal(err)
		}
		models[name], data[name] = e, d
		folder := filepath.Join(root, name)
		args = append(args, folder)
		var model bytes.Buffer
		if err := errors.Join(os.Mkdir(folder, 0o755), e.WriteXGBoost(&model)); err != nil {
			t.Fatal(err)
		}
		var rows strings.Builder
		for i := range d.X.Rows {
			for j := range d.X.Columns {
				if j > 0 {
					rows.WriteByte(',')
				}
				rows.WriteString(strconv.FormatFloat(float64(d.X.Columns[j].Values[i]), 'g', -1, 32))
			}
			rows.WriteByte('\n')
		}
		if err := errors.Join(os.WriteFile(filepath.Join(folder, "model.json"), model.Bytes(), 0o644),
			os.WriteFile(filepath.Join(folder, "rows.csv"), []byte(rows.String()), 0o644)); err != nil {
			t.Fatal(err)
		}
		back, err := ReadXGBoost(&model, &e.Schema)
		if err != nil {
			t.Fatal(err)
		}
		again, err := back.Scores(d.X, nil)
		if err != nil {
			t.Fatal(err)
		}
		want, _ := e.Scores(d.X, nil)
		for i := range want {
			near(t, name+", read back", again[i], want[i], 1e-6)
		}
	}
	runPeer(t, python, args...)
	for name, e := range models {
		got, err := e.Scores(data[name].X, nil)
		if err != nil {
			t.Fatal(err)
		}
		compareScores(t, name, got, readGrid(t, filepath.Join(root, name, "scores.csv")))
	}
}

func TestXGBoostStartScores(t *testing.T) {
	d := golden()
	for _, start := range []float64{0, 1.25, -30} {
		e, err := trainGradient(d, &GradientOptions{Rounds: 3, Start: []float64{start}, MinWeight: -1})
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := e.WriteXGBoost(&b); err != nil {
			t.Fatal(err)
		}
		back, err := ReadXGBoost(&b, &e.Schema)
		if err != nil {
			t.Fatal(err)
		}
		got, _ := back.Scores(d.X, nil)
		want, _ := e.Scores(d.X, nil)
		for i := range got {
			near(t, "score", got[i], want[i], 1e-6)
		}
	}
}

// TestXGBoostNames: XGBoost's reader decodes no \u escapes, so names must be written without.
func TestXGBoostNames(t *testing.T) {
	d := golden()
	want := "é & >\t\"'\\_____"
	d.X.Columns[0].Name = "é & >\t\"'\\[]<\b\u2028"
	e, err := trainGradient(d, &GradientOptions{Rounds: 1})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := e.WriteXGBoost(&b); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), `\u`) {
		t.Errorf("the file has an escape that XGBoost does not decode: %s", b.String())
	}
	back, err := ReadXGBoost(&b, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := back.Schema.Columns[0].Name; got != want {
		t.Errorf("name %q, want %q", got, want)
	}
}

func TestXGBoostRefuses(t *testing.T) {
	raw, err := os.ReadFile("testdata/xgboost/binary.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, from, to, want string }{
		{"booster", `"gbtree"`, `"gblinear"`, `"gblinear"`},
		{"objective", "binary:logistic", "rank:pairwise", `"rank:pairwise"`},
		{"base", `"base_score":"3E-1"`, `"base_score":"2"`, "base_score"},
		{"columns", `"num_feature":"4","num_target"`, `"num_feature":"1","num_target"`, "of 1"},
		{"children", `"left_children":[1,`, `"left_children":[0,`, "tree 0"},
		{"far child", `"left_children":[1,`, `"left_children":[100000000,`, "tree 0"},
		{"cut", `"version"`, ``, ""},
		{"output", `"tree_info":[0`, `"tree_info":[7`, "output 7"},
		{"parallel", `"num_parallel_tree":"1"`, `"num_parallel_tree":"9223372036854775807"`, "num_parallel_tree"},
		{"split", `"split_indices":[`, `"split_indices":[-3,`, "split_indices"},
	} {
		damaged := strings.Replace(string(raw), c.from, c.to, 1)
		if damaged == string(raw) {
			t.Fatalf("%s: %s is not in the file", c.name, c.from)
		}
		if _, err := ReadXGBoost(strings.NewReader(damaged), nil); !errors.Is(err, ErrXGBoost) &&
			!errors.Is(err, tree.ErrData) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want an error with %q", c.name, err, c.want)
		}
	}
	e, err := ReadXGBoost(bytes.NewReader(raw), nil)
	if err != nil {
		t.Fatal(err)
	}
	e.Loss = Exponential{}
	if err := e.WriteXGBoost(&bytes.Buffer{}); !errors.Is(err, ErrXGBoost) {
		t.Errorf("exponential loss: %v", err)
	}
}

func FuzzReadXGBoost(f *testing.F) {
	for _, name := range xgbCases {
		raw, err := os.ReadFile("testdata/xgboost/" + name + ".json")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var e *Ensemble
		var err error
		fsttest.Allocating(t, 4<<20+512*len(raw), func() { e, err = ReadXGBoost(bytes.NewReader(raw), nil) })
		if err != nil {
			return
		}
		x := gridTable(&e.Schema, [][]float64{make([]float64, len(e.Schema.Columns))})
		for j := range x.Columns {
			x.Columns[j].Values = []float32{float32(math.NaN()), 1}
		}
		x.Rows = 2
		a, err := e.Scores(x, nil)
		if err != nil {
			t.Fatal(err)
		}
		if e.Outputs() > 50 {
			return // a tree for each class is a large file
		}
		var b bytes.Buffer
		if err := e.WriteXGBoost(&b); err != nil {
			return // thresholds and values may be at the ends of what 32 bits hold
		}
		// A file of our own keeps every bit.
		own, err := Read(bytes.NewReader(saved(t, e)))
		if err != nil {
			t.Fatalf("what was saved is not loaded: %v", err)
		}
		same, err := own.Scores(x, nil)
		if err != nil || !slices.EqualFunc(a, same,
			func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) }) {
			t.Fatalf("scores %v became %v: %v", a, same, err)
		}
		if !json.Valid(b.Bytes()) {
			t.Fatal("what was written is not JSON")
		}
		back, err := ReadXGBoost(&b, &e.Schema)
		if err != nil {
			t.Fatalf("what was written is not read: %v", err)
		}
		again, err := back.Scores(x, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range a {
			if size := math.Abs(a[i]); size < 1e6 && math.Abs(again[i]-a[i]) > 1e-5*max(
				1, size)*float64(len(e.Terms)+1) {
				t.Fatalf("score %v became %v", a[i], again[i])
			}
		}
	})
}

// What XGBoost's early stopping noted is there after an import, a file and an export, where the
// model has more rounds; a damaged note is none.
func TestXGBoostBest(t *testing.T) {
	raw, err := os.ReadFile("testdata/xgboost/binary.json")
	if err != nil {
		t.Fatal(err)
	}
	for note, want := range map[string]int{"2": 3, "6": 7, "7": 0, "-1": 0, "x": 0, "99999999999999999999": 0} {
		text := strings.Replace(string(raw), `"best_iteration":"7"`, fmt.Sprintf(`"best_iteration":%q`, note), 1)
		if note != "7" && text == string(raw) {
			t.Fatal("the file has another form")
		}
		e := must[*Ensemble](t)(ReadXGBoost(strings.NewReader(text), nil))
		again := must[*Ensemble](t)(Read(bytes.NewReader(saved(t, e))))
		var out bytes.Buffer
		if err := again.WriteXGBoost(&out); err != nil {
			t.Fatal(err)
		}
		back := must[*Ensemble](t)(ReadXGBoost(&out, nil))
		for _, m := range []*Ensemble{e, again, back} {
			if n, ok := XGBoostBest(m); n != want || ok != (want > 0) || m.Rounds() < 8 {
				t.Errorf("best iteration %s of %d rounds: %d %v", note, m.Rounds(), n, ok)
			}
		}
		// Start scores that are no base_score take an iteration of their own, the first.
		if e.Start[0] = 40; want > 0 {
			out.Reset()
			if err := e.WriteXGBoost(&out); err != nil {
				t.Fatal(err)
			}
			if n, ok := XGBoostBest(must[*Ensemble](t)(ReadXGBoost(&out, nil))); !ok || n != want+1 {
				t.Errorf("best iteration %s after one of leaves: %d %v", note, n, ok)
			}
		}
		if _, ok := XGBoostBest(e.Prefix(2)); ok {
			t.Error("a prefix has rounds beyond its end")
		}
	}
	if _, ok := XGBoostBest(&Ensemble{Algorithm: "rgb", Settings: `{"best_iteration":1}`}); ok {
		t.Error("a model of ours has a best iteration")
	}
}
