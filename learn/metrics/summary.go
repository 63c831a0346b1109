package metrics

import (
	"errors"
	"fmt"
	"math"
)

// MeanSD returns the mean and the standard deviation, with n-1 in its denominator
// (0 for fewer than two values). Both are NaN without values.
func MeanSD(xs []float64) (mean, sd float64) {
	if len(xs) == 0 {
		return math.NaN(), math.NaN()
	}
	n, sq := 0.0, 0.0
	for _, x := range xs { // Welford's update
		n++
		d := x - mean
		mean += d / n
		sq += d * (x - mean)
	}
	if len(xs) < 2 {
		return mean, 0
	}
	return mean, math.Sqrt(sq / (n - 1))
}

// FormatMeanSD writes "26.94 (2.10)": the mean and the standard deviation times
// scale, with the given digits. One number alone has no standard deviation: "26.94".
func FormatMeanSD(xs []float64, scale float64, digits int) string {
	mean, sd := MeanSD(xs)
	if len(xs) == 1 {
		return fmt.Sprintf("%.*f", digits, mean*scale)
	}
	return fmt.Sprintf("%.*f (%.*f)", digits, mean*scale, digits, sd*scale)
}

// CorrectedT is the corrected resampled t-test of C. Nadeau and Y. Bengio, "Inference for the
// generalization error", Machine Learning 52:239-281, 2003: a and b are the errors of two models on
// the same test parts, which repeated cross-validation or random splits made, with test rows for
// every train rows (1 to 4 for five folds). Training parts overlap, so the differences are not
// independent, and PairedT finds significance too easily. Here the variance is multiplied by 1/n +
// test/train instead of 1/n.
func CorrectedT(a, b []float64, test, train float64) (TTest, error) {
	if !(test > 0 && train > 0) || math.IsInf(test/train, 0) {
		return TTest{}, fmt.Errorf("metrics: CorrectedT: impossible: %v test rows for %v training rows",
			test, train)
	}
	r, err := PairedT(a, b)
	if err != nil {
		return TTest{}, errors.New("metrics: CorrectedT: " + trimPackage(err))
	}
	n := float64(len(a))
	r.SE *= math.Sqrt(1 + n*test/train)
	r.judge()
	return r, nil
}

func trimPackage(err error) string {
	const prefix = "metrics: PairedT: "
	if s := err.Error(); len(s) > len(prefix) && s[:len(prefix)] == prefix {
		return s[len(prefix):]
	}
	return err.Error()
}

// Less is the one-sided probability of the test: under no difference, of a T at
// most as large. Small values say that a is less than b.
func (t TTest) Less() float64 {
	if t.T <= 0 {
		return float64(t.P / 2)
	}
	return float64(1 - t.P/2)
}

// Greater is the one-sided probability, under no difference, of a T at least as
// large. Small values say that a is greater than b.
func (t TTest) Greater() float64 {
	if t.T >= 0 {
		return float64(t.P / 2)
	}
	return float64(1 - t.P/2)
}

// OneTailed is the one-sided probability on the side of the mean. The thesis' experiments use this
// test of whether the better mean is better by chance.
func (t TTest) OneTailed() Maybe { return t.P / 2 }
