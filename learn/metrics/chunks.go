package metrics

import "github.com/tropica-fst/tropica/losses/chunks"

// Chunk is a stretch of positions From ≤ i < To of one type.
type Chunk = chunks.Chunk

// FindChunks finds the chunks in a sequence of tags by the rules of the conlleval script: see
// chunks.Find.
func FindChunks(tags []string) []Chunk { return chunks.Find(tags) }

// ChunkCounts pools chunks over sequences.
type ChunkCounts struct {
	Correct   int // predicted chunks with the same stretch and type in the reference
	Predicted int
	Reference int
}

// Chunks counts the chunks of one sequence. It panics when the lengths differ.
func Chunks(prediction, reference []string) ChunkCounts {
	if len(prediction) != len(reference) {
		panic("metrics: Chunks: prediction and reference differ in length")
	}
	p, r := FindChunks(prediction), FindChunks(reference)
	c := ChunkCounts{Predicted: len(p), Reference: len(r)}
	for i, j := 0, 0; i < len(p) && j < len(r); {
		switch { // both are in order and do not overlap
		case p[i] == r[j]:
			c.Correct, i, j = c.Correct+1, i+1, j+1
		case p[i].To <= r[j].To:
			i++
		default:
			j++
		}
	}
	return c
}

// ChunksByType counts the chunks of one sequence by type. It panics when the lengths differ.
func ChunksByType(prediction, reference []string) map[string]ChunkCounts {
	if len(prediction) != len(reference) {
		panic("metrics: ChunksByType: prediction and reference differ in length")
	}
	out := map[string]ChunkCounts{}
	right := map[Chunk]bool{}
	for _, c := range FindChunks(reference) {
		right[c] = true
		out[c.Type] = out[c.Type].Add(ChunkCounts{Reference: 1})
	}
	for _, c := range FindChunks(prediction) {
		n := ChunkCounts{Predicted: 1}
		if right[c] {
			n.Correct = 1
		}
		out[c.Type] = out[c.Type].Add(n)
	}
	return out
}

// Add returns the pooled counts.
func (c ChunkCounts) Add(d ChunkCounts) ChunkCounts {
	return ChunkCounts{c.Correct + d.Correct, c.Predicted + d.Predicted, c.Reference + d.Reference}
}

// Precision is the share of predicted chunks that are correct; 0 without any.
func (c ChunkCounts) Precision() float64 { return ratio(c.Correct, c.Predicted) }

// Recall is the share of reference chunks that were found; 0 without any.
func (c ChunkCounts) Recall() float64 { return ratio(c.Correct, c.Reference) }

// F1 is the harmonic mean of precision and recall; 0 when both are.
func (c ChunkCounts) F1() float64 { return ratio(2*c.Correct, c.Predicted+c.Reference) }

func ratio(a, b int) float64 {
	if b == 0 {
		return 0
	}
	return float64(a) / float64(b)
}
