package boost

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/model"
)

// Every cut and every changed byte of a model file is seen.
func TestAlteredFiles(t *testing.T) {
	d := mixed(rand.New(rand.NewPCG(1, 1)), 60)
	e := must[*Ensemble](t)(trainRGB(d, &RGBOptions{Rounds: 2}))
	raw := saved(t, e)
	for n := 0; n < len(raw); n += 7 {
		if _, err := Read(bytes.NewReader(raw[:n])); !errors.Is(err, model.ErrFormat) {
			t.Fatalf("cut at %d: %v", n, err)
		}
		bad := slices.Clone(raw)
		bad[n] ^= 4
		if _, err := Read(bytes.NewReader(bad)); err == nil {
			t.Fatalf("byte %d changed, not seen", n)
		}
	}
	var b bytes.Buffer
	newer := model.New(fileKind, fileVersion+1)
	if err := newer.Write(&b); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(&b); !errors.Is(err, model.ErrVersion) {
		t.Errorf("newer: %v", err)
	}
	b.Reset()
	if err := model.New("g2p", 1).Write(&b); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(&b); !errors.Is(err, model.ErrKind) {
		t.Errorf("another kind: %v", err)
	}
}

// Files with a right checksum and wrong contents are errors, not panics.
func TestForgedFiles(t *testing.T) {
	d := mixed(rand.New(rand.NewPCG(2, 1)), 80)
	e := must[*Ensemble](t)(trainRGB(d, &RGBOptions{Rounds: 6}))
	sets := 0
	forge := func(change func(c *model.Container)) error {
		c, err := model.Read(bytes.NewReader(saved(t, e)), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := c.Shape("tree_sets"); ok {
			sets++
		}
		change(c)
		var b bytes.Buffer
		if err := c.Write(&b); err != nil {
			t.Fatal(err)
		}
		loaded, err := Read(&b)
		if err == nil {
			_, err = loaded.Scores(d.X, nil)
		}
		return err
	}
	if err := forge(func(*model.Container) {}); err != nil {
		t.Fatal(err)
	}
	if sets == 0 {
		t.Fatal("the model has no categorical split")
	}
	rng := rand.New(rand.NewPCG(3, 1))
	for _, name := range []string{"output", "family", "round", "predictor", "tree_feature", "tree_left",
		"tree_right", "tree_set"} {
		for _, v := range []int32{-2, math.MinInt32, math.MaxInt32, 1 << 20} {
			err := forge(func(c *model.Container) {
				x, err := model.Get[int32](c, name)
				if err != nil {
					t.Fatal(err)
				}
				x[rng.IntN(len(x))] = v
			})
			if err == nil && !(name == "tree_set" && v < 0) && !(name == "tree_feature" && v < 0) &&
				!(name == "round" && v > 0) {
				t.Errorf("%s = %d: no error", name, v)
			}
		}
	}
	for _, name := range []string{"weight", "factor", "tree_value", "tree_threshold"} {
		if err := forge(func(c *model.Container) {
			x, err := model.Get[float64](c, name)
			if err != nil {
				t.Fatal(err)
			}
			for i := range x {
				x[i] = math.NaN()
			}
		}); !errors.Is(err, model.ErrFormat) {
			t.Errorf("%s = NaN: %v", name, err)
		}
	}
	for _, name := range []string{"tree_nodes", "tree_sets"} {
		for _, v := range []int64{-1, 1 << 40} {
			if err := forge(func(c *model.Container) {
				x, _ := model.Get[int64](c, name)
				x[len(x)/2] = v
			}); !errors.Is(err, model.ErrFormat) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	for _, name := range []string{"weight", "output", "tree_left", "tree_value", "tree_flags"} {
		if err := forge(func(c *model.Container) {
			if name == "weight" || name == "tree_value" {
				model.Put(c, name, []float64{1})
			} else if name == "tree_flags" {
				model.Put(c, name, []uint8{1})
			} else {
				model.Put(c, name, []int32{0})
			}
		}); err == nil {
			t.Errorf("%s too short: no error", name)
		}
	}
}

// A user's predictor goes through files once its type is registered.
func TestUsersPredictor(t *testing.T) {
	d := golden()
	family := Family{Lambda: 1, Learner: lineLearner{},
		Complexity: func(_, m int) float64 { return math.Sqrt(2 / float64(m)) }}
	o := &RGBOptions{Families: []Family{family, {Splits: 1, Lambda: 1}}, Rounds: 12}
	e := must[*Ensemble](t)(trainRGB(d, o))
	kinds := map[string]int{}
	for _, term := range e.Terms {
		p := term.Predictor
		if s, ok := p.(Scaled); ok {
			p = s.Of
		}
		kinds[fmt.Sprintf("%T", p)]++
	}
	if len(kinds) != 2 {
		t.Fatalf("predictors of kinds %v", kinds)
	}
	f := must[[]float64](t)(e.Scores(d.X, nil))
	again := must[*Ensemble](t)(Read(bytes.NewReader(saved(t, e))))
	if g := must[[]float64](t)(again.Scores(d.X, nil)); !slices.Equal(f, g) {
		t.Errorf("scores %v after reload, %v before", g, f)
	}
	var b bytes.Buffer
	e.Terms[0].Predictor = constant(1)
	if err := e.Write(&b); err == nil {
		t.Error("a predictor of unknown type was saved")
	}
}

// line is the function slope x + offset, clipped to [-2, 2], of the first column.
type line1 struct{ Slope, Offset float64 }

func (l line1) at(x float32) float64 { return min(max(l.Slope*float64(x)+l.Offset, -2), 2) }
func (l line1) Predict(dst []float64, x *table.Table, from int) {
	for i := range dst {
		dst[i] = l.at(x.Columns[0].Values[from+i])
	}
}
func (l line1) MarshalBinary() ([]byte, error) {
	b := binary.LittleEndian.AppendUint64(nil, math.Float64bits(l.Slope))
	return binary.LittleEndian.AppendUint64(b, math.Float64bits(l.Offset)), nil
}

func init() {
	RegisterPredictor("test-line", func(b []byte) (line1, error) {
		if len(b) != 16 {
			return line1{}, model.ErrFormat
		}
		return line1{math.Float64frombits(binary.LittleEndian.Uint64(b)),
			math.Float64frombits(binary.LittleEndian.Uint64(b[8:]))}, nil
	})
}

type lineLearner struct{}

func (lineLearner) Name() string                           { return "line" }
func (lineLearner) Prepare(d *Data, _ int) (Fitter, error) { return lineFitter{d}, nil }

type lineFitter struct{ d *Data }

// Fit is least squares of -G on the first column.
func (f lineFitter) Fit(_ context.Context, p *Direction) (*Fit, error) {
	var n, sx, sy, sxx, sxy float64
	values := f.d.X.Columns[0].Values
	add := func(i int) {
		x, y := float64(values[i]), -p.G[i]
		n, sx, sy, sxx, sxy = n+1, sx+x, sy+y, sxx+x*x, sxy+x*y
	}
	if p.Rows == nil {
		for i := range values {
			add(i)
		}
	}
	for _, i := range p.Rows {
		add(int(i))
	}
	l := line1{Slope: (n*sxy - sx*sy) / max(n*sxx-sx*sx, 1e-9)}
	l.Offset = (sy - l.Slope*sx) / n
	fit := &Fit{Predictor: l, Values: make([]float64, len(values))}
	l.Predict(fit.Values, f.d.X, 0)
	return fit, nil
}
