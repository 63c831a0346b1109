package flags

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFlagFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"some": "# a comment\n\n --nstate=3\r\n-compose_filter=null\n",
		"more": "--flagfile=some\n--nstate=4",
		"none": "",
		"self": "--flagfile=self\n--flagfile=self\n",
		"word": "--connect\nfile.fst\n",
		"end":  "--\n",
		"odd":  "--nstates=3\n",
		"long": strings.Repeat("#\n", 1<<20),
	} {
		if err := os.WriteFile(filepath.Join(".", name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	def := values{Connect: true, N: -1, Delta: 0.5, Filter: "auto"}
	for _, tt := range []struct {
		line string
		want func(*values)
		err  string
	}{
		{"a --flagfile=some b", func(v *values) { v.N = 3; v.Filter = "null"; v.Args = []string{"a", "b"} }, ""},
		{"--flagfile some --nstate=5", func(v *values) { v.N = 5; v.Filter = "null" }, ""},
		{"--nstate=5 -flagfile=none,some", func(v *values) { v.N = 3; v.Filter = "null" }, ""},
		{"--flagfile=more", func(v *values) { v.N = 4; v.Filter = "null" }, ""},
		{"-- --flagfile=more", func(v *values) { v.Args = []string{"--flagfile=more"} }, ""},
		{"flagfile=more", func(v *values) { v.Args = []string{"flagfile=more"} }, ""},
		{"--flagfile=absent", nil, "absent"},
		{"--flagfile", nil, "needs a value"},
		{"--flagfile=self", nil, "do they name one another?"},
		{"--flagfile=word", nil, `word, line 2: "file.fst" is no flag`},
		{"--flagfile=end", nil, `end, line 1: "--" is no flag`},
		{"--flagfile=odd", nil, "did you mean --nstate?"},
		{"--flagfile=long", nil, "longer than a megabyte"},
		{"--undefok=zip,zap --zip --nozap a --zap=3", func(v *values) { v.Args = []string{"a"} }, ""},
		{"--zip --undefok=zip", func(*values) {}, ""},
		{"--undefok=zip_up,zap-up --zip-up --no-zap_up a", func(v *values) { v.Args = []string{"a"} }, ""},
		{"--undefok=nstate --nstate=3", func(v *values) { v.N = 3 }, ""},
		{"--undefok=zip --zop", nil, "unknown flag --zop"},
	} {
		got, err := parse(strings.Fields(tt.line)...)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: error %v, want one with %q", tt.line, err, tt.err)
			}
			continue
		}
		want := def
		tt.want(&want)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", tt.line, err, diff)
		}
	}
}
