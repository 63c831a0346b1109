package boost

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/run"
)

// Models of an earlier program, which began RGB at 0, give the scores that it wrote down. Its
// checkpoints were of a kind of their own, and are refused.
func TestEarlierFiles(t *testing.T) {
	read := func(name string) []byte { return must[[]byte](t)(os.ReadFile("testdata/earlier/" + name)) }
	x := must[*table.Table](t)(table.Read(bytes.NewReader(read("table.csv")), "table.csv",
		&table.Options{Target: "y"}))
	for _, name := range []string{"rgb", "gb"} {
		e := must[*Ensemble](t)(Read(bytes.NewReader(read(name + ".model"))))
		scores := must[[]float64](t)(e.Scores(x, nil))
		for i, line := range strings.Fields(string(read(name + ".csv")))[1:] {
			if want := must[float64](t)(strconv.ParseFloat(line, 64)); scores[i] != want {
				t.Errorf("%s: score of row %d is %v, it was %v", name, i+1, scores[i], want)
			}
		}
		_, err := run.ReadCheckpoint(bytes.NewReader(read(name + ".checkpoint")))
		if err == nil || !strings.Contains(err.Error(), "an earlier program wrote it") {
			t.Errorf("%s: the checkpoint: %v", name, err)
		}
	}
}
