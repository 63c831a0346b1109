package sequence

import (
	"regexp"
	"strings"
	"testing"
)

// Wapiti's manual has the first of these; the others follow from what it says, or are at the edges.
func TestPattern(t *testing.T) {
	for _, c := range []struct{ pattern, field, want string }{
		{`^.?.?.?.?`, "abcdef", "abcd"},
		{`^.?.?.?.?`, "ab", "ab"},
		{`^\u\u*$`, "IBM", "IBM"},
		{`^\u\u*$`, "IBm", "none"},
		{`\d*`, "a12", ""}, // as few as do: at the front, none
		{`\d\d*`, "a12b", "1"},
		{`\d\d*$`, "a12", "12"},
		{`\d\d*\D`, "a12b", "12b"},
		{`.?.?$`, "abc", "bc"},
		{`a?a`, "aa", "aa"}, // x? takes x if it can
		{`a?ab`, "ab", "ab"},
		{`\l\l`, "ABcdE", "cd"},
		{`\p`, "it's", "'"},
		{`\W`, "don't", "'"},
		{`\s`, "a b", " "},
		{`\$\.\*`, "a$.*", "$.*"},
		{`a$b`, "xa$b", "a$b"}, // $ and ^ elsewhere are characters
		{`a^`, "xa^", "a^"},
		{`$`, "ab", ""},
		{`^$`, "", ""},
		{`^$`, "a", "none"},
		{``, "a", ""},
		{`x`, "", "none"},
		{`\q`, "iraq", "q"},
		{`É.`, "café ÉT", "ÉT"},
		{`^\u\l`, "Émile", "Ém"},
		{`\a\a*$`, "日本", "日本"},
		{`b*c`, "abbc", "bbc"},
		{`\\`, `a\b`, `\`},
	} {
		p, err := parsePattern(c.pattern)
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		got := "none"
		if from, to := p.find(c.field); from >= 0 {
			got = c.field[from:to]
		}
		if got != c.want {
			t.Errorf("%s in %q: %q, want %q", c.pattern, c.field, got, c.want)
		}
	}
	for _, bad := range []string{`*a`, `?`, `a**`, `a*?`, `^*`, `a\`} {
		if _, err := parsePattern(bad); err == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
}

// A pattern that makes a search by trying take time beyond all bounds.
func TestPatternTime(t *testing.T) {
	p, err := parsePattern(strings.Repeat("a?", 200) + strings.Repeat(".*", 50) + "b$")
	if err != nil {
		t.Fatal(err)
	}
	if from, _ := p.find(strings.Repeat("a", 3000)); from >= 0 {
		t.Error("a match without b")
	}
}

// FuzzPattern compares with package regexp, in whose language x* is x*?.
func FuzzPattern(f *testing.F) {
	for _, s := range []string{`^a?b*.$`, `\u\l*\d?`, `a*b?c`, `.*\D$`, `\W?x`, `a$*b`} {
		f.Add(s, "ABab12.x")
	}
	classes := map[byte]string{'a': `\pL\pM`, 'd': `\p{Nd}`, 'w': `\pL\pM\p{Nd}`, 'l': `\p{Ll}`, 'u': `\p{Lu}`, 'p': `\pP\pS`, 's': `\s\v\x{85}\x{A0}\pZ`}
	f.Fuzz(func(t *testing.T, pattern, field string) {
		if len(pattern) > 30 || len(field) > 100 || strings.ContainsFunc(pattern+field,
			func(r rune) bool { return r > 127 || r < 32 }) {
			return
		}
		p, err := parsePattern(pattern)
		if err != nil {
			return
		}
		var b strings.Builder
		rest, anchored := strings.CutPrefix(pattern, "^")
		if anchored {
			b.WriteString("^")
		}
		for i := 0; i < len(rest); i++ {
			c := rest[i]
			switch {
			case c == '$' && i == len(rest)-1:
				b.WriteString(`$`)
			case c == '.' || c == '?':
				b.WriteByte(c)
			case c == '*':
				b.WriteString("*?")
			case c == '\\':
				i++
				c = rest[i]
				if k, ok := classes[c|0x20]; ok && c >= 'A' {
					not := ""
					if c < 'a' {
						not = "^"
					}
					b.WriteString("[" + not + k + "]")
					continue
				}
				fallthrough
			default:
				b.WriteString(regexp.QuoteMeta(string(rune(c))))
			}
		}
		want := regexp.MustCompile("(?s)" + b.String()).FindStringIndex(field)
		from, to := p.find(field)
		if (from >= 0) != (want != nil) || want != nil && (from != want[0] || to != want[1]) {
			t.Fatalf("%s in %q: %d to %d, %s has %v", pattern, field, from, to, b.String(), want)
		}
	})
}

func TestWapitiTemplates(t *testing.T) {
	columns := [][]string{{"The", "DT"}, {"McX-3", "NNP"}, {"Ran", "VB"}}
	for _, c := range []struct {
		line         string
		at           int
		want         string
		single, pair bool
	}{
		{`u:%x[-1,0]/%x[+1,1]`, 1, "u:The/VB", true, false}, // of the manual
		{`*:%x[-1,0]`, 0, "*:_x-1", true, true},
		{`b:%X[0,0]%x[3,0]`, 2, "b:ran_x+3", false, true},
		{`u:%x[-4,0]%x[-5,0]%x[9,0]`, 0, "u:_x-4_x-#_x+#", true, false},
		{`U:%t[0,0,"^\u"]%t[0,1,"V"]`, 1, "U:truefalse", true, false},
		{`u:%m[0,0,"\u\l"]|%M[0,0,"\u\l"]|%m[0,0,"z"]`, 1, "u:Mc|mc|", true, false},
		{`u:%m[-1,0,".$"]`, 0, "u:1", true, false},
		{`u:%x[@1,0]%x[@-1,0]%x[@-4,0]%x[@5,1]`, 1, "u:TheRan_x-1_x+2", true, false},
		{`u1:%m[0,0,"\"?M"]  # the rest is a comment`, 1, "u1:M", true, false},
		{`B:%T[0,0,"]"]`, 1, "B:false", false, true},
	} {
		p, err := ParseTemplate(c.line)
		if err != nil {
			t.Errorf("%s: %v", c.line, err)
			continue
		}
		got, _, err := p.append(nil, columns, c.at)
		if err != nil || string(got) != c.want || p.Single() != c.single || p.Pair() != c.pair {
			t.Errorf("%s: %q, %v, %v %v; want %+v", c.line, got, err, p.Single(), p.Pair(), c)
		}
	}
	for line, want := range map[string]string{
		`u:%t[0,0]`: "needs a pattern", `u:%m[0,0,x]`: "needs a pattern", `u:%m[0,0,"x]`: "no end", `u:%m[0,0,"*"]`: "nothing stands before",
		`u:%x[@0,0]`: "@1", `u:%m[0,0,"a"`: "macro", `q:%x[0,0]`: "none of U",
	} {
		if _, err := ParseTemplate(line); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want mention of %q", line, err, want)
		}
	}
}
