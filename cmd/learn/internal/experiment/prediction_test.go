package experiment

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/tropica-fst/tropica/learn/structured"
)

// Robust regression at a size where the published order shows: Algorithm 1 before
// Nadaraya-Watson weights. Kept trials are not made again, and reports agree.
func TestRobust(t *testing.T) {
	var kept []PredictionTrial
	o := &PredictionOptions{Quick: true, Repetitions: 3, Seed: 4,
		Save: func(p *PredictionTrial) error { kept = append(kept, *p); return nil }}
	r, err := Robust(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Parts) != 3 || len(kept) != 9 {
		t.Fatalf("%d parts, %d trials", len(r.Parts), len(kept))
	}
	last := r.Parts[2].Rows
	if last[0].Mean[0] >= last[1].Mean[0] {
		t.Errorf("n = 200: Algorithm 1 %v, Nadaraya-Watson %v", last[0].Mean[0], last[1].Mean[0])
	}
	// In our check before this program: .145 at n = 200, .347 at n = 50.
	if m := last[0].Mean[0]; m < 0.1 || m > 0.2 {
		t.Errorf("n = 200: distance %v", m)
	}
	again, err := Robust(context.Background(), &PredictionOptions{Quick: true, Repetitions: 3, Seed: 4,
		Known: kept, Workers: 1,
		Save: func(*PredictionTrial) error { return errors.New("a known trial is made again") }})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r, again); diff != "" {
		t.Error(diff)
	}
	var table, markdown, csv bytes.Buffer
	if err := errors.Join(r.WriteTable(&table), r.WriteMarkdown(&markdown), r.WriteCSV(&csv)); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(table.String(), "Algorithm 1") ||
		!strings.Contains(markdown.String(), "| kernel ridge |") || strings.Count(csv.String(), "\n") != 28 {
		t.Errorf("%s\n%s\n%s", &table, &markdown, &csv)
	}
	stop, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Robust(stop, o); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func compressed(text string) *fstest.MapFile {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write([]byte(text))
	w.Close()
	return &fstest.MapFile{Data: b.Bytes()}
}

// Completion on drawn images: bars, whose place in the upper half tells the lower one. Each
// method is best under its own loss.
func TestCompletion(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var text strings.Builder
	for j := range 256 {
		fmt.Fprintf(&text, "p%d,", j)
	}
	text.WriteString("class\n")
	for range 1300 {
		class := rng.IntN(10)
		for p := range 256 {
			x, y := float64(p%16), float64(p/16)
			at := 3 + float64(class) + 0.3*(y-8)*float64(class%3-1) // a line that leans by class
			v := 200*math.Exp(-(x-at)*(x-at)/2) + 30*rng.Float64()
			fmt.Fprintf(&text, "%d,", int(math.Min(255, v)))
		}
		fmt.Fprintf(&text, "%d\n", class)
	}
	data := fstest.MapFS{"usps/usps-11000.csv.gz": compressed(text.String())}
	sheet := &CompletionSheet{}
	r, err := Completion(context.Background(), data, &PredictionOptions{Quick: true, Repetitions: 1}, sheet)
	if err != nil {
		t.Fatal(err)
	}
	rows := r.Parts[0].Rows
	if rows[0].Mean[1] > rows[2].Mean[1] || rows[2].Mean[0] > rows[0].Mean[0] {
		t.Errorf("a method is not best under its own loss: %+v", rows)
	}
	if rows[0].Mean[1] < 0.01 || rows[0].Mean[1] > 1 || rows[3].Mean[2] > 0.1 {
		t.Errorf("losses out of range: %+v", rows)
	}
	var svg bytes.Buffer
	if err := sheet.WriteSVG(&svg); err != nil || len(sheet.Names) != 4 || len(sheet.Images) != 4*shown ||
		!strings.HasSuffix(svg.String(), "</svg>\n") {
		t.Errorf("sheet: %v, %d names, %d images", err, len(sheet.Names), len(sheet.Images))
	}
	if _, err := Completion(context.Background(), fstest.MapFS{}, &PredictionOptions{Quick: true},
		nil); err == nil || !strings.Contains(err.Error(), "usps-11000") {
		t.Errorf("no data: %v", err)
	}
}

// Rankings: everything below half, and the pairwise objectives have the gradients that they
// say.
func TestRanking(t *testing.T) {
	part := RankingPart{Name: "few", Train: 40,
		Draw: func(rng *rand.Rand) *Raters { return DrawRaters(60, 15, 0.8, rng) }}
	r, err := Ranking(context.Background(), []RankingPart{part}, &PredictionOptions{Repetitions: 2})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range r.Parts[0].Rows {
		if row.Mean[0] > 0.4 || row.Mean[0] < 0.02 {
			t.Errorf("%s: rank loss %v", row.Name, row.Mean[0])
		}
	}
	rng := rand.New(rand.NewPCG(2, 2))
	people := DrawRaters(8, 6, 0.8, rng)
	f := pairwise(people, []int{0, 1, 2, 3, 4, 5, 6, 7},
		func(m float64) (float64, float64) { return m * m, 2 * m })
	theta := make([]float64, 6*len(people.Features[0]))
	for i := range theta {
		theta[i] = 0.1 * rng.NormFloat64()
	}
	grad := make([]float64, len(theta))
	f(theta, grad)
	for i := 0; i < len(theta); i += 7 {
		const h = 1e-5
		theta[i] += h
		up := f(theta, nil)
		theta[i] -= 2 * h
		down := f(theta, nil)
		theta[i] += h
		if d := (up - down) / (2 * h); math.Abs(d-grad[i]) > 1e-6*(1+math.Abs(d)) {
			t.Errorf("gradient %d: %v, differences say %v", i, grad[i], d)
		}
	}
}

// No rating that is judged is in the features: the halves are apart, and features do not
// change with the second half.
func TestRatersDoNotLeak(t *testing.T) {
	people := make([]rater, 5)
	rng := rand.New(rand.NewPCG(3, 3))
	for i := range people {
		people[i] = rater{group: i % 3, rating: map[int32]float64{}}
		for j := range int32(9) {
			people[i].rating[j] = float64(1 + rng.IntN(5))
		}
	}
	a := split(people, 3, 9, [][]int{{0, 1}}, rand.New(rand.NewPCG(4, 4)))
	for i := range people {
		for _, j := range a.Ratings[i].Item {
			people[i].rating[j] = 6 - people[i].rating[j]
		}
	}
	b := split(people, 3, 9, [][]int{{0, 1}}, rand.New(rand.NewPCG(4, 4)))
	if diff := cmp.Diff(a.Features, b.Features); diff != "" {
		t.Errorf("features know the ratings to predict: %s", diff)
	}
}

func TestMovieLens(t *testing.T) {
	genre := strings.Repeat("|0", 18)
	data := fstest.MapFS{
		"u.user": {Data: []byte("1|24|M|technician|85711\n2|53|F|other|94043\n")},
		"u.item": {Data: []byte("1|Toy|01-Jan-1995||http://x|1" + genre +
			"\n2|Gold|01-Jan-1995||http://x|0" + genre + "\n")},
		"u.data": {Data: []byte("1\t1\t5\t881250949\n1\t2\t3\t891717742\n2\t1\t4\t878887116\n")},
	}
	draw, err := MovieLens(data)
	if err != nil {
		t.Fatal(err)
	}
	r := draw(rand.New(rand.NewPCG(1, 1)))
	if r.Items != 2 || len(r.Features) != 2 || len(r.Ratings[0].Item) != 1 || len(r.Ratings[1].Item) != 1 {
		t.Errorf("%+v", r)
	}
	for file, c := range map[string]struct{ text, want string }{
		"u.data": {"1\t9\t5\t1\n", `u.data:1: "9" is no number from 1 to 2`},
		"u.user": {"1|24\n", "u.user:1: 2 fields"},
		"u.item": {"x" + strings.Repeat("|0", 23) + "\n", `"x" is no number`},
	} {
		bad := fstest.MapFS{}
		for k, v := range data {
			bad[k] = v
		}
		bad[file] = &fstest.MapFile{Data: []byte(c.text)}
		if _, err := MovieLens(bad); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", file, err, c.want)
		}
	}
}

// Sushi on drawn orders: the exact way is proved, and no other is below it.
func TestSushi(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	var text strings.Builder
	text.WriteString("count\trank1\trank2\trank3\trank4\trank5\trank6\trank7\trank8\trank9\trank10\n")
	for range 60 {
		fmt.Fprint(&text, 1+rng.IntN(3))
		for _, j := range rng.Perm(10) {
			fmt.Fprintf(&text, "\t%d", j+1)
		}
		text.WriteString("\n")
	}
	data := fstest.MapFS{"ranking/sushi-10-orders.tsv": {Data: []byte(text.String())}}
	r, err := Sushi(context.Background(), data, &PredictionOptions{Quick: true, Repetitions: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range r.Parts {
		if e := p.Rows[0].Mean; e[0] != 0 || math.Abs(e[1]-100) > 1e-9 || math.Abs(e[2]-100) > 1e-9 {
			t.Errorf("%s: exact %v", p.Name, e)
		}
		for k := 1; k < len(p.Rows); k++ {
			if p.Rows[k].Mean[0] < p.Rows[k-1].Mean[0]-1e-9 {
				t.Errorf("%s: %s is better than %s", p.Name, p.Rows[k].Name, p.Rows[k-1].Name)
			}
		}
	}
	data["ranking/sushi-10-orders.tsv"] = &fstest.MapFile{
		Data: []byte("count\tr1\tr2\tr3\tr4\tr5\tr6\tr7\tr8\tr9\tr10\n1\t1\t1\t3\t4\t5\t6\t7\t8\t9\t10\n2\t1\t2\t3\t4\t5\t6\t7\t8\t9\t10\n")}
	if _, err := Sushi(context.Background(), data, &PredictionOptions{Quick: true}); err == nil ||
		!strings.Contains(err.Error(), "no order") {
		t.Errorf("an item twice: %v", err)
	}
}

// Strings: trying all is exact, no method beats it or claims to be exact above it.
func TestCorrection(t *testing.T) {
	r, err := Correction(context.Background(), &PredictionOptions{Quick: true, Repetitions: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range r.Parts[0].Rows {
		if strings.HasSuffix(row.Name, string(structured.List)) &&
			(row.Mean[1] > 1e-9 || math.Abs(row.Mean[3]-100) > 1e-9) {
			t.Errorf("list: %+v", row)
		}
		if row.Mean[0] < 0 || row.Mean[0] > 12 {
			t.Errorf("%s: %v edits", row.Name, row.Mean[0])
		}
	}
}

// Spelling on drawn words and misspellings.
func TestSpelling(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	var text strings.Builder
	text.WriteString("correct\tmisspelling\tcount\n")
	for range 320 {
		word := make([]int, 5+rng.IntN(5))
		for i := range word {
			word[i] = rng.IntN(12)
		}
		spell := func(s []int) string {
			b := make([]byte, len(s))
			for i, a := range s {
				b[i] = byte('a' + a)
			}
			return string(b)
		}
		for range 2 {
			fmt.Fprintf(&text, "%s\t%s\t1\n", spell(word), spell(noisy(word, 0.2, 12, rng)))
		}
	}
	data := fstest.MapFS{"spelling/spell-errors.tsv.gz": compressed(text.String())}
	r, err := Spelling(context.Background(), data, &PredictionOptions{Quick: true, Repetitions: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range r.Parts[0].Rows {
		if row.Mean[0] > 40 {
			t.Errorf("%s: %v %% wrong", row.Name, row.Mean[0])
		}
	}
	for _, p := range []int{2, 5} {
		held, rest := apartByWord([]pair{{nil, []int{1}}, {nil, []int{1}}, {nil, []int{2}}, {nil, []int{3}}}, p)
		for _, h := range held {
			for _, o := range rest {
				if fmt.Sprint(h.y) == fmt.Sprint(o.y) {
					t.Error("a word is on both sides")
				}
			}
		}
	}
}
