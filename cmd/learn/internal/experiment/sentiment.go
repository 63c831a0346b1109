package experiment

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/tropica-fst/tropica/learn/dataset"
	"github.com/tropica-fst/tropica/learn/dataset/table"
)

// sentiment counts words as the recorded comparisons do. Letters are ASCII in lower case; words are
// the longest runs of a-z, 0-9 and the apostrophe. Pairs are joined by a blank, and columns are in
// the order of their bytes. Labels do not affect the choice of columns.
func (d folder) sentiment() (*mixture, error) {
	m := &mixture{names: []string{"books", "dvd", "electronics"}}
	var docs [][]string
	count := map[string]int{}
	for k, name := range m.names {
		f, found, err := d.open("sentiment/" + name + ".tsv.gz")
		if err != nil {
			return nil, err
		}
		records, err := readTSV(f, found)
		f.Close()
		if err != nil {
			return nil, err
		}
		for i, r := range records {
			if len(r.Fields) < 5 || r.Fields[0] != "+1" && r.Fields[0] != "-1" {
				return nil, fmt.Errorf("experiment: %s:%d: not a label, a rating, an identifier, a title and a text",
					found, r.Line)
			}
			label := 1
			if r.Fields[0] == "-1" {
				label = -1
			}
			m.add(k+1, label, name, i)
			terms := words(r.Fields[3] + " " + r.Fields[4])
			for _, t := range terms {
				count[t]++
			}
			docs = append(docs, terms)
		}
	}
	var vocabulary []string
	for t, n := range count {
		if n >= 10 {
			vocabulary = append(vocabulary, t)
		}
	}
	slices.Sort(vocabulary)
	t := &table.Table{Name: "sentiment", Rows: len(docs), Columns: make([]table.Column, len(vocabulary))}
	at := make(map[string]int, len(vocabulary))
	for j, v := range vocabulary {
		t.Columns[j] = table.Column{Name: v, Values: make([]float32, len(docs))}
		at[v] = j
	}
	for i, terms := range docs {
		for _, term := range terms {
			if j, ok := at[term]; ok {
				t.Columns[j].Values[i] = 1
			}
		}
	}
	m.table = t
	return m, nil
}

// words returns the different words and pairs of words of a text, in order.
func words(text string) []string {
	b := []byte(text)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	single := strings.FieldsFunc(string(b), func(r rune) bool {
		return !('a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '\'')
	})
	out := slices.Clone(single)
	for i := 1; i < len(single); i++ {
		out = append(out, single[i-1]+" "+single[i])
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func readTSV(f fs.File, name string) ([]dataset.Record, error) {
	in, err := table.Uncompressed(f, name)
	if err != nil {
		return nil, err
	}
	return dataset.ReadTSV(in, name, &dataset.TSVOptions{Header: true, Empty: true})
}
