package g2p

import "errors"

func (e *evaluation) slow(w *word, weights, out []float64) (float64, error) {
	return 0, errors.New("range")
}
