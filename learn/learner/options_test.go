package learner

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type common struct {
	Seed uint64 `flag:"seed" default:"1" help:"Seed" topic:"draws"`
}

type Kind string

type options struct {
	L2     float64   `flag:"l2" default:"1" min:"0" help:"penalty"`
	L1     float64   `flag:"l1" min:"0" help:"penalty"`
	Rate   float64   `flag:"rate" default:"0.1" above:"0" max:"1" help:"rate"`
	Rounds int       `flag:"rounds" default:"100" min:"1" help:"rounds"`
	Depth  int       `flag:"depth" default:"6" min:"0" help:"depth"`
	Kind   Kind      `flag:"kind" values:"auto,wide,deep" default:"auto" help:"kind"`
	Exact  bool      `flag:"exact" help:"exactly"`
	Sizes  []int     `flag:"sizes" default:"4,8" min:"1" help:"sizes"`
	Bounds []float64 `flag:"bounds" min:"0" max:"Inf" help:"bounds"`
	Names  []string  `flag:"names" help:"names"`
	Parts  []string  `flag:"parts" values:"a,b" help:"parts"`
	common
	Unseen string
}

func set(t *testing.T, o *options, name, text string) error {
	t.Helper()
	i := slices.IndexFunc(Options(o), func(p *Option) bool { return p.Name == name })
	if i < 0 {
		t.Fatalf("there is no option %s", name)
	}
	return Options(o)[i].Set(text)
}

func TestComplete(t *testing.T) {
	want := options{L2: 1, Rate: 0.1, Rounds: 100, Depth: 6, Kind: "auto", Sizes: []int{4, 8}, common: common{1}}
	var got options
	if err := Complete(&got, nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(options{}, common{})); diff != "" {
		t.Error(diff)
	}
	// Again changes nothing, and None survives.
	got.L2, got.Depth = None, None
	again := options{}
	if err := Complete(&again, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(got, again, cmp.AllowUnexported(options{}, common{})); diff != "" {
		t.Error(diff)
	}
	if Amount(again.L2) != 0 || Amount(3) != 3 {
		t.Error("amounts")
	}
}

func TestCompleteRefuses(t *testing.T) {
	for _, c := range []struct {
		o    options
		want string
	}{
		{options{L2: -2}, "l2: -2 is out of range: it must be at least 0"},
		{options{L1: None}, "l1: -1 is out of range: it must be at least 0"}, // zero is none already
		{options{L2: math.NaN()}, "l2: NaN is no number"},
		{options{L2: math.Inf(1)}, "l2: +Inf is out of range"},
		{options{Rate: 1.5}, "rate: 1.5 is out of range: it must be above 0 and at most 1"},
		{options{Rate: None}, "rate: -1 is out of range"},
		{options{Rounds: None}, "rounds: -1 is out of range: it must be at least 1"},
		{options{Kind: "tall"}, `kind: "tall" is none of auto, wide, deep`},
		{options{Sizes: []int{4, 0}}, "sizes: 0 is out of range"},
		{options{Bounds: []float64{1, math.Inf(1)}}, ""},
	} {
		var o options
		err := Complete(&o, &c.o)
		if got := ""; c.want == "" && err != nil || c.want != "" &&
			(err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %v, want %q%s", c.o, err, c.want, got)
		}
	}
}

// What a user writes is read, and written the same again.
func TestSetAndText(t *testing.T) {
	for _, c := range []struct{ name, text, back, err string }{
		{name: "l2", text: "0.25"}, {name: "l2", text: "0"}, {name: "l2", text: "1e3", back: "1000"},
		{name: "depth", text: "0"}, {name: "l1", text: "0", back: ""},
		{name: "rounds", text: "12"}, {name: "kind", text: "deep"}, {name: "exact", text: "true"},
		{name: "sizes", text: "1, 2,30", back: "1,2,30"}, {name: "bounds", text: "0.5,Inf", back: "0.5,+Inf"},
		{name: "names", text: "a,b"}, {name: "names", text: "a,a"},
		{name: "parts", text: "b,a"}, {name: "parts", text: "a,b,a", err: `"a" is there twice`},
		{name: "seed", text: "18446744073709551615"},
		{name: "l2", text: "-1", err: "at least 0"}, {name: "l2", text: "x", err: "no number"},
		{name: "l2", text: "NaN", err: "no number"},
		{name: "rate", text: "0", err: "above 0"}, {name: "rounds", text: "0", err: "at least 1"},
		{name: "rounds", text: "1.5", err: "no whole number"},
		{name: "kind", text: "tall", err: "none of auto, wide, deep"},
		{name: "exact", text: "maybe", err: "neither"}, {name: "sizes", text: "3,x", err: `"x" is no whole`},
		{name: "seed", text: "-1", err: "from 0 on"}, {name: "bounds", text: "1,-1", err: "at least 0"},
	} {
		var o options
		err := set(t, &o, c.name, c.text)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) || !strings.HasPrefix(err.Error(), c.name) {
				t.Errorf("%s=%s: %v", c.name, c.text, err)
			}
			continue
		}
		if err != nil {
			t.Error(err)
			continue
		}
		want := c.text
		if c.back != "" || c.text == "0" && c.name == "l1" {
			want = c.back
		}
		i := slices.IndexFunc(Options(&o), func(p *Option) bool { return p.Name == c.name })
		if got := Options(&o)[i].Text(); got != want {
			t.Errorf("%s=%s is written %s", c.name, c.text, got)
		}
	}
}

func TestSettings(t *testing.T) {
	o := options{L2: None, Rate: 0.1, Names: []string{"a b", "c"}, Exact: true}
	if got, want := Settings(&o), "l2=0 exact=true names=a+b,c"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	var defaults options
	if err := Complete(&defaults, nil); err != nil {
		t.Fatal(err)
	}
	if got := Settings(&defaults); got != "" {
		t.Errorf("defaults have the settings %q", got)
	}
}

func TestMistakesInOptionsPanic(t *testing.T) {
	for name, o := range map[string]any{
		"no pointer": options{},
		"type": &struct {
			X map[string]int `flag:"x"`
		}{},
		"default": &struct {
			X int `flag:"x" default:"-3" min:"0"`
		}{},
		"bound": &struct {
			X int `flag:"x" min:"low"`
		}{},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			Options(o)
		}()
	}
}

// A word may stand for the empty text, hyphens may be left out, and words may have commas.
func TestWords(t *testing.T) {
	type words struct {
		Rule Kind `flag:"rule" zero:"exact" values:"exact|1,inf|2-2"`
	}
	for text, want := range map[string]Kind{"exact": "", "1,inf": "1,inf", "2-2": "2-2", "22": "2-2"} {
		var o words
		p := Options(&o)[0]
		if err := p.Set(text); err != nil || o.Rule != want {
			t.Errorf("%s is read as %q, %v", text, o.Rule, err)
		}
		if got := p.Text(); got != strings.Replace(text, "22", "2-2", 1) {
			t.Errorf("%s is written %s", text, got)
		}
	}
	for kind, want := range map[Kind]Kind{"": "", "exact": "", "22": "2-2", "1,inf": "1,inf"} {
		var o words
		if err := Complete(&o, &words{kind}); err != nil || o.Rule != want {
			t.Errorf("%q is completed to %q, %v", kind, o.Rule, err)
		}
	}
	var o words
	err := Options(&o)[0].Set("inf")
	if err == nil || err.Error() != `rule: "inf" is none of exact, 1,inf, 2-2` || Settings(&o) != "" {
		t.Errorf("%v, %q", err, Settings(&o))
	}
}

// Infinite numbers are refused with their reason, but for ranges that end at infinity.
func TestInfinite(t *testing.T) {
	var o struct {
		Norm  float64 `flag:"norm" default:"2" min:"1" max:"Inf"`
		Bound float64 `flag:"bound" min:"0"`
	}
	list := Options(&o)
	if err := list[0].Set("inf"); err != nil || !math.IsInf(o.Norm, 1) || list[0].Range() != "at least 1" {
		t.Errorf("%v, %v, %s", o.Norm, err, list[0].Range())
	}
	err := list[1].Set("inf")
	if err == nil || err.Error() != "bound: inf is out of range: it must be at least 0, and finite" {
		t.Error(err)
	}
}
