package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/tropica-fst/tropica/learn/sequence"
)

const autoTemplates = sequence.AutoTemplates

// templates returns the templates of a preset's name or a file's. Which preset
// auto stands for depends on the data.
func (c *call) templates(name string, format sequence.Format) ([]*sequence.Template, error) {
	if sequence.IsPreset(name) || format.Form == sequence.CRFsuite {
		t, err := sequence.Preset(name, format)
		if err != nil {
			return nil, fmt.Errorf("flag --templates: %w", err)
		}
		return t, nil
	}
	r, shown, err := c.OpenText(name)
	if err != nil {
		if os.IsNotExist(err) {
			return nil, fmt.Errorf("flag --templates: %w; it is neither a file nor one of %s", err, strings.Join(templateNames(), ", "))
		}
		return nil, fmt.Errorf("flag --templates: %w", err)
	}
	defer r.Close()
	return sequence.ParseTemplates(r, shown)
}

func templateNames() []string {
	return slices.Sorted(slices.Values(append(sequence.TemplateNames(), autoTemplates)))
}
