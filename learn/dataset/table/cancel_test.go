package table_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tropica-fst/tropica/learn/dataset/table"
	"github.com/tropica-fst/tropica/learn/run/runtest"
)

// Wherever reading is cancelled, it ends with the context's error, or is complete.
func TestReadCancelled(t *testing.T) {
	var csv, svm strings.Builder
	csv.WriteString("a,b,c,d,y\n")
	for i := range 40000 {
		fmt.Fprintf(&csv, "%d,%d,%d,%c,%d\n", i%977, i%13, i%7, 'u'+i%3, i%2)
		fmt.Fprintf(&svm, "%d %d:1 %d:2\n", i%2, 1+i%97, 100+i%997)
	}
	images, err := os.ReadFile(filepath.Join("..", "..", "..", "testdata", "tables", "mnist",
		"t10k-images-idx3-ubyte.gz"))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		text string
		o    table.Options
	}{
		"x.csv":     {csv.String(), table.Options{Target: "y"}},
		"dense.svm": {svm.String(), table.Options{Storage: table.DenseStorage}},
		"x.svm":     {svm.String(), table.Options{Storage: table.SparseStorage}},
		"x.idx.gz":  {string(images), table.Options{}},
	} {
		whole, err := table.Read(strings.NewReader(c.text), name, &c.o)
		if err != nil {
			t.Fatal(err)
		}
		stopped := 0
		for n := 0; ; n = n + 1 + n/2 {
			o := c.o
			ctx := runtest.NewCountdown(n)
			o.Ctx = ctx
			got, err := table.Read(strings.NewReader(c.text), name, &o)
			if err == nil {
				if whole.Fingerprint(whole.Target) != got.Fingerprint(got.Target) {
					t.Errorf("%s: another table under a context", name)
				}
				break
			}
			var e *table.Error
			if got != nil && err == nil || !errors.Is(err, context.Canceled) || !errors.As(err, &e) {
				t.Fatalf("%s after %d looks: %v", name, n, err)
			}
			stopped++
		}
		if stopped < 5 {
			t.Errorf("%s: the context was looked at %d times", name, stopped)
		}
	}
}

// A reader that waits for input is not waited for.
func TestReadCancelledWhileWaiting(t *testing.T) {
	r, w := io.Pipe()
	defer w.Close()
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		w.Write([]byte("a,y\n1,2\n"))
		cancel()
	}()
	done := make(chan error)
	go func() {
		_, err := table.Read(r, "x.csv", &table.Options{Ctx: ctx})
		done <- err
	}()
	select {
	case err := <-done:
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("still reading")
	}
}
