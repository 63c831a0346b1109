package sequence_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tropica-fst/tropica/learn/sequence"
)

// What the features of the reference baselines (an independent program, see
// TestExperiment) read at each of the four positions of one sentence: for
// chunking, then for parts of speech.
const baselineFeatures = `
<s> <s> He Reckons-2.5 ÉTÉ <s>|He He|Reckons-2.5 <s> <s> PRP VBZ NN <s>|<s> <s>|PRP PRP|VBZ VBZ|NN <s>|<s>|PRP <s>|PRP|VBZ PRP|VBZ|NN
<s> He Reckons-2.5 ÉTÉ IBM's He|Reckons-2.5 Reckons-2.5|ÉTÉ <s> PRP VBZ NN NNP <s>|PRP PRP|VBZ VBZ|NN NN|NNP <s>|PRP|VBZ PRP|VBZ|NN VBZ|NN|NNP
He Reckons-2.5 ÉTÉ IBM's </s> Reckons-2.5|ÉTÉ ÉTÉ|IBM's PRP VBZ NN NNP </s> PRP|VBZ VBZ|NN NN|NNP NNP|</s> PRP|VBZ|NN VBZ|NN|NNP NN|NNP|</s>
Reckons-2.5 ÉTÉ IBM's </s> </s> ÉTÉ|IBM's IBM's|</s> VBZ NN NNP </s> </s> VBZ|NN NN|NNP NNP|</s> </s>|</s> VBZ|NN|NNP NN|NNP|</s> NNP|</s>|</s>
He <s> <s> he reckons-2.5 été <s>|he he|reckons-2.5 h he he e he he he Xx <s> -2.5 <s>|Xx
Reckons-2.5 <s> he reckons-2.5 été ibm's he|reckons-2.5 reckons-2.5|été r re rec 5 .5 2.5 -2.5 Xx-9.9 he été Xx|Xx-9.9
ÉTÉ he reckons-2.5 été ibm's </s> reckons-2.5|été été|ibm's é ét été é té été été oXo -2.5 bm's Xx-9.9|oXo
IBM's reckons-2.5 été ibm's </s> </s> été|ibm's ibm's|</s> i ib ibm s 's m's bm's Xox été </s> oXo|Xox
`

func TestTemplatesOfTheBaselines(t *testing.T) {
	columns := [][]string{{"He", "PRP"}, {"Reckons-2.5", "VBZ"}, {"ÉTÉ", "NN"}, {"IBM's", "NNP"}}
	var got []string
	for _, text := range []string{chunkingTemplates, posTemplates} {
		for at := range columns {
			var row []string
			for _, p := range parse(t, text) {
				name, value, err := sequence.AppendAttribute(p, columns, at)
				if err != nil || value != 1 {
					t.Fatal(name, value, err)
				}
				_, name, _ = strings.Cut(name, ":")
				row = append(row, name)
			}
			got = append(got, strings.Join(row, " "))
		}
	}
	if diff := cmp.Diff(strings.Split(strings.TrimSpace(baselineFeatures), "\n"), got); diff != "" {
		t.Error(diff)
	}
}
