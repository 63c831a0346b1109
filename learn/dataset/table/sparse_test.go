package table_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tropica-fst/tropica/learn/dataset/table"
)

// svm writes rows of random entries; some are 0, some nan.
func svm(rng *rand.Rand, rows, columns, entries int) string {
	var b strings.Builder
	for i := range rows {
		fmt.Fprintf(&b, "%d", i%2)
		list := rng.Perm(columns)[:entries]
		slices.Sort(list)
		for _, j := range list {
			switch rng.IntN(12) {
			case 0:
				fmt.Fprintf(&b, " %d:0", j+1)
			case 1:
				fmt.Fprintf(&b, " %d:nan", j+1)
			default:
				fmt.Fprintf(&b, " %d:%d", j+1, rng.IntN(7)-3)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// A file read sparse and read dense is the same table, and so is all that is made of it.
func TestSparseIsDense(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	same := func(what string, dense, sparse *table.Table) {
		t.Helper()
		if sparse.Sparse == nil || dense.Sparse != nil {
			t.Fatalf("%s: dense %v, sparse %v", what, dense.Sparse, sparse.Sparse)
		}
		if err := sparse.CheckSparse(); err != nil {
			t.Fatal(what, err)
		}
		got, err := sparse.Dense(0)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(dense, got, cmpopts.EquateNaNs()); d != "" {
			t.Fatal(what, d)
		}
		if dense.Missing() != sparse.Missing() {
			t.Errorf("%s: %d missing, %d in the sparse one", what, dense.Missing(), sparse.Missing())
		}
		a, b := make([]float32, len(dense.Columns)), make([]float32, len(dense.Columns))
		for i := range dense.Rows {
			if d := cmp.Diff(dense.Row(i, a), sparse.Row(i, b), cmpopts.EquateNaNs()); d != "" {
				t.Fatal(what, i, d)
			}
		}
		for j := range dense.Columns {
			from := rng.IntN(dense.Rows)
			part := make([]float32, rng.IntN(dense.Rows-from)+1)
			sparse.Fill(part, j, from)
			if d := cmp.Diff(dense.Columns[j].Values[from:from+len(part)], part, cmpopts.EquateNaNs()); d != "" {
				t.Fatal(what, d)
			}
			if dense.Varies(j) != sparse.Varies(j) || dense.HasMissing(j) != sparse.HasMissing(j) {
				t.Errorf("%s: column %d: varies %v, %v, misses %v, %v", what, j, dense.Varies(j), sparse.Varies(j),
					dense.HasMissing(j), sparse.HasMissing(j))
			}
		}
	}
	for _, absent := range []bool{false, true} {
		text := svm(rng, 60, 40, 5)
		dense := read(t, text, "x.svm", &table.Options{Storage: table.DenseStorage, AbsentMissing: absent})
		sparse := read(t, text, "x.svm", &table.Options{Storage: table.SparseStorage, AbsentMissing: absent})
		same("read", dense, sparse)
		if d := cmp.Diff(said(dense), said(sparse)); d != "" {
			t.Error(d)
		}
		rows := []int{5, 5, 59, 0, 31, 5}
		same("subset", dense.Subset(rows), sparse.Subset(rows))
		rows = []int{1, 2, 2, 7, 50}
		same("ascending subset", dense.Subset(rows), sparse.Subset(rows))
		other := svm(rng, 7, 30, 4)
		same("like", read(t, other, "p.svm", &table.Options{Storage: table.DenseStorage, Like: dense.Schema()}),
			read(t, other, "p.svm", &table.Options{Storage: table.SparseStorage, Like: sparse.Schema()}))
		values := make([]float32, 60)
		for i := range values {
			values[i] = float32(i % 3)
		}
		values[7] = float32(math.NaN())
		for _, j := range []int{0, 17, len(dense.Columns) - 1} {
			same("other column", dense.WithColumn(j, values), sparse.WithColumn(j, values))
		}
		if sparse.Fingerprint() == sparse.WithColumn(3, values).Fingerprint() {
			t.Error("the fingerprint sees no entries")
		}
		both, err := table.Concat(sparse, dense)
		if err != nil || both.Rows != 120 {
			t.Error(both, err)
		}
	}
}

// Large files of few entries are sparse; where they are needed dense, they are refused at once.
func TestStorage(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var b strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&b, "%d %d:1 %d:2\n", i%2, 1+rng.IntN(1000), 100000+rng.IntN(100000))
	}
	x := read(t, b.String(), "x.svm", nil)
	if x.Sparse == nil || len(x.Sparse.Rows) != 6000 || x.Columns[0].Values != nil {
		t.Fatal("not sparse")
	}
	want := "x.svm: 3000 rows of 199"
	if _, err := table.Read(strings.NewReader(b.String()), "x.svm",
		&table.Options{Storage: table.DenseStorage}); err == nil || !strings.HasPrefix(err.Error(), want) ||
		!strings.Contains(err.Error(), " are 2.4 GB when every cell is kept, and only 6000 cells have a value") {
		t.Error(err)
	}
	if _, err := x.Dense(0); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Error(err)
	}
	if x := read(t, "1 1:1\n0 2000:1\n", "x.svm", nil); x.Sparse != nil {
		t.Error("a small table is sparse")
	}
}
