package table_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/tropica-fst/tropica/learn/dataset/table"
)

// numeric is a table of rows by 28 numbers, written as strconv.AppendFloat has it, with a class.
func numeric(rows int, format byte, digits int) []byte {
	rng := rand.New(rand.NewPCG(5, 5))
	var b []byte
	for j := range 28 {
		b = append(b, fmt.Sprintf("x%d,", j)...)
	}
	b = append(b, "y\n"...)
	for range rows {
		for range 28 {
			b = strconv.AppendFloat(b, rng.NormFloat64(), format, digits, 64)
			b = append(b, ',')
		}
		b = append(b, "01"[rng.IntN(2)], '\n')
	}
	return b
}

// A million rows of CSV, 296 MB in a file, took 0.71 to 0.81 s of processor time and 260 MB at
// most; 1.0 s by the clock with one worker, on a machine whose two cores were busy with other work.
// Numbers of 17 digits (552 MB) took 1.03 to 1.15 s of processor time, of 19 (716 MB) 1.21 to 1.31.
// Of the samples of a profile with two workers 88 % are in the parsers, 6 % in joining columns,
// which is divided too, and 6 % in what only the caller's goroutine does. Columns that grew as
// blocks came, in place of blocks kept to the end, allocated 940 MB for a table of 112 MB; now it
// is 350.
func BenchmarkRead(b *testing.B) {
	for _, rows := range []int{100_000, 1_000_000} {
		data := numeric(rows, 'f', 7)
		for _, workers := range []int{1, 2} {
			b.Run(fmt.Sprintf("format=csv/rows=%d/workers=%d", rows, workers), func(b *testing.B) {
				readAll(b, data, "b.csv", rows, &table.Options{Target: "y", Workers: workers})
			})
		}
	}
	for _, c := range []struct {
		digits, precision int
		format            byte
	}{{17, -1, 'g'}, {19, 18, 'e'}} { // as programs write float64, and as numpy.savetxt does
		data := numeric(100_000, c.format, c.precision)
		b.Run(fmt.Sprintf("format=csv/rows=100000/digits=%d", c.digits), func(b *testing.B) {
			readAll(b, data, "b.csv", 100_000, &table.Options{Target: "y", Workers: 1})
		})
	}
	const rows = 60000
	pixels := make([]byte, rows*784)
	rng := rand.New(rand.NewPCG(6, 6))
	for i := range pixels {
		pixels[i] = byte(rng.Uint32())
	}
	images := idx(8, pixels, rows, 28, 28)
	b.Run(fmt.Sprintf("format=idx/rows=%d", rows),
		func(b *testing.B) { readAll(b, images, "b-idx3-ubyte", rows, nil) })
	var svm []byte
	for i := range rows {
		svm = append(svm, "01"[i%2])
		for j := range 200 {
			if rng.IntN(8) == 0 {
				svm = fmt.Appendf(svm, " %d:%.4f", j+1, rng.Float64())
			}
		}
		svm = append(svm, '\n')
	}
	b.Run(fmt.Sprintf("format=libsvm/rows=%d", rows), func(b *testing.B) { readAll(b, svm, "b.svm", rows, nil) })
}

func readAll(b *testing.B, data []byte, name string, rows int, o *table.Options) {
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		t, err := table.Read(bytes.NewReader(data), name, o)
		if err != nil || t.Rows != rows {
			b.Fatal(err)
		}
	}
}
