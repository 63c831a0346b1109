// Package chunks finds chunks in sequences of tags such as B-NP and O.
//
//	chunks.Find([]string{"B-NP", "I-NP", "O"}) // [{0 2 NP}]
//
// Chunk is what Find returns. Tag is a tag in its parts; Ends and Starts say where chunks begin and
// end, from two neighbouring tags alone. The losses of spans and the counts of package metrics
// share these rules.
//
// The rules are those of the conlleval script of the CoNLL-2000 and 2003 shared tasks (E. Tjong Kim
// Sang and S. Buchholz, "Introduction to the CoNLL-2000 shared task: chunking", 2000).
package chunks

import "strings"

// Chunk is a stretch of positions From ≤ i < To of one type.
type Chunk struct {
	From, To int
	Type     string
}

// Tag is a tag in its parts: those of B-NP are B and NP.
type Tag struct{ Prefix, Type string }

// Parse splits a tag at its first hyphen. A tag without one has an empty type.
func Parse(tag string) Tag {
	prefix, kind, _ := strings.Cut(tag, "-")
	if prefix == "S" { // a chunk of its own, like the script's brackets
		prefix = "["
	}
	return Tag{prefix, kind}
}

// Outside reports whether the tag belongs to no chunk.
func (t Tag) Outside() bool { return t.Prefix == "O" || t.Prefix == "." }

// single reports whether the tag is a chunk of its own.
func (t Tag) single() bool { return t.Prefix == "[" || t.Prefix == "]" }

// Ends reports whether a chunk ends between the tags a and b.
func Ends(a, b Tag) bool {
	switch a.Prefix + b.Prefix {
	case "BB", "BO", "IB", "IO", "EE", "EI", "EO", "EB":
		return true
	}
	return a.single() || !a.Outside() && (a.Type != b.Type || b.Outside() || b.single())
}

// Starts reports whether a chunk begins at the tag b, which follows a.
func Starts(a, b Tag) bool {
	switch a.Prefix + b.Prefix {
	case "BB", "IB", "OB", "EB", "OI", "EE", "EI", "OE":
		return true
	}
	return b.single() || !b.Outside() && (a.Type != b.Type || a.Outside() || a.single())
}

// Find finds the chunks in a sequence of tags. A tag is a prefix, a hyphen and a type. O (or .) is
// outside; B begins a chunk, I continues it, E ends it. A chunk also begins where the type changes,
// or after O with any prefix. S, [ and ] are chunks of one position. So IOB1, IOB2, IOE and IOBES
// are all understood, and no sequence of tags is an error. O(len(tags)).
func Find(tags []string) []Chunk {
	var out []Chunk
	outside := Tag{Prefix: "O"}
	previous, from := outside, -1
	for i := 0; i <= len(tags); i++ {
		tag := outside
		if i < len(tags) {
			tag = Parse(tags[i])
		}
		if from >= 0 && Ends(previous, tag) {
			out = append(out, Chunk{from, i, previous.Type})
			from = -1
		}
		if Starts(previous, tag) {
			from = i
		}
		previous = tag
	}
	return out
}
