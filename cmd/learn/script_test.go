package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"learn": main})
}

// TestScript runs the command lines of testdata/script. Beside testscript's own
// commands there are:
//
//	json FILE       fails unless the file holds JSON values, one after the other
//	waitfor FILE    waits until the file exists, a minute at most
//	nosecondscolumn FILE  takes times out of histories whose last column they are
//	cut FILE N      cuts the file to its first N bytes
//	flip FILE N     changes byte N of the file
//	noseconds FILE  takes times out of reports
//	notimes FILE    takes times and rates out of histories
//	untimed FILE    empties the columns of histories that depend on the clock
//	lines FILE N    holds when the file has so many lines
//	samelines A B   holds when the files have the same lines, in any order
//	appended FILE OTHER appends another file
//	waitforline FILE N  waits until the file has so many lines
//	head FILE N TO  writes the first N lines of a file of this repository's testdata
func TestScript(t *testing.T) {
	data, err := filepath.Abs("../../testdata")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("DATA", data)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"json":    checkJSON,
			"waitfor": waitFor,
			"noseconds": func(ts *testscript.TestScript, neg bool, args []string) {
				for _, a := range args {
					b := regexp.MustCompile(`"seconds": [0-9.e-]+`).ReplaceAll([]byte(ts.ReadFile(a)), nil)
					ts.Check(os.WriteFile(ts.MkAbs(a), b, 0o666))
				}
			},
			"notimes": func(ts *testscript.TestScript, neg bool, args []string) {
				for _, a := range args {
					b := regexp.MustCompile(`(?m),[0-9.]+,[0-9.]+$`).ReplaceAll([]byte(ts.ReadFile(a)), nil)
					ts.Check(os.WriteFile(ts.MkAbs(a), b, 0o666))
				}
			},
			"nosecondscolumn": func(ts *testscript.TestScript, neg bool, args []string) {
				for _, a := range args {
					b := regexp.MustCompile(`(?m),[0-9.]+$`).ReplaceAll([]byte(ts.ReadFile(a)), nil)
					ts.Check(os.WriteFile(ts.MkAbs(a), b, 0o666))
				}
			},
			"untimed": func(ts *testscript.TestScript, neg bool, args []string) {
				for _, a := range args {
					rows, err := csv.NewReader(strings.NewReader(ts.ReadFile(a))).ReadAll()
					ts.Check(err)
					var out bytes.Buffer
					for _, row := range rows {
						for j, name := range rows[0] {
							if name != "seconds" && name != "examples_per_second" {
								fmt.Fprintf(&out, "%s,", row[j])
							}
						}
						out.WriteByte('\n')
					}
					ts.Check(os.WriteFile(ts.MkAbs(a), out.Bytes(), 0o666))
				}
			},
			"cut": func(ts *testscript.TestScript, neg bool, args []string) {
				ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(ts.ReadFile(args[0]))[:number(ts, args[1])], 0o666))
			},
			"flip": func(ts *testscript.TestScript, neg bool, args []string) {
				b := []byte(ts.ReadFile(args[0]))
				b[number(ts, args[1])] ^= 1
				ts.Check(os.WriteFile(ts.MkAbs(args[0]), b, 0o666))
			},
			"lines": func(ts *testscript.TestScript, neg bool, args []string) {
				if n := strings.Count(ts.ReadFile(args[0]), "\n"); (n == number(ts, args[1])) == neg {
					ts.Fatalf("%s has %d lines", args[0], n)
				}
			},
			"samelines": func(ts *testscript.TestScript, neg bool, args []string) {
				a, b := strings.Split(ts.ReadFile(args[0]), "\n"), strings.Split(ts.ReadFile(args[1]), "\n")
				slices.Sort(a)
				slices.Sort(b)
				if slices.Equal(a, b) == neg {
					ts.Fatalf("%s has %d lines, %s %d, and their being the same is %v", args[0], len(a),
						args[1], len(b), !neg)
				}
			},
			"appended": func(ts *testscript.TestScript, neg bool, args []string) {
				ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(ts.ReadFile(args[0])+ts.ReadFile(args[1])), 0o666))
			},
			"waitforline": func(ts *testscript.TestScript, neg bool, args []string) {
				for range 6000 {
					if b, err := os.ReadFile(ts.MkAbs(args[0])); err == nil &&
						bytes.Count(b, []byte("\n")) >= number(ts, args[1]) {
						return
					}
					time.Sleep(5 * time.Millisecond)
				}
				ts.Fatalf("%s never had %s lines", args[0], args[1])
			},
			"head": func(ts *testscript.TestScript, neg bool, args []string) {
				b, err := os.ReadFile(filepath.Join(data, args[0]))
				ts.Check(err)
				lines := strings.SplitAfter(string(b), "\n")
				ts.Check(os.WriteFile(ts.MkAbs(args[2]), []byte(strings.Join(lines[:number(ts, args[1])], "")), 0o666))
			},
		},
	})
}

func number(ts *testscript.TestScript, s string) int {
	n := 0
	if _, err := fmt.Sscan(s, &n); err != nil {
		ts.Fatalf("%q is no number", s)
	}
	return n
}

func checkJSON(ts *testscript.TestScript, neg bool, args []string) {
	d := json.NewDecoder(bytes.NewReader([]byte(ts.ReadFile(args[0]))))
	n := 0
	for d.More() {
		var v any
		if err := d.Decode(&v); err != nil {
			ts.Fatalf("%s: value %d: %v", args[0], n+1, err)
		}
		n++
	}
	if n == 0 {
		ts.Fatalf("%s holds no JSON", args[0])
	}
}

func waitFor(ts *testscript.TestScript, neg bool, args []string) {
	for range 600 {
		if _, err := os.Stat(ts.MkAbs(args[0])); err == nil {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	ts.Fatalf("%s did not appear within a minute", args[0])
}
