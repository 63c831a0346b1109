package sequence_test

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/tropica-fst/tropica/learn/dataset"
	"github.com/tropica-fst/tropica/learn/sequence"
	"github.com/tropica-fst/tropica/losses"
)

const text = `
the DET
dog NOUN
barks VERB

a DET
cat NOUN
sleeps VERB

the DET
old ADJ
cat NOUN
barks VERB
`

// Train a tagger on three sentences, save it, read it back, and use it.
func Example() {
	sentences, err := dataset.ReadColumns(strings.NewReader(text), "text", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	var examples []sequence.Example
	for _, s := range sentences {
		examples = append(examples, sequence.Example{Input: sequence.Input{Columns: s.Tokens}, Labels: s.Column(1)})
	}
	templates, err := sequence.ParseTemplates(strings.NewReader("U0:%x[0,0]\nU1:%s1[0,0]\n"), "templates")
	if err != nil {
		fmt.Println(err)
		return
	}
	m, result, err := sequence.Train(examples, &sequence.TrainOptions{Templates: templates, L2: 0.1})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("converged:", result.Reason.Converged())

	var file bytes.Buffer
	if err := m.Write(&file); err != nil {
		fmt.Println(err)
		return
	}
	if m, err = sequence.Read(&file); err != nil {
		fmt.Println(err)
		return
	}
	labels, err := m.Tagger().Viterbi(&sequence.Input{Columns: [][]string{{"a"}, {"dog"}, {"sleeps"}}})
	fmt.Println(labels, err)
	// Output:
	// converged: true
	// [DET NOUN VERB] <nil>
}

// Training with the edit distance between label sequences: exact for short
// ones, in a band of 2 for long ones.
func ExampleTrain_editDistance() {
	examples := []sequence.Example{
		{Input: sequence.Input{Attributes: [][]sequence.Attribute{{{Name: "up", Value: 1}}, {{Name: "down", Value: 0.5}}}}, Labels: []string{"+", "-"}},
		{Input: sequence.Input{Attributes: [][]sequence.Attribute{{{Name: "down", Value: 1}}, {{Name: "up", Value: 2}}}}, Labels: []string{"-", "+"}},
	}
	m, _, err := sequence.Train(examples, &sequence.TrainOptions{
		Kind: sequence.SoftmaxMargin,
		Loss: sequence.LongEdit{Edit: losses.Unit, Exact: 10, Band: 2},
		L2:   0.01,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	list, err := m.Tagger().NBest(&examples[1].Input, 2)
	for _, c := range list {
		fmt.Println(c.Labels)
	}
	fmt.Println(err)
	// Output:
	// [- +]
	// [+ +]
	// <nil>
}
