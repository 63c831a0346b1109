package sequence

// AppendAttribute lets the tests outside of the package see what a template reads.
func AppendAttribute(t *Template, columns [][]string, at int) (string, float64, error) {
	name, value, err := t.append(nil, columns, at)
	return string(name), value, err
}
