package main

import (
	"testing"

	"github.com/tropica-fst/tropica/cmd/internal/cli/clitest"
)

// A reader that closes the pipe ends the program as it ends Unix tools; a full disk is an error for
// any writer.
func TestStandardOutput(t *testing.T) {
	for _, words := range [][]string{{"learn"}, {"learn", "help"}, {"learn", "--version"},
		{"learn", "help", "g2p"}, {"learn", "g2p", "train", "--help"}} {
		clitest.ClosedPipe(t, words...)
		if len(words) > 1 {
			clitest.FullDisk(t, words...)
		}
	}
}
