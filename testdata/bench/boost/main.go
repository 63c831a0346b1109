// Command boost is our side of the comparison with XGBoost: see README.md.
//
//	boost NAME ROWS.f32 LABELS.u8 THREADS POLICY ALGORITHM
//
// It prints one line of tab-separated numbers, as peer.py does.
package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"runtime/pprof"
	"strconv"
	"syscall"
	"time"

	"github.com/tropica-fst/tropica/learn/boost"
	"github.com/tropica-fst/tropica/learn/boost/tree"
	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/optim/score"
	"github.com/tropica-fst/tropica/learn/run"
)

func main() {
	if err := measure(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// watch measures wall clock and processor time.
type watch struct {
	wall time.Time
	cpu  float64
}

func start() watch { return watch{time.Now(), processor()} }

func (w watch) stop() (wall, cpu float64) { return time.Since(w.wall).Seconds(), processor() - w.cpu }

func processor() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return math.NaN()
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

func measure(args []string) error {
	if len(args) != 6 {
		return fmt.Errorf("usage: boost NAME ROWS.f32 LABELS.u8 THREADS depth6|leaves64 gb|rgb|rgb-default")
	}
	workers, err := strconv.Atoi(args[3])
	if err != nil {
		return err
	}
	d, err := load(args[1], args[2])
	if err != nil {
		return err
	}
	if path := os.Getenv("CPUPROFILE"); path != "" {
		f, err := os.Create(path)
		if err != nil {
			return err
		}
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	// Binning alone, then a whole run, binning included.
	w := start()
	if _, err := tree.NewBins(d.X, &tree.BinOptions{Workers: workers}); err != nil {
		return err
	}
	bins, binsCPU := w.stop()
	w = start()
	var e *boost.Ensemble
	switch args[5] {
	case "gb":
		o := &boost.GradientOptions{Rounds: 100, LearningRate: 0.1, Depth: 6, MinRows: 1, Start: []float64{0}}
		if args[4] == "leaves64" {
			o.Depth, o.Leaves = 0, 64
		}
		e, _, err = boost.TrainGradient(d, o, &run.Control{Workers: workers})
	case "rgb":
		e, _, err = boost.TrainRGB(d, &boost.RGBOptions{Rounds: 100, Candidates: 5,
			Families:  boost.Grid([]int{4, 8, 16, 32, 63}, boost.ThesisLambdas),
			RowSample: 1, ColumnSample: 1, Score: boost.Training}, &run.Control{Workers: workers})
	case "rgb-default":
		e, _, err = boost.TrainRGB(d, &boost.RGBOptions{Rounds: 100}, &run.Control{Workers: workers})
	default:
		return fmt.Errorf("the algorithm is gb, rgb or rgb-default, not %q", args[5])
	}
	if err != nil {
		return err
	}
	total, totalCPU := w.stop()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return err
	}
	best, bestCPU := math.Inf(1), math.Inf(1)
	var scores []float64
	for range 3 {
		w = start()
		if scores, err = e.Scores(d.X, &boost.PredictOptions{Workers: workers}); err != nil {
			return err
		}
		wall, cpu := w.stop()
		best, bestCPU = min(best, wall), min(bestCPU, cpu)
	}
	fmt.Printf("%s\t%s\t%d\t%s\tbins\t%.3f\t%.3f\ttrain\t%.3f\t%.3f\tpredict\t%.4f\t%.4f\tpeak-mb\t%d\terror\t%.5f\n", args[0], args[4], workers, args[5],
		bins, binsCPU, total, totalCPU, best, bestCPU, u.Maxrss/1024, score.ErrorRate(e.Loss, d.Y, nil, scores))
	return nil
}

// load reads rows of little-endian float32 and labels of one byte each.
func load(rows, labels string) (*boost.Data, error) {
	y, err := os.ReadFile(labels)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(rows)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	m := len(y)
	if m == 0 || info.Size()%int64(4*m) != 0 {
		return nil, fmt.Errorf("%s: %d bytes are not %d rows of float32", rows, info.Size(), m)
	}
	n := int(info.Size()) / 4 / m
	d := &boost.Data{X: &table.Table{Name: rows, Rows: m, Columns: make([]table.Column, n)}, Y: make([]float64, m)}
	for j := range d.X.Columns {
		d.X.Columns[j] = table.Column{Name: "f" + strconv.Itoa(j), Values: make([]float32, m)}
	}
	const step = 1000
	buf := make([]byte, 4*n*step)
	for i := 0; i < m; i += step {
		part := buf[:4*n*min(step, m-i)]
		if _, err := io.ReadFull(f, part); err != nil {
			return nil, err
		}
		for k := range len(part) / 4 {
			d.X.Columns[k%n].Values[i+k/n] = math.Float32frombits(binary.LittleEndian.Uint32(part[4*k:]))
		}
	}
	for i, v := range y {
		d.Y[i] = 2*float64(v) - 1
	}
	return d, nil
}
