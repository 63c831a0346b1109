package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/cmd/internal/cli"
)

// A picture that no viewer shows is written all the same, with a warning.
func TestDrawSVGTooLargeToShow(t *testing.T) {
	for _, n := range []int{100, 15000} {
		rng := rand.New(rand.NewPCG(1, 1))
		var text strings.Builder
		for q := range n {
			fmt.Fprintf(&text, "%d %d 1 2\n%d %d 3 4\n", q, q+1, q, rng.IntN(n))
		}
		fmt.Fprintln(&text, n)
		binary := filepath.Join(t.TempDir(), "binary.fst")
		if status := run([]string{"fst", "compile", "-", binary},
			cli.Streams{In: strings.NewReader(text.String())}); status != 0 {
			t.Fatal(status)
		}
		var out, errs bytes.Buffer
		status := run([]string{"fst", "draw", "--format=svg", binary}, cli.Streams{Out: &out, Err: &errs})
		large := out.Len() > mostShown
		if status != 0 || large != (n > 100) || strings.Contains(
			errs.String(), fmt.Sprintf("WARNING: fstdraw: the picture is %d MB", out.Len()>>20)) != large {
			t.Errorf("%d states, %d bytes: status %d: %s", n, out.Len(), status, errs.String())
		}
	}
}
