package optim

import (
	"fmt"
	"strings"
)

// BelongsTo returns nil if the checkpoint was written for the problem that is
// described, and otherwise an error that names what differs. A description is a list
// of words key=value with blanks between them; a word without = is a key of its own.
func (c *Checkpoint) BelongsTo(problem string) error {
	if c.Problem == problem {
		return nil
	}
	have, keys := problemWords(c.Problem)
	want, more := problemWords(problem)
	var differ []string
	for _, k := range keys {
		if v, ok := want[k]; !ok {
			differ = append(differ, fmt.Sprintf("it has %s, which this has not", word(k, have[k])))
		} else if v != have[k] {
			differ = append(differ, fmt.Sprintf("its %s is %s, here it is %s", k, have[k], v))
		}
	}
	for _, k := range more {
		if _, ok := have[k]; !ok {
			differ = append(differ, fmt.Sprintf("it lacks %s", word(k, want[k])))
		}
	}
	if differ == nil { // the same words in another order, or twice
		return nil
	}
	return fmt.Errorf("the checkpoint belongs to another problem: %s", strings.Join(differ, "; "))
}

func problemWords(s string) (values map[string]string, keys []string) {
	values = map[string]string{}
	for _, w := range strings.Fields(s) {
		k, v, _ := strings.Cut(w, "=")
		if _, ok := values[k]; !ok {
			keys = append(keys, k)
		}
		values[k] = v
	}
	return values, keys
}

func word(k, v string) string {
	if v == "" {
		return k
	}
	return k + "=" + v
}
