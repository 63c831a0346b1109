package model

import (
	"strings"
	"testing"
)

func TestDescribe(t *testing.T) {
	c := New("g2p", 1)
	if err := c.SetMeta(map[string]any{"window": 3, "long": strings.Repeat("é", 300)}); err != nil {
		t.Fatal(err)
	}
	Put(c, "weights", make([]float64, 6), 2, 3)
	if err := c.PutStrings("phones", []string{"a", "b"}); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := c.Describe(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"window                                            3\n",
		"ééé… (302 characters)\n",
		"array weights                                     float64 [2, 3]\n",
		"array phones                                      utf8 [2]\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in:\n%s", want, b.String())
		}
	}
}
