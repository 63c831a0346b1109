package boost

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// SettingsDifference says in which settings two runs differ: "rate was 0.1 and is now 0.3". It
// ignores the number of rounds, since a run may be made longer. It is empty when there is no
// difference. Settings are the JSON objects that boosters leave in models; those within others are
// named with dots. At most four are spelt out.
func SettingsDifference(was, now string) string {
	if was == now {
		return ""
	}
	a, b := map[string]string{}, map[string]string{}
	if !flatten(a, was) || !flatten(b, now) {
		return "they cannot be compared"
	}
	var names []string
	for name := range maps.Keys(a) {
		if _, ok := b[name]; !ok || a[name] != b[name] {
			names = append(names, name)
		}
	}
	for name := range maps.Keys(b) {
		if _, ok := a[name]; !ok {
			names = append(names, name)
		}
	}
	names = slices.DeleteFunc(names, func(name string) bool { return name == "rounds" })
	slices.Sort(names)
	const most = 4
	var out []string
	for _, name := range names[:min(len(names), most)] {
		out = append(out, fmt.Sprintf("%s was %s and is now %s", name, shown(a, name), shown(b, name)))
	}
	if n := len(names) - most; n > 0 {
		out = append(out, fmt.Sprintf("%d more", n))
	}
	return strings.Join(out, ", ")
}

// shown is a setting's value, cut to a length that a message bears.
func shown(of map[string]string, name string) string {
	v, ok := of[name]
	if !ok {
		return "not set"
	}
	if r := []rune(v); len(r) > 80 {
		return string(r[:77]) + "..."
	}
	return v
}

// flatten stores the values of a JSON object, those of objects within it under names with
// dots, and reports whether it is one.
func flatten(to map[string]string, text string) bool {
	type object struct {
		prefix string
		fields map[string]json.RawMessage
	}
	var top object
	if json.Unmarshal([]byte(text), &top.fields) != nil {
		return false
	}
	for queue := []object{top}; len(queue) > 0; {
		o := queue[0]
		queue = queue[1:]
		for name, raw := range o.fields {
			in := object{prefix: o.prefix + name + "."}
			if json.Unmarshal(raw, &in.fields) == nil && in.fields != nil {
				queue = append(queue, in)
				continue
			}
			to[o.prefix+name] = string(raw)
		}
	}
	return true
}
