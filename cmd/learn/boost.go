package main

import "github.com/tropica-fst/tropica/learn/boost"

// boostCommands are the verbs of the boosters. Evaluation and explanation tell more than those of
// other learners of tables.
func boostCommands() []*command {
	var out []*command
	for _, b := range []*boost.Booster{boost.RGB, boost.AdaBoost, boost.Gradient} {
		out = append(out, learnerTrain(b, freshTable), learnerPredict(b, freshTable), boostEval(b),
			learnerCV(b, tableLearners, freshTable), boostExplain(b))
		if b == boost.Gradient {
			out = append(out, boostImport, boostExport)
		}
	}
	return out
}
