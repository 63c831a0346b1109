package sequence

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// presets are templates that --templates knows by name; W stands for the column
// with the word.
var presets = map[string]string{
	// The word, its neighbours, ends, beginnings and shape: for part-of-speech and
	// similar tags.
	"tagging": `
U00:%x[0,W]
U01:%l[-2,W]
U02:%l[-1,W]
U03:%l[0,W]
U04:%l[1,W]
U05:%l[2,W]
U06:%l[-1,W]|%l[0,W]
U07:%l[0,W]|%l[1,W]
U10:%p1[0,W]
U11:%p2[0,W]
U12:%p3[0,W]
U13:%s1[0,W]
U14:%s2[0,W]
U15:%s3[0,W]
U16:%s4[0,W]
U17:%h[0,W]
U20:%s4[-1,W]
U21:%s4[1,W]
U22:%h[-1,W]|%h[0,W]
`,
	// Word and tag in a window of five, as distributed with CRF++ for the chunking
	// task of CoNLL-2000.
	"chunking": `
U00:%x[-2,0]
U01:%x[-1,0]
U02:%x[0,0]
U03:%x[1,0]
U04:%x[2,0]
U05:%x[-1,0]|%x[0,0]
U06:%x[0,0]|%x[1,0]
U10:%x[-2,1]
U11:%x[-1,1]
U12:%x[0,1]
U13:%x[1,1]
U14:%x[2,1]
U15:%x[-2,1]|%x[-1,1]
U16:%x[-1,1]|%x[0,1]
U17:%x[0,1]|%x[1,1]
U18:%x[1,1]|%x[2,1]
U20:%x[-2,1]|%x[-1,1]|%x[0,1]
U21:%x[-1,1]|%x[0,1]|%x[1,1]
U22:%x[0,1]|%x[1,1]|%x[2,1]
`,
}

// AutoTemplates stands for the preset that suits the data: chunking where tokens have three or
// more columns and are no CoNLL-U, else tagging; none where the attributes are ready-made.
const AutoTemplates = "auto"

// TemplateNames lists the names that Preset knows.
func TemplateNames() []string {
	return slices.Sorted(maps.Keys(presets))
}

// IsPreset reports whether a name is one that Preset knows, AutoTemplates included.
func IsPreset(name string) bool { return name == AutoTemplates || presets[name] != "" }

// Preset returns the templates of a name, for data of a format.
func Preset(name string, format Format) ([]*Template, error) {
	if format.Form == CRFsuite {
		if name != AutoTemplates {
			return nil, errors.New("the data has its attributes ready-made (crfsuite), and no columns for " +
				"templates to read")
		}
		return nil, nil
	}
	word := "0"
	if format.Form == CoNLLU {
		word = "1"
	}
	if name == AutoTemplates {
		name = "tagging"
		if format.Form != CoNLLU && format.Columns > 2 {
			name = "chunking"
		}
	}
	text, ok := presets[name]
	if !ok {
		return nil, fmt.Errorf("sequence: there are no templates %q; there are %s and %s", name, AutoTemplates, strings.Join(TemplateNames(), ", "))
	}
	if name == "chunking" && (format.Form == CoNLLU || format.Columns < 3) {
		return nil, fmt.Errorf("chunking needs columns for word, tag and label; write a file of templates for other data")
	}
	list, err := ParseTemplates(strings.NewReader(strings.ReplaceAll(text, "W", word)), "templates "+name)
	for _, t := range list {
		t.marks = sentenceMarks
	}
	return list, err
}
