package experiment

import (
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/skpca"
)

// SKPCANames are the data sets of the comparison of projections.
var SKPCANames = []string{"sonar", "cancer", "diabetes", "semeion-even", "ocr49", "nuisance-1", "nuisance-2",
	"nuisance-5", "nuisance-10", "mnist49-patch"}

// SKPCASets returns the data sets of the comparison of projections in a data folder, those named or
// all. Five are those of table 3.1. nuisance-S are 500 rows drawn: two columns decide the class,
// four say nothing and have S times their standard deviation. mnist49-patch are 3000 images of 4
// and 9 from MNIST's training file, each with a square of 6 by 6 pixels at full brightness at a
// random position.
func SKPCASets(data fs.FS, names ...string) ([]Set, error) {
	sets, err := Table31Sets(data, "sonar", "cancer", "diabetes", "semeion-even", "ocr49")
	if err != nil {
		return nil, err
	}
	drawn := func(name, note string, lacks []string, load func() (*table.Table, error)) Set {
		return Set{Name: name, Note: note, Lacks: lacks,
			Load: func() (*table.Table, []table.Trial, error) {
				t, err := load()
				if err != nil {
					return nil, nil, err
				}
				return t, table.MakeTrials(name, t.Labels(), 1), nil
			},
			Fresh: func(t *table.Table, seed string) []table.Trial {
				return table.MakeTrials(name+"/"+seed, t.Labels(), 1)
			},
		}
	}
	for _, scale := range []float64{1, 2, 5, 10} {
		sets = append(sets, drawn(fmt.Sprintf("nuisance-%g", scale), "drawn", nil,
			func() (*table.Table, error) { return nuisance(scale), nil }))
	}
	d := folder{data}
	sets = append(sets, drawn("mnist49-patch", "MNIST with patches", d.lacks(mnistFiles("mnist")),
		func() (*table.Table, error) { return d.patches(3000) }))
	return choose(sets, func(s Set) string { return s.Name }, names)
}

// nuisance draws the rows of nuisance-S.
func nuisance(scale float64) *table.Table {
	const n = 500
	rng := rand.New(rand.NewPCG(math.Float64bits(scale), 11))
	t := &table.Table{Name: fmt.Sprintf("nuisance-%g", scale), Rows: n, TargetName: "class",
		Classes: []string{"-1", "+1"}, Target: make([]float64, n)}
	for j := range 6 {
		t.Columns = append(t.Columns, table.Column{Name: fmt.Sprintf("x%d", j+1), Values: make([]float32, n)})
	}
	for i := range n {
		for j := range t.Columns {
			v := rng.NormFloat64()
			if j > 1 {
				v *= scale
			}
			t.Columns[j].Values[i] = float32(v)
		}
		a, b := float64(t.Columns[0].Values[i]), float64(t.Columns[1].Values[i])
		if a+b*b-1+0.2*rng.NormFloat64() > 0 {
			t.Target[i] = 1
		}
	}
	return t
}

// patches returns the first images of 4 and 9 with a patch each, as numbers from 0 to 1.
func (d folder) patches(most int) (*table.Table, error) {
	pixels, h, w, label, train, err := d.digits("mnist")
	if err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(4, 9))
	var images [][]byte
	var target []float64
	for i := 0; i < train && len(images) < most; i++ {
		if label[i] != 4 && label[i] != 9 {
			continue
		}
		image := append([]byte(nil), pixels[i]...)
		y, x := rng.IntN(h-5), rng.IntN(w-5)
		for r := range 6 {
			for c := range 6 {
				image[(y+r)*w+x+c] = 255
			}
		}
		images, target = append(images, image), append(target, float64((9-int(label[i]))/5))
	}
	t := pixelTable("mnist49-patch", images, target, []string{"9", "4"})
	for j := range t.Columns {
		for i := range t.Columns[j].Values {
			t.Columns[j].Values[i] /= 255
		}
	}
	return t, nil
}

// family is a list of base kernels with what their eigenfunctions depend on.
type family struct {
	name    string
	options skpca.Options
}

// families returns the kernels for a set: those on all columns, uncentred and centred, and
// those of groups of columns.
func families(name string, columns int) []family {
	global := []string{"linear", "gaussian:0.25", "gaussian:0.5", "gaussian:1", "gaussian:2", "polynomial:2:1",
		"polynomial:3:1"}
	raw := strings.HasPrefix(name, "nuisance") || name == "mnist49-patch"
	out := []family{{"all columns", skpca.Options{Kernels: global, Raw: raw}},
		{"all columns, centred", skpca.Options{Kernels: global, Raw: raw, Centre: true}}}
	groups := skpca.Options{Kernels: []string{"linear", "gaussian:0.5", "gaussian:1"}, Raw: raw}
	switch {
	case name == "mnist49-patch":
		groups.Kernels, groups.Groups = []string{"gaussian:1"}, squares(28, 4)
	case name == "ocr49":
		groups.Kernels, groups.Groups = []string{"gaussian:1"}, squares(14, 2)
	case name == "semeion-even":
		groups.Kernels, groups.Groups = []string{"gaussian:1"}, squares(16, 2)
	case columns <= 12:
		groups.Kernels, groups.Groups = []string{"linear", "gaussian:1"}, []string{"each"}
	default: // runs of neighbours
		for j := 0; j < columns; j += (columns + 5) / 6 {
			groups.Groups = append(groups.Groups, fmt.Sprintf("%d-%d", j+1, min(columns, j+(columns+5)/6)))
		}
		groups.Kernels = []string{"gaussian:0.5", "gaussian:1"}
	}
	out = append(out, family{"groups of columns", groups})
	if name == "mnist49-patch" { // small ones: each can give one feature
		blocks := skpca.Options{Kernels: []string{"linear"}, Groups: squares(28, 7), Raw: true}
		out = append(out, family{"blocks of pixels", blocks})
		blocks.Centre = true
		out = append(out, family{"blocks of pixels, centred", blocks})
	}
	return out
}

// squares lists the pixels of parts by parts squares of an image of a side.
func squares(side, parts int) []string {
	size := side / parts
	var out []string
	for r := range parts {
		for c := range parts {
			var rows []string
			for y := range size {
				from := (r*size+y)*side + c*size
				rows = append(rows, fmt.Sprintf("%d-%d", from+1, from+size))
			}
			out = append(out, strings.Join(rows, "+"))
		}
	}
	return out
}
