package metrics

import "fmt"

// Rate is a number of errors out of a base. Rates of parts of a test set add.
type Rate struct {
	Errors int
	Base   int // what the errors are divided by; see the function that counted
}

// Value is Errors/Base. Without a base it is 0 when there are no errors, else 1.
func (r Rate) Value() float64 {
	if r.Base == 0 {
		if r.Errors == 0 {
			return 0
		}
		return 1
	}
	return float64(r.Errors) / float64(r.Base)
}

// Add returns the pooled rate.
func (r Rate) Add(s Rate) Rate { return Rate{r.Errors + s.Errors, r.Base + s.Base} }

func (r Rate) String() string {
	return fmt.Sprintf("%.2f%% (%d of %d)", 100*r.Value(), r.Errors, r.Base)
}

// Symbols counts positions at which the prediction differs, out of all
// positions. It panics when the lengths differ: use Edits then.
func Symbols[T comparable](prediction, reference []T) Rate {
	if len(prediction) != len(reference) {
		panic(fmt.Sprintf("metrics: Symbols: %d predicted symbols for %d", len(prediction), len(reference)))
	}
	r := Rate{Base: len(reference)}
	for i, s := range reference {
		if prediction[i] != s {
			r.Errors++
		}
	}
	return r
}

// Strings counts one error when the strings differ at all, out of one.
func Strings[T comparable](prediction, reference []T) Rate {
	if len(prediction) == len(reference) {
		same := true
		for i, s := range reference {
			same = same && prediction[i] == s
		}
		if same {
			return Rate{0, 1}
		}
	}
	return Rate{1, 1}
}

// Edits counts the edit distance relative to the symbols of the reference. Pooled over a test set
// this is the phone, character or word error rate. It can exceed one.
func Edits[T comparable](prediction, reference []T) Rate {
	return Rate{EditDistance(prediction, reference), len(reference)}
}

// EditDistance is the least number of insertions, deletions and substitutions
// that turn a into b. O(|a|·|b|) time, O(|b|) memory.
func EditDistance[T comparable](a, b []T) int {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] { // common ends cost nothing
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	d := make([]int, len(b)+1)
	for j := range d {
		d[j] = j
	}
	for i, x := range a {
		diagonal := d[0]
		d[0] = i + 1
		for j, y := range b {
			cost := diagonal
			if x != y {
				cost++
			}
			diagonal = d[j+1]
			d[j+1] = min(cost, d[j+1]+1, d[j]+1)
		}
	}
	return d[len(b)]
}
