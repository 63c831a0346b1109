package g2p

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Places are those of SHA-256 (printf '1 word' | sha256sum), uniform, and other with another seed.
func TestPlace(t *testing.T) {
	const first = 0x2735d0823be7adb4 // of printf '1 a' | sha256sum
	if got, want := Place("a", 1), float64(first>>11)/(1<<53); got != want {
		t.Errorf("the place of a is %v, want %v", got, want)
	}
	list := words(t, "ice", "train", 800)
	below, other := 0, 0
	for _, p := range list {
		if Place(p.Word, 1) < 0.25 {
			below++
		}
		if Place(p.Word, 1) != Place(p.Word, 2) {
			other++
		}
	}
	// Four standard deviations of the binomial distribution.
	if d := math.Abs(float64(below) - 200); d > 4*math.Sqrt(150) || other != 800 {
		t.Errorf("%d of 800 words are in the first quarter; %d have another place with another seed", below, other)
	}
}

func TestWithoutStress(t *testing.T) {
	in := []Pair{{Word: "the", Phones: []string{"DH", "AH0"}}, {Word: "a", Phones: []string{"AH0"},
		Source: "x:2"},
		{Word: "the", Phones: []string{"DH", "AH1"}}, {Word: "the", Phones: []string{"DH", "IY0"}},
		{Word: "3", Phones: []string{"3"}}}
	want := []Pair{{Word: "the", Phones: []string{"DH", "AH"}}, {Word: "a", Phones: []string{"AH"},
		Source: "x:2"},
		{Word: "the", Phones: []string{"DH", "IY"}}, {Word: "3", Phones: []string{"3"}}}
	if diff := cmp.Diff(want, WithoutStress(in)); diff != "" || in[0].Phones[1] != "AH0" {
		t.Errorf("without stress (-want +got):\n%s\nof %v", diff, in)
	}
}
