package optim_test

import (
	"testing"

	"github.com/tropica-fst/tropica/learn/optim"
)

func TestCheckpointBelongsTo(t *testing.T) {
	k := &optim.Checkpoint{Problem: "sequence l2=1 loss=edit band=2"}
	for problem, want := range map[string]string{
		"sequence l2=1 loss=edit band=2":      "",
		"sequence l2=1 loss=edit band=3":      "its band is 2, here it is 3",
		"sequence l2=3 loss=edit":             "its l2 is 1, here it is 3; it has band=2, which this has not",
		"g2p l2=1 loss=edit band=2 data=ff00": "it has sequence, which this has not; it lacks g2p; it lacks data=ff00",
	} {
		got := ""
		if err := k.BelongsTo(problem); err != nil {
			got = err.Error()
			want = "the checkpoint belongs to another problem: " + want
		}
		if got != want {
			t.Errorf("%s: %q, should be %q", problem, got, want)
		}
	}
}
