package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/losses"
)

// lossAnswer returns the answer of fst loss to one case.
func lossAnswer(t *testing.T, line string, flags ...string) map[string]any {
	t.Helper()
	_, out, _ := fstTool(t, line+"\n", append([]string{"loss"}, flags...)...)
	return decodeLines(t, out)[0]
}

// The general path has the direct one's budget, its flags, and its error with the band to try.
func TestLossGeneralBudget(t *testing.T) {
	theta := "[" + strings.Repeat("[0,0,0,0,0,0],", 11) + "[0,0,0,0,0,0]]"
	edit := func(band int) string {
		return fmt.Sprintf(`{"alphabet":6,"l":12,"q":1,"yi":[5,2,0,3,4,1,2,5,5,4,0,3],"theta":%s,"loss":{"kind":"edit","match":-2,"band":%d}}`, theta, band)
	}
	for _, flag := range []string{"--limit_bytes=8000000", "--budget_columns=5000"} {
		got := lossAnswer(t, edit(0), "--path=general", "--only=log_z", flag)
		s, _ := got["error"].(string)
		_, after, found := strings.Cut(s, "try band ")
		band := 0
		if _, err := fmt.Sscanf(after, "%d", &band); !found || err != nil ||
			!strings.Contains(s, "determinization of the loss") {
			t.Errorf("%s: %v", flag, got)
			continue
		}
		got = lossAnswer(t, edit(band), "--path=general", "--only=log_z,exact", flag)
		want := lossAnswer(t, edit(band), "--path=direct", "--only=log_z")
		if x, ok := want["log_z"].(float64); !ok || agree(got["log_z"], x) != nil || got["exact"] != false {
			t.Errorf("%s, band %d: %v, directly %v", flag, band, got, want)
		}
	}
	// Nothing but the default.
	long := fmt.Sprintf(`{"alphabet":2,"l":6000,"q":1,"yi":[%s0],"tied":true,"w":[0,0],"loss":{"kind":"edit"}}`,
		strings.Repeat("0,1,", 3000))
	if s, _ := lossAnswer(t, long, "--path=general", "--only=log_z")["error"].(string); !strings.Contains(
		s, fmt.Sprint(int64(losses.DefaultBytes))) || !strings.Contains(s, "try band") {
		t.Errorf("6000 symbols: %v", s)
	}
}

// Without flags a machine that is likely beyond the default is refused within its first columns, and
// with bytes that are stated only what certainly is.
func TestLossLikelyBudget(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	yi := make([]string, 34)
	for i := range yi {
		yi[i] = strconv.Itoa(rng.IntN(4))
	}
	line := fmt.Sprintf(`{"alphabet":4,"l":34,"q":1,"yi":[%s],"tied":true,"w":[0,0,0,0],"loss":{"kind":"edit"}}`,
		strings.Join(yi, ","))
	s, _ := lossAnswer(t, line, "--only=log_z")["error"].(string)
	columns := 0
	_, after, _ := strings.Cut(s, " with ")
	if _, err := fmt.Sscanf(after, "%d columns", &columns); err != nil || columns > 1<<18 ||
		!strings.Contains(s, "would likely take") || !strings.Contains(s, "try band") {
		t.Errorf("%d columns: %s", columns, s)
	}
}

// What only columns needs is made only for columns: an n-gram loss whose vectors of counts fit
// the budget, and whose automaton does not, has its values.
func TestLossNGramColumnsBudget(t *testing.T) {
	line := fmt.Sprintf(`{"alphabet":4,"l":40,"q":1,"yi":[%s],"tied":true,"w":[0.3,-0.2,0.1,0],"loss":{"kind":"ngram","n":2,"c":1}}`, strings.Repeat("0,2,1,1,3,1,2,0,3,", 5)[:2*40-1])
	want := lossAnswer(t, line, "--only=log_z,columns")
	for limit := int64(1 << 18); ; limit += limit / 64 {
		flag := fmt.Sprintf("--limit_bytes=%d", limit)
		got := lossAnswer(t, line, "--only=log_z", flag)
		if s, failed := got["error"].(string); failed {
			if !strings.Contains(s, "budget") {
				t.Fatalf("%s: %v", flag, s)
			}
			continue
		}
		if x, ok := want["log_z"].(float64); !ok || agree(got["log_z"], x) != nil {
			t.Errorf("%s: %v, want %v", flag, got, want)
		}
		got = lossAnswer(t, line, "--only=log_z,columns", flag)
		if s, _ := got["error"].(string); !strings.Contains(s, "budget") || strings.Contains(s, "defect") {
			t.Errorf("%s, with columns: %v", flag, got)
		}
		return
	}
}

// A band on a lattice with strings of two lengths is that of each string.
func TestLossBandOnLattice(t *testing.T) {
	lattice := compiled(t, "0 1 1 1 0.5\n0 1 2 2 0.2\n1 2 1 1 0.3\n2 3 2 2\n2 0.25\n3 4 1 1\n3 4 2 2 1\n4\n")
	line := `{"alphabet":2,"yi":[0,0,1,1],"lattice":"` + lattice + `","loss":{"kind":"edit","sub":3,"band":1}}`
	e := losses.Edit{Sub: 3, Ins: 1, Del: 1, Band: 1}
	ref := []int{0, 0, 1, 1}
	sum, differs := 0.0, false
	for _, x := range []struct {
		u     []int
		theta float64
	}{
		{[]int{0, 0}, -1.05}, {[]int{1, 0}, -.75},
		{[]int{0, 0, 1, 0}, -.8}, {[]int{0, 0, 1, 1}, -1.8}, {[]int{1, 0, 1, 0}, -.5}, {[]int{1, 0, 1, 1}, -1.5},
	} {
		exact := e
		exact.Band = 0
		differs = differs || exact.Value(x.u, ref) != e.Value(x.u, ref)
		sum += math.Exp(x.theta + e.Value(x.u, ref))
	}
	got := lossAnswer(t, line, "--only=log_z,exact")
	if err := agree(got["log_z"], math.Log(sum)); err != nil || got["exact"] != false {
		t.Errorf("%v: %v", got, err)
	}
	if !differs {
		t.Error("the band changes nothing")
	}
	got = lossAnswer(t, strings.Replace(line, `"band":1`, `"band":0`, 1), "--only=log_z")
	whole, ok := got["log_z"].(float64)
	got = lossAnswer(t, line, "--only=log_z_error")
	if x, told := got["log_z_error"].(float64); !ok || !told || math.Abs(x-math.Log(sum)+whole) > 0.01 ||
		got["log_z_error_kind"] != "estimate" {
		t.Errorf("%v, the error is %v", got, math.Log(sum)-whole)
	}
}

// What a band costs behind an expansion is what it costs there, and not without.
func TestLossBandBehindExpansion(t *testing.T) {
	expand := compiled(t, "0 0 1 2\n0 1 2 1\n1 0 0 2\n0\n")
	line := `{"alphabet":2,"l":4,"q":1,"yi":[0,0,1,1,0],"theta":[[0,0.3],[0.1,0],[0,0.2],[0,0]],"loss":{"kind":"edit","sub":3,"band":%d},"expand":"` + expand + `"}`
	exact := lossAnswer(t, fmt.Sprintf(line, 0), "--only=log_z,log_z_error")
	for band := 1; band <= 3; band++ {
		got := lossAnswer(t, fmt.Sprintf(line, band), "--only=log_z,log_z_error")
		x, ok := got["log_z_error"].(float64)
		whole, _ := exact["log_z"].(float64)
		banded, _ := got["log_z"].(float64)
		// Band 1 has band 3 and a sample, the others the exact loss beside them.
		if d := banded - whole; !ok || x < d-1e-9 || x > d*1.1+1e-9 ||
			(got["log_z_error_kind"] == "bound") != (band > 1) {
			t.Errorf("band %d: %v, exactly %v", band, got, exact)
		}
	}
	if _, ok := exact["log_z_error"]; ok {
		t.Errorf("an error without a band: %v", exact)
	}
}

// Enumeration tells what a band costs under a cap, which is the difference; the general path
// estimates it.
func TestLossBandCapNaive(t *testing.T) {
	line := `{"alphabet":2,"l":6,"q":1,"yi":[0,0,0,1,1,1],"theta":[[0,0.3],[0.1,0],[0,0.2],[0,0],[0.4,0],[0,0]],"loss":{"kind":"edit","sub":3,"band":%d,"cap":5}}`
	exact := lossAnswer(t, fmt.Sprintf(line, 0), "--path=naive", "--only=log_z,log_z_error")
	banded := lossAnswer(t, fmt.Sprintf(line, 1), "--path=naive", "--only=log_z,log_z_error")
	whole, _ := exact["log_z"].(float64)
	z, _ := banded["log_z"].(float64)
	if z <= whole {
		t.Fatalf("the band changes nothing: %v, exactly %v", banded, exact)
	}
	if err := agree(banded["log_z_error"], z-whole); err != nil || banded["log_z_error_kind"] != "bound" {
		t.Errorf("%v, exactly %v: %v", banded, exact, err)
	}
	general := lossAnswer(t, fmt.Sprintf(line, 1), "--path=general", "--only=log_z_error")
	if x, ok := general["log_z_error"].(float64); !ok || x < (z-whole)*0.99 || x > (z-whole)*1.3 {
		t.Errorf("by the general path %v, the error is %v", general, z-whole)
	}
}
