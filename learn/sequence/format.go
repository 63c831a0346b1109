package sequence

import "fmt"

// Format says what lines the Columns of training were read from, so that who reads others
// for the model can tell whether they are alike. The zero value says that it is not known,
// as for models of attributes and those of older files.
type Format struct {
	Form    string `json:"form"`    // of files, in the words of who reads them
	Columns int    `json:"columns"` // of a line
	Label   int    `json:"label"`   // column with the labels, from 0, which no template sees
}

// Known reports whether f says anything.
func (f Format) Known() bool { return f.Columns > 0 }

// String describes f for messages, which count columns from 1.
func (f Format) String() string {
	if f.Form == CRFsuite {
		return f.Form
	}
	return fmt.Sprintf("%s, %d to a line, labels in column %d", f.Form, f.Columns, f.Label+1)
}

// check returns what is wrong with a format.
func (f Format) check() error {
	if f.Known() && (f.Label < 0 || f.Label >= f.Columns) || f.Columns < 0 || !f.Known() && f != (Format{}) {
		return fmt.Errorf("a format of %d columns with labels in column %d", f.Columns, f.Label+1)
	}
	return nil
}

// word returns the column of the words: the second where the first numbers them.
func (f Format) word() int {
	if f.Form == "conllu" {
		return 1
	}
	return 0
}
