package run

import (
	"fmt"
	"testing"
)

// A keyTable numbers keys as a map would, the empty one and prefixes of others included.
func TestKeyTable(t *testing.T) {
	var table KeyTable
	want := map[string]int32{}
	for i := range 5000 {
		key := fmt.Sprintf("%0*d", i%7, i*i%1009)
		if i%100 == 0 {
			key = ""
		}
		w, known := want[key]
		if !known {
			w = int32(len(want))
			want[key] = w
		}
		if k, isNew := table.ID([]byte(key)); k != w || isNew == known {
			t.Fatalf("key %q: number %d (new: %v), want %d (new: %v)", key, k, isNew, w, !known)
		}
	}
	for key, w := range want {
		if got := string(table.Key(w)); got != key {
			t.Errorf("number %d is key %q, want %q", w, got, key)
		}
	}
}
