package sequence

// AppendAttribute lets the tests outside of the package see what a template reads.
func AppendAttribute(t *Template, columns [][]string, at int) (string, float64, error) {
	name, value, err := t.append(nil, columns, at)
	return string(name), value, err
}

// AsOldModels has templates read as those of model files of version 1.
func AsOldModels(list []*Template) {
	for _, t := range list {
		t.marks, t.ascii = sentenceMarks, true
	}
}
