package space_test

import (
	"errors"
	"testing"

	"github.com/tropica-fst/tropica/learn/space"
)

func TestErrorsAndNames(t *testing.T) {
	for _, c := range []struct {
		err  *space.EmptyError
		want string
	}{
		{&space.EmptyError{}, "the input has no output"},
		{&space.EmptyError{Within: true, Place: "position 3"}, "no output agrees with the annotation: position 3"},
	} {
		if c.err.Error() != c.want || !errors.Is(c.err, space.ErrEmpty) {
			t.Errorf("%v, want %q", c.err, c.want)
		}
	}
	e := space.Sample[int, int]{}
	if e.Label(7) != "sample 7" {
		t.Error(e.Label(7))
	}
	e.Name = "words.conll:3"
	if e.Label(7) != "words.conll:3" {
		t.Error(e.Label(7))
	}
}
