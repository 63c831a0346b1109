package experiment

import (
	"fmt"
	"io/fs"

	"github.com/tropica-fst/tropica/learn/dataset/table"
)

// Table31Names are the data sets of table 3.1 of the thesis, in its order.
// "semeion-even" is one more, not of the thesis: even digits against odd ones.
var Table31Names = []string{"sonar", "cancer", "diabetes", "ocr17", "ocr49", "mnist17", "mnist49", "higgs"}

// Table31Sets returns the data sets of table 3.1 in a data folder, those named, or all of
// Table31Names. The positive class is Classes[1].
//
// The folder has uci/sonar.csv, uci/breast-cancer-wisconsin.csv, uci/pima-diabetes.csv,
// mnist/ocr17-14x14.csv and ocr49 (the first column is not a feature). It also has the four IDX
// files of MNIST in mnist/, higgs/higgs-small.csv, semeion/semeion.csv, and trials in
// splits/cv-NAME.txt. Any of them may be compressed. A set whose files are missing lists them in
// Lacks.
//
// mnist17 and mnist49 are the digits of the pair, those of the training file first. Each image is
// cut to the box of its nonzero pixels. The box is put into 20 by 20 with (20-h)/2 rows above and
// (20-w)/2 columns to the left.
func Table31Sets(data fs.FS, names ...string) ([]Set, error) {
	d := folder{data}
	var sets []Set
	for _, s := range []struct {
		name, note, file, target, positive string
		drop                               []string
	}{
		{"sonar", "", "uci/sonar.csv", "class", "M", nil},
		{"cancer", "", "uci/breast-cancer-wisconsin.csv", "class", "4", nil},
		{"diabetes", "", "uci/pima-diabetes.csv", "class", "1", nil},
		{"ocr17", "made again from MNIST, 1000 images of each digit; not the thesis' sample",
			"mnist/ocr17-14x14.csv.gz", "class", "1", []string{"mnist_train_index"}},
		{"ocr49", "made again from MNIST, 1000 images of each digit; not the thesis' sample",
			"mnist/ocr49-14x14.csv.gz", "class", "4", []string{"mnist_train_index"}},
	} {
		sets = append(sets, d.tableSet(s.name, s.note, s.file,
			&table.Options{Target: s.target, Drop: s.drop, Task: table.Classification},
			func(t *table.Table) error { return t.SetPositive(s.positive) }))
	}
	for _, p := range []struct {
		name        string
		first, then byte
	}{{"mnist17", 1, 7}, {"mnist49", 4, 9}} {
		sets = append(sets, d.set(p.name, "", mnistFiles("mnist"),
			func() (*table.Table, error) { return d.mnistPair(p.name, p.first, p.then) }))
	}
	sets = append(sets, d.tableSet("higgs", "10,984 real rows where the thesis has 98,050",
		"higgs/higgs-small.csv.gz", &table.Options{Target: "label", Task: table.Classification},
		func(t *table.Table) error { return t.SetPositive("1") }))
	all := len(sets)
	sets = append(sets, d.tableSet("semeion-even", "not in the thesis", "semeion/semeion.csv.gz",
		&table.Options{Target: "class", Task: table.Classification}, evenOdd))
	if len(names) == 0 {
		return sets[:all], nil
	}
	return choose(sets, func(s Set) string { return s.Name }, names)
}

// set completes a Set from the function that reads its table.
func (d folder) set(name, note string, files []string, load func() (*table.Table, error)) Set {
	return Set{
		Name: name, Note: note, Lacks: d.lacks(files),
		Load: func() (*table.Table, []table.Trial, error) {
			if err := d.need(name, files); err != nil {
				return nil, nil, err
			}
			t, err := load()
			if err != nil {
				return nil, nil, err
			}
			trials, err := d.trials(name, t)
			return t, trials, err
		},
		Fresh: func(t *table.Table,
			seed string) []table.Trial {
			return table.MakeTrials(name+"/"+seed, t.Labels(), 2)
		},
	}
}

func (d folder) tableSet(name, note, file string, o *table.Options, after func(*table.Table) error) Set {
	return d.set(name, note, []string{file}, func() (*table.Table, error) {
		t, err := d.table(file, o)
		if err != nil {
			return nil, err
		}
		return t, after(t)
	})
}

// evenOdd makes two classes of ten digits, the even ones positive.
func evenOdd(t *table.Table) error {
	for i, y := range t.Target {
		digit := t.Classes[int(y)]
		even := false
		switch digit {
		case "0", "2", "4", "6", "8":
			even = true
		case "1", "3", "5", "7", "9":
		default:
			return fmt.Errorf("experiment: %s: class %q is not a digit", t.At(i), digit)
		}
		t.Target[i] = 0
		if even {
			t.Target[i] = 1
		}
	}
	t.Classes = []string{"odd", "even"}
	return nil
}

// mnistFiles are the four files of MNIST or Fashion-MNIST.
func mnistFiles(dir string) []string {
	return []string{dir + "/train-images-idx3-ubyte.gz", dir + "/train-labels-idx1-ubyte.gz",
		dir + "/t10k-images-idx3-ubyte.gz", dir + "/t10k-labels-idx1-ubyte.gz"}
}

// digits reads all images of the training and the test file, in this order; train is
// how many are of the first.
func (d folder) digits(dir string) (pixels [][]byte, height, width int, label []byte, train int, err error) {
	f := mnistFiles(dir)
	pixels, height, width, label, err = d.images(f[0], f[1])
	if err != nil {
		return nil, 0, 0, nil, 0, err
	}
	more, h, w, l, err := d.images(f[2], f[3])
	if err != nil {
		return nil, 0, 0, nil, 0, err
	}
	if h != height || w != width {
		return nil, 0, 0, nil, 0, fmt.Errorf("experiment: %s: images of %d by %d, in %s of %d by %d", f[2], h, w,
			f[0], height, width)
	}
	return append(pixels, more...), height, width, append(label, l...), len(pixels), nil
}

func (d folder) mnistPair(name string, positive, other byte) (*table.Table, error) {
	pixels, h, w, label, _, err := d.digits("mnist")
	if err != nil {
		return nil, err
	}
	var images [][]byte
	var target []float64
	for i, l := range label {
		if l != positive && l != other {
			continue
		}
		box, ok := centred(pixels[i], h, w, 20)
		if !ok {
			return nil, fmt.Errorf("experiment: mnist: image %d has marks wider or higher than 20 pixels", i)
		}
		images = append(images, box)
		if l == positive {
			target = append(target, 1)
		} else {
			target = append(target, 0)
		}
	}
	if len(images) == 0 {
		return nil, fmt.Errorf("experiment: %s: no images of the digits %d and %d", name, positive, other)
	}
	return pixelTable(name, images, target, []string{fmt.Sprint(other), fmt.Sprint(positive)}), nil
}

// centred puts the box of the pixels that are not zero into a square.
func centred(image []byte, h, w, side int) ([]byte, bool) {
	top, bottom, left, right := h, -1, w, -1
	for y := range h {
		for x := range w {
			if image[y*w+x] != 0 {
				top, bottom = min(top, y), max(bottom, y)
				left, right = min(left, x), max(right, x)
			}
		}
	}
	out := make([]byte, side*side)
	if bottom < 0 {
		return out, true
	}
	bh, bw := bottom-top+1, right-left+1
	if bh > side || bw > side {
		return nil, false
	}
	for y := range bh {
		at := (y+(side-bh)/2)*side + (side-bw)/2
		copy(out[at:at+bw], image[(top+y)*w+left:])
	}
	return out, true
}
