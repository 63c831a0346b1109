package table

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func column(values ...float64) *Table {
	t := &Table{Name: "t", Rows: len(values), Target: values, Classes: []string{"a", "b", "c"}}
	return t
}

// isPartition checks that trials of one repetition test on every row once, and
// never on a row they train on.
func isPartition(t *testing.T, trials []Trial, rows int) {
	t.Helper()
	tested := make([]int, rows)
	for _, trial := range trials {
		seen := make([]bool, rows)
		for _, i := range trial.Test {
			tested[i]++
			seen[i] = true
		}
		for _, i := range trial.Train {
			if seen[i] {
				t.Fatalf("row %d is in both parts", i)
			}
			seen[i] = true
		}
		if slices.Contains(seen, false) || !slices.IsSorted(trial.Train) || !slices.IsSorted(trial.Test) {
			t.Fatalf("%d rows to train on and %d to test on, of %d", len(trial.Train), len(trial.Test), rows)
		}
		if trial.Inner != nil {
			var all []int
			for _, f := range trial.InnerFolds() {
				all = append(all, f.Test...)
				if len(f.Train)+len(f.Test) != len(trial.Train) {
					t.Fatal("inner folds do not divide the training rows")
				}
			}
			slices.Sort(all)
			if !slices.Equal(all, trial.Train) {
				t.Fatal("inner folds do not test on the training rows")
			}
		}
	}
	for i, n := range tested {
		if n != 1 {
			t.Fatalf("row %d is tested %d times", i, n)
		}
	}
}

func TestStratified(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{5, 23, 100, 517} {
		values := make([]float64, n)
		for i := range values {
			values[i] = float64(min(2, rng.IntN(6)/2*2/2))
		}
		tab := column(values...)
		if n == 517 {
			tab.Sources, tab.Source = []string{"u", "v"}, make([]int32, n)
			for i := range tab.Source {
				tab.Source[i] = int32(rng.IntN(2))
			}
		}
		if n == 100 {
			tab.Classes = nil
		}
		trials, err := tab.Stratified(5, 3, 2, 7)
		if err != nil {
			t.Fatal(err)
		}
		isPartition(t, trials[:5], n)
		isPartition(t, trials[5:], n)
		labels := tab.Labels()
		count := func(rows []int, l int) (c int) {
			for _, i := range rows {
				if labels[i] == l {
					c++
				}
			}
			return c
		}
		for l := range slices.Max(labels) + 1 {
			total := 0
			for i := range labels {
				if labels[i] == l {
					total++
				}
			}
			for _, trial := range trials {
				if c := count(trial.Test, l); c != total/5 && c != (total+4)/5 {
					t.Errorf("%d of %d rows of stratum %d in one fold of 5", c, total, l)
				}
			}
		}
		again, _ := tab.Stratified(5, 0, 1, 7)
		for f := range again {
			if !slices.Equal(again[f].Test, trials[f].Test) {
				t.Error("folds depend on how many repetitions and inner folds are asked for")
			}
		}
		other, _ := tab.Stratified(5, 3, 2, 8)
		if n > 20 && cmp.Equal(other, trials) {
			t.Error("the seed does nothing")
		}
	}
	if _, err := column(0, 1).Stratified(3, 0, 1, 1); err == nil ||
		err.Error() != "t: 2 rows are fewer than 3 folds" {
		t.Error(err)
	}
	s := column(0, 1, 1, 0)
	s.Source, s.Sources = []int32{0, 0, 0, 1}, []string{"u", "v"}
	if _, err := s.Stratified(2, 0, 1, 1); err == nil ||
		err.Error() != `t: source "v" has 1 rows, fewer than 2 folds` {
		t.Error(err)
	}
	s.Sources = append(s.Sources, "w")
	if err := s.CheckSources(); err == nil || err.Error() != `t: source "w" has no rows` {
		t.Error(err)
	}
	if w, err := column(0, 1, 1).CheckFolds(2); err != nil || len(w) != 2 {
		t.Error(w, err)
	}
}

// What Python 3.11 draws.
func TestPythonRandom(t *testing.T) {
	r := newPythonRandom("sonar/outer/0")
	for _, want := range []uint32{3271811113, 3925715927, 2430667623, 386264788} {
		if got := r.uint32(); got != want {
			t.Fatalf("%d, want %d", got, want)
		}
	}
	for range 1000 {
		r.uint32()
	}
	if got := r.uint32(); got != 503022543 {
		t.Error(got)
	}
	for seed, want := range map[string][]int{"a": {1, 18, 17, 14, 15, 7, 13, 12, 9, 10, 4, 0, 11, 6, 19, 3, 5, 2,
		16, 8}, "": {5, 0, 2, 6, 1, 4, 3}, strings.Repeat("é", 300): {6, 1, 0, 5, 7, 4, 8, 3, 2}} {
		xs := upTo(len(want))
		newPythonRandom(seed).shuffle(xs)
		if !slices.Equal(xs, want) {
			t.Errorf("%q: %v", seed, xs)
		}
	}
	for _, c := range []struct {
		seed string
		n, k int
		want []int
	}{{"s/1", 100, 4, []int{60, 31, 75, 66}}, {"s/1", 1000, 6, []int{485, 254, 604, 532, 293}},
		{"s/2", 5000, 300, []int{2829, 2439, 3363, 2249, 661}}, {"s/2", 1000, 300, []int{730, 353, 304, 420, 665}},
		{"s/3", 21000, 6000, []int{14791, 17982, 12439, 4609, 11382}}} {
		if got := newPythonRandom(c.seed).sample(upTo(c.n), c.k)[:len(c.want)]; !slices.Equal(got, c.want) {
			t.Errorf("%v: %v", c, got)
		}
	}
}

func upTo(n int) []int {
	xs := make([]int, n)
	for i := range xs {
		xs[i] = i
	}
	return xs
}

func formatTrials(trials []Trial, rows int) string {
	lines := make([][]byte, rows)
	for i := range lines {
		lines[i] = []byte(strings.Repeat("x", len(trials)))
	}
	for k, t := range trials {
		for _, i := range t.Test {
			lines[i][k] = '-'
		}
		for j, i := range t.Train {
			lines[i][k] = byte('0' + t.Inner[j])
		}
	}
	var b strings.Builder
	for _, l := range lines {
		fmt.Fprintf(&b, "%s\n", l)
	}
	return b.String()
}

func TestTrials(t *testing.T) {
	label := make([]int, 61)
	for i := range label {
		label[i] = i % 3 % 2
	}
	trials := MakeTrials("x", label, 2)
	isPartition(t, trials[:5], len(label))
	isPartition(t, trials[5:], len(label))
	text := formatTrials(trials, len(label))
	got, err := ReadTrials(strings.NewReader("# a comment\n"+text), "cv", len(label))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(trials, got); d != "" {
		t.Error(d)
	}
	for text, want := range map[string]string{
		"":           "cv: there are no rows",
		"0-\n-1":     "cv: 2 rows, but the table has 3",
		"0-\n-\n00":  "cv:2: 1 characters where there should be one for each of 2 trials",
		"0-\n-x\n00": "cv:2: 'x' is neither - nor a digit",
		"00\n-0\n01": "cv: trial 2 has 3 rows to train on and 0 to test on",
	} {
		if _, err := ReadTrials(strings.NewReader(text), "cv", 3); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func TestSourceSplits(t *testing.T) {
	s, err := ReadSourceSplits(strings.NewReader(
		"## c\nsource\tlabel\tfold\tfold_sub\ttrials\tfile\trow\n1\t+1\t0\t-\t-0\ta\t0\n0\t-1\t-\t-\t--\ta\t1\n2\t-1\t1\t0\t1-\tb\t0\n"), "src")
	if err != nil {
		t.Fatal(err)
	}
	want := &SourceSplits{Source: []int{1, 0, 2}, Label: []int{1, -1, -1}, File: []string{"a", "a", "b"},
		Row: []int{0, 1, 0}, Fold: map[string][]int{"fold": {0, -1, 1}, "fold_sub": {-1, -1, 0}},
		Trials: []Trial{{Train: []int{2}, Test: []int{0}, Inner: []int{1}},
			{Train: []int{0}, Test: []int{2}, Inner: []int{0}}}}
	if d := cmp.Diff(want, s); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]Trial{{Train: []int{2}, Test: []int{0}}, {Train: []int{0}, Test: []int{2}}},
		ByFold(s.Fold["fold"])); d != "" {
		t.Error(d)
	}
	for text, want := range map[string]string{
		"source\tlabel\tfile\n":                         `src:1: there is no column "row" (the columns are "source", "label", "file")`,
		"source\tlabel\tfile\trow\n1\t1\ta\n":           `src:2: 3 fields where there should be 4`,
		"source\tlabel\tfile\trow\n1\t2\ta\t0\n":        `src:2: column "label": "2" is neither +1 nor -1`,
		"source\tlabel\tfile\trow\n-1\t1\ta\t0\n":       `src:2: column "source": "-1" cannot be`,
		"source\tlabel\tfile\trow\tfold\n1\t1\ta\t0\tx": `src:2: column "fold": "x" cannot be`,
	} {
		if _, err := ReadSourceSplits(strings.NewReader(text), "src"); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	source, label := make([]int, 200), make([]int, 200)
	for i := range source {
		source[i], label[i] = i%4, i%7%2
	}
	fold := MakeSourceFolds("m", source, label, 10)
	for i, f := range fold {
		if (f < 0) != (source[i] == 0) {
			t.Fatal(i, f)
		}
	}
	sub, err := MakeSourceSample("m", source, 30)
	if err != nil {
		t.Fatal(err)
	}
	for k := 1; k <= 3; k++ {
		n := 0
		for i, s := range sub {
			if s == k {
				n++
				if source[i] != k {
					t.Fatal("a row changed its source")
				}
			}
		}
		if n != 30 {
			t.Error(n)
		}
	}
	if _, err := MakeSourceSample("m", source, 51); err == nil {
		t.Error("more rows than there are")
	}
	for _, trial := range MakeSourceTrials("m", source, label, 3) {
		if len(trial.Test) != 30 || len(trial.Train) != 120 || len(trial.Inner) != 120 {
			t.Error(len(trial.Test), len(trial.Train), len(trial.Inner))
		}
	}
}

func FuzzReadTrials(f *testing.F) {
	f.Add([]byte("0-\n-1\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		trials, err := ReadTrials(strings.NewReader(string(data)), "cv", -1)
		if err != nil {
			return
		}
		rows := len(trials[0].Train) + len(trials[0].Test)
		for _, x := range trials { // each row is on one side of each trial
			all := slices.Sorted(slices.Values(slices.Concat(x.Train, x.Test)))
			if len(all) != rows || all[0] != 0 || all[rows-1] != rows-1 || len(slices.Compact(all)) != rows ||
				len(x.Inner) != len(x.Train) {
				t.Fatalf("%+v of %d rows", x, rows)
			}
		}
		again, err := ReadTrials(strings.NewReader(formatTrials(trials, rows)), "cv", rows)
		if err != nil || !cmp.Equal(trials, again) {
			t.Fatal(err)
		}
	})
}

func FuzzReadSourceSplits(f *testing.F) {
	f.Add([]byte("source\tlabel\tfold\ttrials\tfile\trow\n1\t+1\t0\t0-\ta\t0\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := ReadSourceSplits(strings.NewReader(string(data)), "src")
		if err != nil {
			return
		}
		n := len(s.Source)
		if len(s.Label) != n || len(s.Row) != n || len(s.File) != n {
			t.Fatal("lengths differ")
		}
		// Written again it reads back equal.
		var b strings.Builder
		folds := slices.Sorted(maps.Keys(s.Fold))
		b.WriteString("source\tlabel\tfile\trow")
		for _, name := range folds {
			b.WriteString("\t" + name)
		}
		trials := []string(nil)
		if s.Trials != nil {
			b.WriteString("\ttrials")
			trials = strings.Split(formatTrials(s.Trials, n), "\n")
		}
		for i := range n {
			fmt.Fprintf(&b, "\n%d\t%d\t%s\t%d", s.Source[i], s.Label[i], s.File[i], s.Row[i])
			for _, name := range folds {
				if len(s.Fold[name]) != n {
					t.Fatalf("%d rows of %q, there are %d", len(s.Fold[name]), name, n)
				}
				fmt.Fprintf(&b, "\t%d", s.Fold[name][i])
			}
			if trials != nil {
				b.WriteString("\t" + strings.ReplaceAll(trials[i], "x", "-")) // of source 0 rows take no part
			}
		}
		again, err := ReadSourceSplits(strings.NewReader(b.String()), "src")
		if err != nil || !cmp.Equal(s, again) {
			t.Fatalf("%q: %v %s", b.String(), err, cmp.Diff(s, again))
		}
	})
}

// Rows of weight 0 are as if they were not there: the others are divided as in the table
// without them.
func TestDivisionsLeaveOutRowsOfWeightZero(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	values := make([]float64, 60)
	tab := column(values...)
	tab.Weight, tab.Sources, tab.Source = make([]float64, 60), []string{"u", "v"}, make([]int32, 60)
	var rows []int
	for i := range values {
		tab.Target[i], tab.Source[i], tab.Weight[i] = float64(rng.IntN(3)), int32(rng.IntN(2)), float64(rng.IntN(3))
		if tab.Weight[i] > 0 {
			rows = append(rows, i)
		}
	}
	got, err := tab.Stratified(3, 2, 2, 9)
	if err != nil {
		t.Fatal(err)
	}
	want, err := tab.Subset(rows).Stratified(3, 2, 2, 9)
	if err != nil {
		t.Fatal(err)
	}
	for n := range want {
		want[n].Train, want[n].Test = pick(rows, want[n].Train), pick(rows, want[n].Test)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if same, err := tab.Usable(got, true); err != nil || !cmp.Equal(same, got) {
		t.Errorf("%v: %v are divided into %v", err, got, same)
	}
	if _, err := column(0, 1, 1).Usable([]Trial{{Train: []int{0, 1}, Inner: []int{0, 0}, Test: []int{2}}},
		false); err != nil {
		t.Errorf("inner folds that nobody needs: %v", err)
	}
	// Trials of another origin, here a file, may hold them.
	all := []Trial{{Train: []int{0, 1, 2}, Inner: []int{0, 1, 1}, Test: []int{3}},
		{Train: []int{2, 3}, Test: []int{0, 1}}}
	for _, c := range []struct {
		weight []float64
		want   string
	}{
		{[]float64{1, 1, 0, 1}, ""},
		{[]float64{1, 1, 1, 0}, "t: trial 1 has 3 rows to train on and 0 to test on, rows of weight 0 left out"},
		{[]float64{1, 0, 0, 1}, "t: inner fold 0 of trial 1 has 0 rows to train on and 1 to test on"},
		{[]float64{0, 0, 1, 1}, "t: inner fold 0 of trial 1 has 1 rows to train on and 0 to test on, rows of " +
			"weight 0 left out"},
	} {
		u := column(0, 1, 1, 0)
		u.Weight = c.weight
		got, err := u.Usable(all, true)
		switch {
		case c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)):
			t.Errorf("weights %v: %v, want %s", c.weight, err, c.want)
		case c.want == "" && (err != nil || !cmp.Equal(
			got, []Trial{{Train: []int{0, 1}, Inner: []int{0, 1}, Test: []int{3}},
				{Train: []int{3}, Test: []int{0, 1}}})):
			t.Errorf("weights %v: %v, %v", c.weight, got, err)
		}
	}
}
