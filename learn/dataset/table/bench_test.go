package table_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/tropica-fst/tropica/learn/dataset/table"
)

// numeric is a table of rows by 28 numbers of 8 or so digits, with a class.
func numeric(rows int) []byte {
	rng := rand.New(rand.NewPCG(5, 5))
	var b []byte
	for j := range 28 {
		b = append(b, fmt.Sprintf("x%d,", j)...)
	}
	b = append(b, "y\n"...)
	for range rows {
		for range 28 {
			b = strconv.AppendFloat(b, rng.NormFloat64(), 'f', 7, 64)
			b = append(b, ',')
		}
		b = append(b, "01"[rng.IntN(2)], '\n')
	}
	return b
}

func BenchmarkRead(b *testing.B) {
	for _, rows := range []int{100_000, 1_000_000} {
		data := numeric(rows)
		for _, workers := range []int{1, 2} {
			b.Run(fmt.Sprintf("format=csv/rows=%d/workers=%d", rows, workers), func(b *testing.B) {
				b.SetBytes(int64(len(data)))
				b.ReportAllocs()
				for b.Loop() {
					t, err := table.Read(bytes.NewReader(data), "b.csv", &table.Options{Target: "y", Workers: workers})
					if err != nil || t.Rows != rows {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
