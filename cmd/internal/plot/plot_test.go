package plot_test

import (
	"bytes"
	"encoding/xml"
	"flag"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tropica-fst/tropica/cmd/internal/plot"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func count(n int) []float64 {
	xs := make([]float64, n)
	for i := range xs {
		xs[i] = float64(i + 1)
	}
	return xs
}

func curve(n int, f func(t float64) float64) []float64 {
	ys := make([]float64, n)
	for i := range ys {
		ys[i] = f(float64(i + 1))
	}
	return ys
}

func normal(n int, mean float64) []float64 {
	rng := rand.New(rand.NewPCG(uint64(n), 7))
	ys := make([]float64, n)
	for i := range ys {
		ys[i] = math.Round(1000*(mean+rng.NormFloat64())) / 1000
	}
	return ys
}

// charts are one of each kind.
func charts() map[string]plot.Chart {
	shift := func(ys []float64, by float64) []float64 {
		out := make([]float64, len(ys))
		for i, y := range ys {
			out[i] = y + by
		}
		return out
	}
	rgb := curve(100, func(t float64) float64 { return math.Round(1000*(0.05+0.3/math.Sqrt(t))) / 10 })
	gb := curve(100, func(t float64) float64 { return math.Round(1000*(0.07+0.3/math.Sqrt(t))) / 10 })
	return map[string]plot.Chart{
		"lines": {Title: "Error by round", Subtitle: "sonar, mean of 10 trials, band of one standard deviation",
			XLabel: "round", YLabel: "test error, %", Series: []plot.Series{
				{Name: "RGB", X: count(100), Y: rgb, Low: shift(rgb, -1.5), High: shift(rgb, 1.5)},
				{Name: "gradient boosting", X: count(100), Y: gb, Low: shift(gb, -2), High: shift(gb, 2)},
				{Name: "XGBoost", X: count(100), Y: shift(gb, 0.4), Dashed: true}},
			HRules: []plot.Rule{{At: 26.94, Label: "thesis"}}},
		"log": {Title: "Duality gap <certified> & \"sound\"", XLabel: "iteration", YLabel: "gap",
			LogX: true, LogY: true, Series: []plot.Series{
				{Name: "mirror-prox", X: count(1000), Y: curve(
					1000, func(t float64) float64 { return math.Round(1e6*3/t) / 1e6 })},
				{Name: "gradient descent-ascent", X: count(1000),
					Y: curve(1000, func(t float64) float64 { return math.Round(1e6*2/math.Sqrt(t)) / 1e6 })}}},
		"bars": {Title: "Error by source", YLabel: "error, %",
			Categories: []string{"books", "dvd", "electronics", "uniform", "agnostic"},
			Series: []plot.Series{{Name: "AdaBoost, all", Kind: plot.Bars,
				Y: []float64{25.35, 22.43, 20.95, 22.91, 25.52}, Low: []float64{23.85, 21.38, 19, 22.06, 24.24},
				High: []float64{26.85, 23.48, 22.9, 23.76, 26.8}},
				{Name: "MULTIBOOST", Kind: plot.Bars, Y: []float64{23.3, 21.9, 19.8, 21.7, 23.6}}}},
		"importance": {Title: "Importance by gain", YLabel: "share", Horizontal: true,
			Categories: []string{"capital_gain", "marital_status=Married-civ-spouse", "education_num", "age",
				"a name that is much longer than any sensible name of a column would be"},
			Series: []plot.Series{{Kind: plot.Bars, Y: []float64{0.41, 0.27, 0.18, 0.09, 0.0004}}}},
		"histogram": {Title: "Margins", XLabel: "margin", YLabel: "share of rows",
			VRules: []plot.Rule{{At: 0, Label: "decision"}},
			Series: []plot.Series{{Name: "training", Kind: plot.Bars, X: []float64{-2, -1, 0, 1, 2, 3},
				Y: []float64{0.05, 0.1, 0.3, 0.4, 0.15}},
				{Name: "test", Kind: plot.Bars, X: []float64{-2, -1, 0, 1, 2, 3},
					Y: []float64{0.1, 0.2, 0.3, 0.3, 0.1}}}},
		"cumulative": {Title: "Margin distribution", XLabel: "margin", YLabel: "share of rows",
			Series: []plot.Series{plot.Cumulative("training", normal(40, 2)), plot.Cumulative("test", normal(30, 1))}},
		"scatter": {Title: "Trade-off of two objectives", XLabel: "hinge", YLabel: "cross-entropy",
			Series: []plot.Series{{Name: "fixed mixtures", Kind: plot.Points, X: normal(30, 5), Y: normal(31, 5)[1:]},
				{Name: "ALMO", Kind: plot.Points, X: []float64{5}, Y: []float64{4}, Low: []float64{3.5},
					High: []float64{4.5}}}},
		"boxes": {Title: "Error by share of wrong labels", YLabel: "error, %",
			Categories: []string{"0 %", "20 %", "40 %"},
			Series: []plot.Series{plot.Box("ordinary",
				[][]float64{normal(8, 10), normal(9, 14), {21, 22, 23, 24, 40, math.NaN()}}),
				plot.Box("resilient", [][]float64{normal(10, 10), normal(11, 11), nil})}},
		"nothing": {Title: "Nothing", Series: []plot.Series{
			{Name: "a", X: []float64{1, 2}, Y: []float64{math.NaN(), math.Inf(1)}}}},
	}
}

func write(t testing.TB, c plot.Chart) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := c.Write(&b); err != nil {
		t.Fatal(err)
	}
	valid(t, b.Bytes())
	return b.Bytes()
}

// valid checks that the XML is well-formed and every number in it finite.
func valid(t testing.TB, b []byte) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(b))
	for {
		token, err := d.Token()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatalf("%v in\n%.2000s", err, b)
		}
		if e, ok := token.(xml.StartElement); ok {
			for _, a := range e.Attr {
				switch a.Name.Local {
				case "x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "width", "height":
					v, err := strconv.ParseFloat(strings.TrimSuffix(a.Value, "%"), 64)
					if err != nil || v-v != 0 || strings.HasPrefix(a.Value, "-") &&
						(a.Name.Local == "width" || a.Name.Local == "height") {
						t.Fatalf("%s %s=%q", e.Name.Local, a.Name.Local, a.Value)
					}
				case "d":
					if strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") {
						t.Fatalf("a path with %q", a.Value)
					}
				}
			}
		}
	}
}

func TestGolden(t *testing.T) {
	for name, c := range charts() {
		got := write(t, c)
		if !bytes.Equal(got, write(t, c)) {
			t.Errorf("%s differs from one time to the next", name)
		}
		path := filepath.Join("testdata", name+".svg")
		if *update {
			if err := os.MkdirAll("testdata", 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, got, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), string(got)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// texts returns what is written in a picture, by the class of the label.
func texts(t testing.TB, b []byte) map[string][]string {
	t.Helper()
	var doc struct {
		Text []struct {
			Class string `xml:"class,attr"`
			Value string `xml:",chardata"`
		} `xml:"text"`
	}
	if err := xml.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	for _, x := range doc.Text {
		class, _, _ := strings.Cut(x.Class, " ")
		out[class] = append(out[class], x.Value)
	}
	return out
}

func TestLabels(t *testing.T) {
	all := charts()
	got := texts(t, write(t, all["log"]))
	if d := cmp.Diff([]string{`Duality gap <certified> & "sound"`}, got["title"]); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"gradient descent-ascent", "mirror-prox"}, got["name"]); d != "" {
		t.Errorf("names are not in the order of the ends of the lines, the highest first: %s", d)
	}
	for name, want := range map[string][]string{
		"lines":      {"5", "10", "15", "20", "25", "30", "35", "40"},
		"importance": {"0.0", "0.1", "0.2", "0.3", "0.4", "capital_gain"},
		"cumulative": {"0.0", "0.2", "0.4", "0.6", "0.8", "1.0"},
	} {
		ticks := texts(t, write(t, all[name]))["tick"]
		if len(ticks) < len(want) || !cmp.Equal(ticks[:len(want)], want) {
			t.Errorf("%s: %q, want %q first", name, ticks, want)
		}
	}
	if got := texts(t, write(t, all["nothing"]))["sub"]; !cmp.Equal(got, []string{"no data"}) {
		t.Error(got)
	}
	if got := texts(t, write(t, all["bars"])); len(got["value"]) != 10 ||
		!cmp.Equal(got["name"], []string{"AdaBoost, all", "MULTIBOOST"}) {
		t.Error(got)
	}
}

// element is one of a picture, with what makes its look.
type element struct {
	Name  string
	Class string
	Dash  string
	Fill  string
	D     string
}

// elements returns what is drawn, in order.
func elements(t testing.TB, b []byte) (out []element) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(b))
	for {
		token, err := d.Token()
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := token.(xml.StartElement); ok {
			x := element{Name: e.Name.Local}
			for _, a := range e.Attr {
				switch a.Name.Local {
				case "class":
					x.Class = a.Value
				case "stroke-dasharray":
					x.Dash = a.Value
				case "fill":
					x.Fill = a.Value
				case "d":
					x.D = a.Value
				}
			}
			out = append(out, x)
		}
	}
}

// pattern is a list of dashes and gaps as numbers.
func pattern(t *testing.T, dash string) (lengths []float64) {
	t.Helper()
	for _, f := range strings.Fields(dash) {
		v, err := strconv.ParseFloat(f, 64)
		if err != nil {
			t.Fatal(err)
		}
		lengths = append(lengths, v)
	}
	return lengths
}

// inked reports whether a pattern draws at a length of the line.
func inked(lengths []float64, at float64) bool {
	if len(lengths) == 0 {
		return true
	}
	sum := 0.0
	for _, v := range lengths {
		sum += v
	}
	at = math.Mod(at, sum)
	i := 0
	for ; at >= lengths[i]; i++ {
		at -= lengths[i]
	}
	return i%2 == 0
}

// Of curves that lie on one another each can be seen, along at least a fiftieth of the line; the
// sample beside its name looks as the curve does; and no two look alike, also without colours.
func TestCoincidingCurves(t *testing.T) {
	for n := 2; n <= 8; n++ {
		for _, legend := range []bool{false, true} {
			for _, dashed := range []bool{false, true} {
				c := plot.Chart{Legend: legend}
				for k := range n {
					c.Series = append(c.Series, plot.Series{Name: strconv.Itoa(k), X: count(100), Y: count(100),
						Dashed: dashed && k == n-1})
				}
				curves, samples := map[string]string{}, map[string]string{} // dashes by class
				var order []string
				for _, e := range elements(t, write(t, c)) {
					switch {
					case e.Name == "path" && strings.HasPrefix(e.Class, "l "):
						curves[e.Class] = e.Dash
						order = append(order, e.Dash)
					case e.Name == "line" && strings.HasPrefix(e.Class, "l "):
						samples[e.Class] = e.Dash
					}
				}
				if len(curves) != n || !cmp.Equal(curves, samples) {
					t.Errorf("%d curves: dashes %q, and beside their names %q", n, curves, samples)
				}
				seen, alike := make([]int, n), map[string]bool{}
				patterns := make([][]float64, n)
				for k, dash := range order {
					patterns[k] = pattern(t, dash)
				}
				const length, step = 600, 0.5
				for x := step / 2; x < length; x += step {
					for k := n - 1; k >= 0; k-- {
						if inked(patterns[k], x) {
							seen[k]++
							break
						}
					}
				}
				for k, dash := range order {
					if share := float64(seen[k]) * step / length; share < 0.02 || alike[dash] {
						t.Errorf("%d curves: number %d, with dashes %q, is seen along %.3f of the line, and looks like "+
							"another: %v", n, k, dash, share, alike[dash])
					}
					alike[dash] = true
				}
			}
		}
	}
	// Beyond eight the colours begin anew, and no curve hides all others.
	var c plot.Chart
	for range 40 {
		c.Series = append(c.Series, plot.Series{X: count(100), Y: count(100)})
	}
	looks := map[element]bool{}
	n := 0
	for _, e := range elements(t, write(t, c)) {
		if e.Name == "path" && strings.HasPrefix(e.Class, "l ") {
			e.D = ""
			if looks[e] || n > 0 && e.Dash == "" {
				t.Errorf("curve %d looks as another does, or hides them: %+v", n, e)
			}
			looks[e] = true
			n++
		}
	}
}

// Without colours, marks and bars of up to eight series look different, too.
func TestGrey(t *testing.T) {
	for _, kind := range []plot.Kind{plot.Points, plot.Bars, plot.Line} {
		c := plot.Chart{Categories: []string{"a"}, Legend: true}
		if kind != plot.Bars {
			c.Categories = nil
		}
		for k := range 8 {
			s := plot.Series{Name: strconv.Itoa(k), Kind: kind, Y: []float64{float64(k + 1)}}
			if kind != plot.Bars {
				s.X = []float64{float64(k)}
			}
			c.Series = append(c.Series, s)
		}
		looks := map[string]int{} // number of elements that look so
		digits := regexp.MustCompile(`[sf][0-9]+|M[-0-9. ]+`)
		last, hatched := "", 0
		for _, e := range elements(t, write(t, c)) {
			look := ""
			switch {
			case strings.HasPrefix(e.Class, "p ") || strings.HasPrefix(e.Class, "h "):
				look = e.Name + digits.ReplaceAllString(e.Class+e.D, "")
			case e.Name == "rect" && strings.HasPrefix(e.Fill, "url(#hatch"):
				look = e.Fill
				hatched++
			}
			if look != "" {
				looks[look]++
				last = look
			}
		}
		want := 8
		if kind == plot.Bars {
			want = 7 // the first has no hatch
		}
		if len(looks) != want {
			t.Errorf("kind %d: %d different looks, want %d: %v (last %q)", kind, len(looks), want, looks, last)
		}
		for look, n := range looks {
			if n != 2 { // in the plane, and in the legend
				t.Errorf("kind %d: %q is drawn %d times, want 2", kind, look, n)
			}
		}
		if kind == plot.Bars != (hatched > 0) {
			t.Errorf("kind %d: %d hatches", kind, hatched)
		}
	}
	// Bars of one series need no hatch.
	for _, e := range elements(t, write(t, charts()["importance"])) {
		if e.Name == "pattern" {
			t.Error("a hatch in a chart of one series")
		}
	}
}

func TestCumulative(t *testing.T) {
	c := plot.Cumulative("c", []float64{3, 1, 1, math.Inf(1), 2})
	if d := cmp.Diff([]float64{1, 1, 2, 3}, c.X); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]float64{0, .5, .75, 1}, c.Y); d != "" {
		t.Error(d)
	}
	for _, xs := range [][]float64{nil, {5}, {5, 5}, {-math.MaxFloat64, math.MaxFloat64}} {
		write(t, plot.Chart{Series: []plot.Series{plot.Cumulative("h", xs)}})
	}
}

func TestRefused(t *testing.T) {
	for _, c := range []plot.Chart{
		{Series: []plot.Series{{X: []float64{1}, Y: []float64{1, 2}}}},
		{Series: []plot.Series{{X: []float64{1}, Y: []float64{1}, Low: []float64{1}}}},
		{Series: []plot.Series{{Kind: plot.Bars, X: []float64{1}, Y: []float64{1}}}},
		{Categories: []string{"a"}, Series: []plot.Series{{Kind: plot.Bars, Y: []float64{1, 2}}}},
		{Width: -1}, {Horizontal: true}, {YRange: &[2]float64{1, 1}},
	} {
		if err := c.Write(io.Discard); err == nil {
			t.Errorf("%+v was drawn", c)
		}
	}
}

// Whatever the numbers and names, the picture is well-formed and its coordinates
// are finite.
func TestAnything(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	odd := []float64{0, 1, -1, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, -math.MaxFloat64, 5e-324,
		1e-300, 1e300, 3.5, 1e6, 123456}
	draw := func(n int) []float64 {
		xs := make([]float64, n)
		for i := range xs {
			xs[i] = odd[rng.IntN(len(odd))]
			if rng.IntN(2) == 0 {
				xs[i] = rng.NormFloat64() * math.Pow(10, float64(rng.IntN(9)-4))
			}
		}
		return xs
	}
	name := func() string {
		return []string{"", "a", "</svg>", "\x00\xff\u0085", "“long” " + strings.Repeat("name ", 50), "日本語",
			"&amp;"}[rng.IntN(7)]
	}
	for range 800 {
		c := plot.Chart{Title: name(), Subtitle: name(), XLabel: name(), YLabel: name(), LogX: rng.IntN(3) == 0,
			LogY: rng.IntN(3) == 0, ZeroY: rng.IntN(2) == 0, Legend: rng.IntN(2) == 0, Width: rng.IntN(5) * 97,
			Height: rng.IntN(5) * 97}
		n := rng.IntN(6)
		if rng.IntN(3) == 0 {
			c.Categories = make([]string, n)
			for i := range c.Categories {
				c.Categories[i] = name()
			}
			c.Horizontal = rng.IntN(2) == 0
		}
		for range rng.IntN(12) {
			s := plot.Series{Name: name(), Kind: plot.Kind(rng.IntN(4)), Y: draw(n)}
			if c.Categories == nil {
				s.X = draw(n)
				if s.Kind == plot.Bars {
					s.X = draw(n + 1)
				}
			}
			if rng.IntN(2) == 0 {
				s.Low, s.High = draw(n), draw(n)
			}
			c.Series = append(c.Series, s)
		}
		if rng.IntN(2) == 0 {
			c.HRules, c.VRules = []plot.Rule{{draw(1)[0], name()}}, []plot.Rule{{draw(1)[0], name()}}
		}
		write(t, c)
	}
}

// A line of a million points is a picture of some thousand.
func TestLongLine(t *testing.T) {
	n := 1000000
	b := write(t, plot.Chart{Series: []plot.Series{
		{X: count(n), Y: curve(n, func(x float64) float64 { return math.Sin(x) })}}})
	if len(b) > 200000 {
		t.Errorf("%d bytes", len(b))
	}
}

// Quartiles and whiskers are those of the definition; what lies beyond is marked.
func TestBox(t *testing.T) {
	s := plot.Box("a", [][]float64{{7, 1, 3, 5, 100}, {}, {2}})
	if s.Y[0] != 5 || s.Low[0] != 1 || s.High[0] != 7 || s.Y[1] == s.Y[1] || s.Y[2] != 2 || s.Low[2] != 2 {
		t.Errorf("medians %v, whiskers %v to %v", s.Y, s.Low, s.High)
	}
	if err := (plot.Chart{Categories: []string{"x"},
		Series: []plot.Series{{Kind: plot.Boxes, Y: []float64{1}}}}).Write(io.Discard); err == nil {
		t.Error("boxes without quartiles are drawn")
	}
}
