package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tropica-fst/tropica/learn/federated"
)

// What the help of the experiment calls a default is what it runs with, though the algorithm has
// other defaults.
func TestExperimentFederatedDefaults(t *testing.T) {
	got, err := (&boostFlags{}).options()
	if err != nil {
		t.Fatal(err)
	}
	want := federated.BoostOptions{Objective: "softmax", Candidates: 256, Proposals: 10, Step: 1, Mu: 5,
		Shared: true,
		Q:      "federated", QFolds: 1}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
