package experiment

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/tropica-fst/tropica/learn/dataset/table"
)

var smallTables = os.DirFS("../../../../testdata/tables")

func TestTable31Sets(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing in it runs side by side")
	}
	for name, want := range map[string]string{
		"sonar": "208 60 0 [97 111]", "cancer": "699 9 16 [458 241]", "ocr17": "2000 196 0 [1000 1000]",
		"ocr49": "2000 196 0 [1000 1000]",
		"higgs": "2000 28 0 [964 1036]", "semeion-even": "1593 256 0 [796 797]", "mnist49": "3500 784 0",
	} {
		sets, err := Table31Sets(smallTables, name)
		if err != nil {
			t.Fatal(err)
		}
		got, trials, err := sets[0].Load()
		if err != nil {
			t.Error(err)
			continue
		}
		if name == "mnist49" {
			if len(got.Columns) != 400 || got.Classes[1] != "4" || got.Rows < 600 {
				t.Error(len(got.Columns), got.Classes, got.Rows)
			}
		} else if s := fmt.Sprint(got.Rows, len(got.Columns), got.Missing(), got.ClassCounts()); s != want {
			t.Errorf("%s: %s, want %s", name, s, want)
		}
		fresh := sets[0].Fresh(got, "1")
		if len(trials) != 10 || len(fresh) != 10 || cmp.Equal(trials, fresh) ||
			!cmp.Equal(fresh, sets[0].Fresh(got, "1")) {
			t.Errorf("%s: %d trials, %d fresh", name, len(trials), len(fresh))
		}
	}
	sets, err := Table31Sets(smallTables)
	if err != nil || len(sets) != len(Table31Names) {
		t.Fatal(len(sets), err)
	}
	for k, s := range sets {
		if s.Name != Table31Names[k] || (len(s.Lacks) > 0) != (s.Name == "diabetes") {
			t.Error(s.Name, s.Lacks)
		}
	}
	if _, _, err := sets[2].Load(); err == nil || !errors.Is(err, fs.ErrNotExist) ||
		err.Error() != "experiment: diabetes: the data folder has no uci/pima-diabetes.csv: file does not exist" {
		t.Error(err)
	}
	if _, err := Table31Sets(smallTables, "sonra"); err == nil ||
		!strings.Contains(err.Error(), "there are sonar, cancer") {
		t.Error(err)
	}
}

// Trials come from the folder when it has them, and must be of these rows.
func TestTrialsOfFolder(t *testing.T) {
	data := fstest.MapFS{
		"uci/sonar.csv":          {Data: []byte("a,class\n1,M\n2,R\n3,M\n4,R\n")},
		"splits/cv-sonar.txt.gz": {Data: []byte("-0\n0-\n-1\n1-\n")},
	}
	sets, _ := Table31Sets(data, "sonar")
	got, trials, err := sets[0].Load()
	if err != nil {
		t.Fatal(err)
	}
	want := []table.Trial{{Train: []int{1, 3}, Test: []int{0, 2}, Inner: []int{0, 1}},
		{Train: []int{0, 2}, Test: []int{1, 3}, Inner: []int{0, 1}}}
	if d := cmp.Diff(want, trials); d != "" || !slices.Equal(got.Target, []float64{1, 0, 1, 0}) {
		t.Error(d, got.Target)
	}
	data["splits/cv-sonar.txt.gz"].Data = []byte("-0\n0-\n-1\n")
	if _, _, err := sets[0].Load(); err == nil || !strings.Contains(err.Error(), "3 rows, but the table has 4") {
		t.Error(err)
	}
}

func TestTable41Sets(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing in it runs side by side")
	}
	for name, want := range map[string]string{
		"adult": "45222 108 [10628 14783 19811]", "adult-noedu": "45222 91 [10628 14783 19811]",
		"fashion": "2000 784",
	} {
		sets, err := Table41Sets(smallTables, name)
		if err != nil {
			t.Fatal(err)
		}
		got, trials, err := sets[0].Load()
		if err != nil {
			t.Error(err)
			continue
		}
		s := fmt.Sprint(got.Rows, len(got.Columns), got.SourceCounts())
		if !strings.HasPrefix(s, want) || len(trials) != 10 || got.Classes[1] != "+1" || got.CheckSources() != nil {
			t.Errorf("%s: %s, want %s; %v", name, s, want, got.CheckSources())
		}
		for _, folds := range [][]table.Trial{trials, sets[0].Fresh(got, "x")} {
			tested := make([]int, got.Rows)
			for _, trial := range folds {
				perSource := make([]int, 3)
				for _, i := range trial.Test {
					tested[i]++
					perSource[got.Source[i]]++
				}
				for k, n := range got.SourceCounts() {
					if perSource[k] != n/10 && perSource[k] != (n+9)/10 {
						t.Errorf("%s: %d of %d rows of source %d in one fold of 10", name, perSource[k], n, k)
					}
				}
			}
			if slices.Min(tested) != 1 || slices.Max(tested) != 1 {
				t.Errorf("%s: rows are tested %d to %d times", name, slices.Min(tested), slices.Max(tested))
			}
		}
	}
	sets, err := Table41Sets(smallTables, "fashion-sub", "sentiment")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := sets[0].Load(); err == nil || !strings.Contains(err.Error(), "fewer than 6000") {
		t.Error(err)
	}
	if _, _, err := sets[1].Load(); !errors.Is(err, fs.ErrNotExist) || len(sets[1].Lacks) != 3 {
		t.Error(err)
	}
}

// Splits that speak of other rows are refused.
func TestSplitsOfOtherRows(t *testing.T) {
	head := "age,education,education_num,income\n"
	var b bytes.Buffer
	b.WriteString("source\tlabel\tfold\tfile\trow\n")
	b.WriteString("1\t+1\t0\ttrain\t0\n2\t-1\t0\ttrain\t1\n3\t+1\t1\ttest\t0\n0\t-1\t-\ttest\t1\n")
	data := fstest.MapFS{
		"uci/adult-train.csv":  {Data: []byte(head + "1,Masters,9,>50K\n2,HS-grad,8,<=50K\n")},
		"uci/adult-test.csv":   {Data: []byte(head + "3,11th,7,>50K\n4,?,7,<=50K\n")},
		"splits/src-adult.tsv": {Data: b.Bytes()},
	}
	sets, _ := Table41Sets(data, "adult")
	got, trials, err := sets[0].Load()
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]table.Trial{{Test: []int{0, 1}, Train: []int{2}}, {Test: []int{2}, Train: []int{0, 1}}},
		trials); d != "" || got.Rows != 3 {
		t.Error(d, got.Rows)
	}
	data["splits/src-adult.tsv"].Data = bytes.Replace(b.Bytes(), []byte("2\t-1"), []byte("3\t-1"), 1)
	if _, _, err := sets[0].Load(); err == nil || !strings.Contains(err.Error(), "row 2 of the file of "+
		"splits is row 1 of train, source 3, label -1; in the data it is row 1 of train, source 2, label -1") {
		t.Error(err)
	}
}

func TestTable5Sets(t *testing.T) {
	sets, err := Table5Sets(smallTables)
	if err != nil || len(sets) != 3 {
		t.Fatal(err)
	}
	for k, want := range []string{"2500 1000 784 10", "1500 500 784 10", "32561 16281 108 2"} {
		train, test, err := sets[k].Load()
		if err != nil {
			t.Fatal(err)
		}
		if s := fmt.Sprint(train.Rows, test.Rows, len(train.Columns), len(train.Classes)); s != want {
			t.Errorf("%s: %s, want %s", sets[k].Name, s, want)
		}
		if k < 2 {
			continue
		}
		sum, sq := 0.0, 0.0
		for _, v := range train.Columns[train.Column("age")].Values {
			sum += float64(v)
			sq += float64(v) * float64(v)
		}
		if n := float64(train.Rows); sum/n > 1e-6 || sum/n < -1e-6 || sq/n < 1-1e-6 || sq/n > 1+1e-6 {
			t.Error(sum/n, sq/n)
		}
	}
}

func TestCentred(t *testing.T) {
	image := make([]byte, 6*6)
	image[1*6+4], image[3*6+5] = 7, 9 // a box of 3 by 2
	got, ok := centred(image, 6, 6, 4)
	want := []byte{0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0}
	if !ok || !bytes.Equal(got, want) {
		t.Error(got, ok)
	}
	image[0] = 1
	if _, ok := centred(image, 6, 6, 4); ok {
		t.Error("a box of 4 by 6 was put into 4 by 4")
	}
	if got, ok := centred(make([]byte, 4), 2, 2, 1); !ok || got[0] != 0 {
		t.Error("an empty image")
	}
}

func TestWords(t *testing.T) {
	if got := strings.Join(words("A don't\u00c9a X2... A DON'T"),
		"|"); got != "a|a don't|a x2|don't|don't a|x2|x2 a" {
		t.Error(got)
	}
}

// Fresh trials of sources are drawn with the seed: others for each, none of them the usual ones,
// and a seed gives the same again. The rule needs no files.
func TestFreshSources(t *testing.T) {
	x := &table.Table{Name: "x", Rows: 600, Target: make([]float64, 600), Source: make([]int32, 600),
		Sources: []string{"a", "b", "c"}}
	source, label := make([]int, 600), make([]int, 600)
	for i := range x.Rows {
		x.Source[i], x.Target[i] = int32(i%3), float64(i/3%2)
		source[i], label[i] = i%3+1, 2*(i/3%2)-1
	}
	for _, name := range append([]string{"adult-noedu", "fashion-sub"}, Table41Names...) {
		sets, err := Table41Sets(fstest.MapFS{}, name)
		if err != nil {
			t.Fatal(err)
		}
		one, two := sets[0].Fresh(x, "1"), sets[0].Fresh(x, "2")
		seeds := name
		if name == "adult-noedu" {
			seeds = "adult"
		}
		usual := table.ByFold(table.MakeSourceFolds(seeds, source, label, 10))
		if name == "sentiment" {
			usual = table.MakeSourceTrials(seeds, source, label, 10)
		}
		if len(one) != 10 || !reflect.DeepEqual(one, sets[0].Fresh(x, "1")) || reflect.DeepEqual(one, two) ||
			reflect.DeepEqual(one, usual) || reflect.DeepEqual(two, usual) {
			t.Errorf("%s: %d trials; seeds 1 and 2 give the same: %v; the usual ones: %v", name, len(one),
				reflect.DeepEqual(one, two), reflect.DeepEqual(one, usual))
		}
	}
}
