package experiment

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// idx makes an IDX file of bytes.
func idx(data []byte, dims ...int) *fstest.MapFile {
	b := []byte{0, 0, 8, byte(len(dims))}
	for _, d := range dims {
		b = binary.BigEndian.AppendUint32(b, uint32(d))
	}
	return &fstest.MapFile{Data: append(b, data...)}
}

// corruptedFolder has small files of two tasks: images whose class is where they are bright, and
// words.
func corruptedFolder(t *testing.T) fstest.MapFS {
	t.Helper()
	fsys := fstest.MapFS{}
	rng := rand.New(rand.NewPCG(1, 1))
	f := mnistFiles("fashion-mnist")
	for part, n := range []int{200, 100} {
		pixels, labels := make([]byte, n*12*12), make([]byte, n)
		for i := range n {
			labels[i] = byte(rng.IntN(10))
			for k := range 144 {
				v := rng.IntN(120)
				if k/12 == int(labels[i]) {
					v += 130
				}
				pixels[i*144+k] = byte(v)
			}
		}
		fsys[strings.TrimSuffix(f[2*part], ".gz")], fsys[strings.TrimSuffix(f[2*part+1],
			".gz")] = idx(pixels, n, 12, 12), idx(labels, n)
	}
	for _, part := range []string{"train", "test"} {
		b, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "testdata", "g2p", "ice_"+part+".tsv"))
		if err != nil {
			t.Fatal(err)
		}
		fsys["g2p/dut_"+part+".tsv"] = &fstest.MapFile{Data: b}
	}
	return fsys
}

// Every method has a figure in every draw, figures do not depend on workers, known draws are not
// made again, and tasks without files are named.
func TestCorrupted(t *testing.T) {
	fsys := corruptedFolder(t)
	var saved []CorruptedDraw
	o := &CorruptedOptions{Repeats: 2, Train: 100, Test: 60, Workers: 1,
		Kinds: []string{"flips", "blur 1.5", "annotation"},
		Save:  func(d *CorruptedDraw) error { saved = append(saved, *d); return nil }}
	r, err := Corrupted(t.Context(), fsys, o)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Missing) != 2 || !strings.Contains(r.Missing[0], "cifar") || len(r.Tasks) != 2 {
		t.Fatalf("missing %v", r.Missing)
	}
	for i := range r.Tasks {
		task := &r.Tasks[i]
		for _, d := range task.Draws {
			for _, m := range task.Methods {
				e, ok := d.Errors[m]
				_, found := d.Areas[m]
				if want := d.Level > 0 && !strings.HasPrefix(d.Kind, "blur") && m != "oracle"; !ok ||
					!(e >= 0 && e <= 200) || found != want {
					t.Errorf("%s %s %v: %s errs %v, area there: %v", task.Task, d.Kind, d.Level, m, e, found)
				}
			}
		}
		kind := map[string]string{"fashion": "flips", "g2p": "annotation"}[task.Task]
		level := map[string]float64{"fashion": 0.2, "g2p": 0.2}[task.Task]
		for _, m := range []string{huberName(0.2), confidence} {
			for _, a := range task.areas(kind, level, m) {
				if a < 0.65 {
					t.Errorf("%s: %s finds what is corrupted with an area of %v", task.Task, m, a)
				}
			}
		}
	}
	o.Known, o.Save = saved, func(d *CorruptedDraw) error { t.Errorf("%+v is made again", d); return nil }
	again, err := Corrupted(t.Context(), fsys, o)
	if err != nil || !cmp.Equal(r, again) {
		t.Errorf("known draws give %v: %s", err, cmp.Diff(r, again))
	}
	one := &CorruptedOptions{Tasks: []string{"fashion"}, Kinds: []string{"flips"}, Repeats: 1, Train: 100,
		Test: 60, Workers: 3}
	other, err := Corrupted(t.Context(), fsys, one)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range other.Tasks[0].Draws {
		if i := slices.IndexFunc(saved, func(s CorruptedDraw) bool { return cmp.Equal(s, d) }); i < 0 {
			t.Errorf("with three workers draw %+v is another", d)
		}
	}
	var text, table bytes.Buffer
	if err := r.WriteTable(&text); err != nil {
		t.Fatal(err)
	}
	if err := r.WriteCSV(&table); err != nil {
		t.Fatal(err)
	}
	if s := text.String(); !strings.Contains(s, "self-confidence") || !strings.Contains(s, "blur 1.5") ||
		strings.Contains(s, "NaN") {
		t.Error(s)
	}
	if n := strings.Count(table.String(), "\n"); n < 200 {
		t.Errorf("%d lines of CSV", n)
	}
	names, charts := r.Charts()
	if !slices.Equal(names, []string{"fashion-flips", "fashion-blur-1.5", "g2p-annotation"}) {
		t.Errorf("charts %v", names)
	}
	for _, c := range charts {
		if err := c.Write(&table); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []*CorruptedOptions{{Tasks: []string{"cifar"}}, {Tasks: []string{"mnist"}},
		{Train: 3}, {Tasks: []string{"g2p"}, Kinds: []string{"flips"}}} {
		if _, err := Corrupted(t.Context(), fsys, bad); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}

func TestCorruptions(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	for range 200 {
		for i, v := range deranged(rng, 10) {
			if i == v {
				t.Fatal("a derangement has a fixed point")
			}
		}
		y := []string{"a", "b", "a", "c"}
		if slices.Equal(relabelled(rng, y, []string{"a", "b", "c"}), y) ||
			slices.Equal(misspoken(rng, y, []string{"a", "b", "c"}), y) ||
			len(misspoken(rng, y[:1], y)) == 0 {
			t.Fatal("what is corrupted is as it was")
		}
		if !slices.Equal(y, []string{"a", "b", "a", "c"}) {
			t.Fatal("the original is changed")
		}
	}
	// A plane without borders keeps its sum; the variance of a point is the square of the radius.
	const n = 41
	plane := make([]float64, n*n)
	plane[20*n+20] = 1
	blur(plane, n, n, 1.5)
	sum, second := 0.0, 0.0
	for i, v := range plane {
		sum += v
		second += v * float64((i/n-20)*(i/n-20))
	}
	if math.Abs(sum-1) > 1e-12 || math.Abs(second-1.5*1.5) > 0.08 {
		t.Errorf("blurred, a point has sum %v and variance %v", sum, second)
	}
	// Ties count half; multipliers come first, then losses.
	bad := []bool{true, false, true, false}
	if a := area([]float64{1, 1, 1, 1}, []float64{0, 0, 0, 0}, bad); a != 0.5 {
		t.Errorf("all alike: %v", a)
	}
	if a := area([]float64{3, 2, 1, 0}, []float64{1, 1, 2, 0}, bad); a != 1 {
		t.Errorf("all found: %v", a)
	}
}
