package experiment

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/fstest"
)

// One draw of each: fewer kernels than KOMP at the same error, and a search over widths and
// centres that is better than any one width.
func TestSparseSignals(t *testing.T) {
	o := &SparseOptions{Ctx: context.Background(), Repeats: 1, Seed: 3}
	s, err := SparseWidths(o)
	if err != nil {
		t.Fatal(err)
	}
	best := 1e9
	for _, r := range s.Rows[3:] {
		best = min(best, r[1].(float64))
	}
	if r := s.Rows[0]; r[1].(float64) > best || r[4].(float64) > 12 {
		t.Errorf("MSE %v with %v kernels; of one width %v", r[1], r[4], best)
	}
	var known []SparseDraw
	o.Save = func(d *SparseDraw) error { known = append(known, *d); return nil }
	if s, err = SparseKOMP(o); err != nil {
		t.Fatal(err)
	}
	// Draws of an earlier run are not made again, unless they are damaged.
	damaged := append([]SparseDraw{}, known...)
	damaged[3].Values = damaged[3].Values[:1]
	made := 0
	again := *o
	again.Known, again.Save = damaged, func(*SparseDraw) error { made++; return nil }
	if other, err := SparseKOMP(&again); err != nil || made != 1 || fmt.Sprint(other) != fmt.Sprint(s) {
		t.Errorf("%d draws were made again: %v, %v", made, err, other)
	}
	fewer := 0
	for _, r := range s.Rows {
		if r[3].(float64) < r[4].(float64) {
			fewer++
		}
	}
	if len(s.Rows) != 9 || fewer < 8 {
		t.Errorf("fewer kernels than KOMP in %d of %d", fewer, len(s.Rows))
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := SparseSmoothness(&SparseOptions{Ctx: ctx, Repeats: 1}); err == nil {
		t.Error("a cancelled context made a table")
	}
}

// The readers of rooms and digits, on data made up.
func TestSparseData(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var rooms strings.Builder
	rooms.WriteString("r1,r2,r3,r4,r5,r6,r7,room\n")
	for i := range 120 {
		room := i % 4
		for j := range 7 {
			fmt.Fprintf(&rooms, "%.1f,", float64(-50-10*((room+j)%4))+rng.NormFloat64())
		}
		fmt.Fprintln(&rooms, room+1)
	}
	idx := func(dims []uint32, data []byte) *fstest.MapFile {
		var b bytes.Buffer
		b.Write([]byte{0, 0, 8, byte(len(dims))})
		for _, d := range dims {
			if err := binary.Write(&b, binary.BigEndian, d); err != nil {
				t.Fatal(err)
			}
		}
		b.Write(data)
		return &fstest.MapFile{Data: b.Bytes()}
	}
	data := fstest.MapFS{"uci/wifi-localization.csv": {Data: []byte(rooms.String())}}
	for part, n := range map[string]int{"train": 60, "t10k": 30} {
		var pixels, labels []byte
		for i := range n {
			for j := range 16 {
				v := byte(rng.IntN(60))
				if j == i%10 {
					v = 255
				}
				pixels = append(pixels, v)
			}
			labels = append(labels, byte(i%10))
		}
		data["mnist/"+part+"-images-idx3-ubyte"] = idx([]uint32{uint32(n), 4, 4}, pixels)
		data["mnist/"+part+"-labels-idx1-ubyte"] = idx([]uint32{uint32(n)}, labels)
	}
	o := &SparseOptions{Ctx: context.Background(), Seed: 1}
	s, err := SparseRooms(o, data)
	if err != nil {
		t.Fatal(err)
	}
	if r := s.Rows[0]; r[1].(float64) < 99 || r[3].(float64) > 40 {
		t.Errorf("rooms: %v", r)
	}
	if s, err = SparseDigits(o, &DigitOptions{Centres: 3}, data); err != nil {
		t.Fatal(err)
	}
	if r := s.Rows[0]; r[1].(float64) < 90 {
		t.Errorf("digits: %v", r)
	}
	if _, err := SparseRooms(o, fstest.MapFS{}); err == nil {
		t.Error("rooms without data")
	}
}
