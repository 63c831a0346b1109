package main

import (
	"testing"

	"github.com/tropica-fst/tropica/cmd/internal/readme"
)

func TestReadme(t *testing.T) {
	if n := readme.Run(t, "../..", "fst"); n < 4 {
		t.Errorf("only %d commands of fst were found in README.md", n)
	}
}
