package sequence

type kbest struct{}
type nbestItem struct{ labels []int }

func (t *Tagger) nBest(n, k int) []nbestItem { return nil }
