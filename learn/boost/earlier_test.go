package boost

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/learn/dataset/table"
)

// Models and checkpoints of an earlier program, which began RGB at 0, load; the models give the
// scores that it wrote down, and the checkpoints, of four rounds, go on to its models of six.
func TestEarlierFiles(t *testing.T) {
	read := func(name string) []byte { return must[[]byte](t)(os.ReadFile("testdata/earlier/" + name)) }
	x := must[*table.Table](t)(table.Read(bytes.NewReader(read("table.csv")), "table.csv",
		&table.Options{Target: "y"}))
	d := must[*Data](t)(NewData(x, Logistic{}))
	for name, train := range map[string]func(c Control) (*Ensemble, error){
		"rgb": func(c Control) (*Ensemble, error) {
			return TrainRGB(d, &RGBOptions{Rounds: 6, ZeroStart: true, Seed: 1, Control: c})
		},
		"gb": func(c Control) (*Ensemble, error) {
			return TrainGradient(d, &GradientOptions{Rounds: 6, Depth: 3, MinRows: 1, Seed: 1, Control: c})
		},
	} {
		e := must[*Ensemble](t)(Read(bytes.NewReader(read(name + ".model"))))
		scores := must[[]float64](t)(e.Scores(x, nil))
		for i, line := range strings.Fields(string(read(name + ".csv")))[1:] {
			if want := must[float64](t)(strconv.ParseFloat(line, 64)); scores[i] != want {
				t.Errorf("%s: score of row %d is %v, it was %v", name, i+1, scores[i], want)
			}
		}
		c := must[*Checkpoint](t)(ReadCheckpoint(bytes.NewReader(read(name + ".checkpoint"))))
		again := must[*Ensemble](t)(train(Control{Resume: c}))
		if d := SettingsDifference(e.Settings, again.Settings); d != "" {
			t.Errorf("%s: settings: %s", name, d)
		}
		again.Settings = e.Settings // in which the order of names differs
		if !bytes.Equal(saved(t, again), read(name+".model")) {
			t.Errorf("%s: the checkpoint does not go on to the model of the unbroken run", name)
		}
	}
}
