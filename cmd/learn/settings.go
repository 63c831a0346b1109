package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// settingsText shows the settings that a model keeps, a JSON object, as a short list in
// its order: "rounds 100, rate 0.1". Settings that are zero, false or empty are left out, but
// for those of meaningfulZero, and long lists are counted; --json has them all.
func settingsText(algorithm, text string) string {
	var out []string
	if err := listSettings(&out, meaningfulZero(algorithm), "", []byte(text), 0); err != nil {
		return text // not ours: as it is
	}
	return strings.Join(out, ", ")
}

// meaningfulZero are the settings of an algorithm whose 0 is not the default, and how it is shown.
func meaningfulZero(algorithm string) map[string]string {
	switch algorithm {
	case "rgb":
		return map[string]string{"beta": "0", "minHessian": "0"}
	case "gb":
		return map[string]string{"depth": "no limit", "l2": "0", "minWeight": "0"}
	case "multiboost":
		return map[string]string{"q.floor": "0"}
	}
	return nil
}

// settingsDepth bounds how deep objects within objects are listed: options have one within
// them at most.
const settingsDepth = 3

func listSettings(out *[]string, zeros map[string]string, prefix string, object []byte, depth int) error {
	d := json.NewDecoder(bytes.NewReader(object))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return fmt.Errorf("not an object: %.20q", object)
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return err
		}
		key := prefix + fmt.Sprint(name)
		switch raw[0] {
		case '{':
			if depth+1 < settingsDepth {
				if err := listSettings(out, zeros, key+".", raw, depth+1); err != nil {
					return err
				}
				continue
			}
			*out = append(*out, key+" {...}")
		case '[':
			var list []json.RawMessage
			if err := json.Unmarshal(raw, &list); err != nil {
				return err
			}
			switch {
			case len(list) > 4:
				*out = append(*out, fmt.Sprintf("%s %s ... %s (%d)", key, bare(list[0]),
					bare(list[len(list)-1]), len(list)))
			case len(list) > 0:
				var parts []string
				for _, v := range list {
					parts = append(parts, bare(v))
				}
				*out = append(*out, key+" "+strings.Join(parts, "; "))
			}
		default:
			if word, ok := zeros[key]; ok && bare(raw) == "0" {
				*out = append(*out, key+" "+word)
			} else if v := bare(raw); v != "" && v != "0" && v != "false" && v != "null" {
				*out = append(*out, key+" "+v)
			}
		}
	}
	return nil
}

// bare is a JSON value without the quotes of a text, and no longer than a word or three.
func bare(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		s = string(raw)
	}
	if r := []rune(s); len(r) > 40 {
		s = string(r[:37]) + "..."
	}
	return s
}
