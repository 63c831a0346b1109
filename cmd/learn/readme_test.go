package main

import (
	"testing"

	"github.com/tropica-fst/tropica/cmd/internal/readme"
)

func TestReadme(t *testing.T) {
	if n := readme.Run(t, "../..", "learn"); n < 5 {
		t.Errorf("only %d commands of learn were found in README.md", n)
	}
}
