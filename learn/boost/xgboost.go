package boost

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/tropica-fst/tropica/learn/boost/tree"
	"github.com/tropica-fst/tropica/learn/optim/score"
)

// xgbModel is the part of XGBoost's JSON model format that a booster of trees has.
type xgbModel struct {
	Learner struct {
		Attributes      map[string]string `json:"attributes"`
		FeatureNames    []string          `json:"feature_names"`
		FeatureTypes    []string          `json:"feature_types"`
		GradientBooster struct {
			Model struct {
				Param    map[string]string   `json:"gbtree_model_param"`
				TreeInfo []int               `json:"tree_info"`
				Trees    []*tree.XGBoostTree `json:"trees"`
			} `json:"model"`
			Name string `json:"name"`
		} `json:"gradient_booster"`
		Param     map[string]string `json:"learner_model_param"`
		Objective map[string]any    `json:"objective"`
	} `json:"learner"`
	Version []int `json:"version"`
}

// ErrXGBoost reports a model that has no counterpart on the other side.
var ErrXGBoost = errors.New("not a model that both programs have")

// WriteXGBoost writes an ensemble of trees as an XGBoost model (JSON, schema version
// 1.7). The logistic losses become binary:logistic, squared reg:squarederror,
// soft-max multi:softprob; other losses and predictors other than trees are errors.
//
// XGBoost keeps leaf values, and adds them up, in 32 bits, so that scores agree to about
// 1e-7 a tree. Thresholds are exact. Where the start scores are not a base_score
// that XGBoost keeps to that precision, a tree of one leaf for each score comes
// first. In column names the characters [, ] and <, which XGBoost refuses, and control
// characters become underscores. A level that the training table did not have goes left in
// XGBoost, and here where missing values go.
func (e *Ensemble) WriteXGBoost(w io.Writer) error {
	var m xgbModel
	k, d := e.Outputs(), len(e.Schema.Columns)
	l := &m.Learner
	base, classes := 0.0, "0"
	switch e.Loss.(type) {
	case Logistic:
		l.Objective = map[string]any{"name": "binary:logistic",
			"reg_loss_param": map[string]string{"scale_pos_weight": "1"}}
		base = float64(float32(score.Sigmoid(e.Start[0])))
	case Squared:
		l.Objective = map[string]any{"name": "reg:squarederror",
			"reg_loss_param": map[string]string{"scale_pos_weight": "1"}}
		base = float64(float32(e.Start[0]))
	case SoftMax:
		classes = strconv.Itoa(k)
		l.Objective = map[string]any{"name": "multi:softprob", "softmax_multiclass_param": map[string]string{
			"num_class": classes}}
		base = float64(float32(e.Start[0])) // of all classes; where they differ, trees of one leaf make up for it
	default:
		return fmt.Errorf("boost: %w: XGBoost has no objective like the %s loss", ErrXGBoost, e.Loss.Name())
	}
	g := &l.GradientBooster
	g.Name = "gbtree"
	g.Model.TreeInfo, g.Model.Trees = []int{}, []*tree.XGBoostTree{}
	add := func(t *tree.Tree, weight float64, output int) error {
		x, err := t.XGBoost(len(g.Model.Trees), d, weight,
			func(j int) int { return len(e.Schema.Columns[j].Levels) })
		if err != nil {
			return fmt.Errorf("boost: tree %d: %w: %w", len(g.Model.Trees), ErrXGBoost, err)
		}
		g.Model.TreeInfo = append(g.Model.TreeInfo, output)
		g.Model.Trees = append(g.Model.Trees, x)
		return nil
	}
	if near := margin(e.Loss, base); slices.ContainsFunc(
		e.Start, func(v float64) bool { return !(math.Abs(v-near) <= 1e-7*max(1, math.Abs(v))) }) {
		if k == 1 {
			base = 0.5
		}
		near = margin(e.Loss, base)
		for c, v := range e.Start {
			if err := add(leaf(v-near), 1, c); err != nil {
				return err
			}
		}
	}
	// An iteration of XGBoost has one tree for each output, in their order.
	next := 0
	best, stopped := XGBoostBest(e)
	trees := 0 // of the rounds up to the best
	for i := range e.Terms {
		t := &e.Terms[i]
		p, weight := t.Predictor, t.Weight
		if s, ok := p.(Scaled); ok {
			p, weight = s.Of, weight*s.Factor
		}
		grown, ok := p.(*tree.Tree)
		if !ok {
			return fmt.Errorf("boost: term %d: %w: %T is not a tree", i, ErrXGBoost, p)
		}
		for ; next%k != t.Output; next++ {
			if err := add(leaf(0), 1, next%k); err != nil {
				return err
			}
		}
		if err := add(grown, weight, t.Output); err != nil {
			return err
		}
		next++
		if t.Round < best {
			trees = len(g.Model.Trees)
		}
	}
	for ; next%k != 0; next++ {
		if err := add(leaf(0), 1, next%k); err != nil {
			return err
		}
	}
	g.Model.Param = map[string]string{"num_parallel_tree": "1", "num_trees": strconv.Itoa(len(g.Model.Trees)),
		"size_leaf_vector": "0"}
	l.Attributes = map[string]string{}
	if stopped {
		l.Attributes["best_iteration"] = strconv.Itoa((trees+k-1)/k - 1)
	}
	l.FeatureNames, l.FeatureTypes = []string{}, []string{}
	for _, c := range e.Schema.Columns {
		l.FeatureNames = append(l.FeatureNames, strings.Map(xgbNameRune, c.Name))
		kind := "float"
		if c.Categorical {
			kind = "c"
		}
		l.FeatureTypes = append(l.FeatureTypes, kind)
	}
	l.Param = map[string]string{"base_score": strconv.FormatFloat(base, 'E', -1, 32), "boost_from_average": "1",
		"num_class": classes, "num_feature": strconv.Itoa(d), "num_target": "1"}
	m.Version = []int{1, 7, 4}
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false) // XGBoost would keep \u0026 as six characters of a name
	return out.Encode(&m)
}

// xgbNameRune replaces what XGBoost refuses in names of columns, and what JSON can write only by
// escapes that its reader does not decode.
func xgbNameRune(r rune) rune {
	if strings.ContainsRune("[]<\u2028\u2029", r) || r < ' ' && r != '\t' && r != '\n' && r != '\r' {
		return '_'
	}
	return r
}

// leaf is a tree of one leaf.
func leaf(v float64) *tree.Tree {
	return &tree.Tree{Feature: []int32{-1}, Threshold: []float64{0}, Left: []int32{-1}, Right: []int32{-1},
		Flags: []uint8{0}, Value: []float64{v}, Gain: []float64{0}, Cover: []float64{0}, Count: []int32{0}}
}

// margin is the score that a base_score stands for.
func margin(l Loss, base float64) float64 {
	if _, ok := l.(Logistic); ok {
		return math.Log(base / (1 - base))
	}
	return base
}

// ReadXGBoost reads an XGBoost model of trees: booster gbtree, JSON as save_model writes it, from
// version 1.0 on. Objectives are binary:logistic, reg:logistic, binary:logitraw, reg:squarederror,
// multi:softprob and multi:softmax. Predictions are XGBoost's except for rounding: scores are added
// up in 64 bits here.
//
// If like is not nil, columns, levels and classes are its. It must have as many columns as the
// model, of the same kinds. It may also be a LIBSVM file that counts columns from 1, which has one
// more to XGBoost. Without it columns have the model's names, or f0, f1, …, and levels and classes
// are numbers.
//
// What a LIBSVM file leaves out is missing to such a model (Schema.AbsentMissing): XGBoost reads
// it so.
//
// All trees are kept. Where XGBoost stopped early it notes best_iteration, counted from 0. The note
// stays in Settings, and XGBoostBest returns it. XGBoost's wrapper for scikit-learn predicts with
// that many rounds plus one, its Booster with all.
//
// The reader does not trust its input. Errors name the tree and node.
func ReadXGBoost(r io.Reader, like *Schema) (*Ensemble, error) {
	m, err := decodeXGBoost(r)
	if err != nil {
		return nil, err
	}
	columns, err := m.count("num_feature", 1<<30)
	if err != nil {
		return nil, err
	}
	e := &Ensemble{Algorithm: "xgboost"}
	classifies, err := m.objective(e)
	if err != nil {
		return nil, err
	}
	trees, err := m.trees(e, columns)
	if err != nil {
		return nil, err
	}
	l := &m.Learner
	if best, err := strconv.Atoi(l.Attributes["best_iteration"]); err == nil && best >= 0 &&
		best+1 < e.Rounds() {
		e.Settings = fmt.Sprintf(`{"best_iteration":%d}`, best)
	}
	if e.Schema, err = xgbSchema(l.FeatureNames, l.FeatureTypes, columns, like, e.Outputs(), classifies,
		trees); err != nil {
		return nil, err
	}
	for i, t := range trees {
		if err := fitColumns(t, e.Schema); err != nil {
			return nil, badXGBoost("tree %d, %v", i, err)
		}
	}
	return e, nil
}

func badXGBoost(format string, v ...any) error {
	return fmt.Errorf("boost: XGBoost model: %w: %s", ErrXGBoost, fmt.Sprintf(format, v...))
}

// decodeXGBoost reads the JSON of a model of trees.
func decodeXGBoost(r io.Reader) (*xgbModel, error) {
	raw, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("boost: XGBoost model: %w", err)
	}
	// After the brace the text form has a quote or a space. The binary form, which save_model
	// writes under other names, has the type of a length.
	if len(raw) > 1 && raw[0] == '{' && strings.IndexByte("LliIU#$", raw[1]) >= 0 {
		return nil, badXGBoost("it is in XGBoost's binary form (UBJSON); load it in XGBoost and save it by a " +
			"name that ends in .json")
	}
	var m xgbModel
	if err := json.Unmarshal(properJSON(raw), &m); err != nil {
		return nil, badXGBoost("%v", err)
	}
	if name := m.Learner.GradientBooster.Name; name != "gbtree" {
		return nil, badXGBoost("the booster is %q; only gbtree is supported", name)
	}
	return &m, nil
}

// count reads a parameter that is a number of things.
func (m *xgbModel) count(key string, most int) (int, error) {
	n, err := strconv.Atoi(m.Learner.Param[key])
	if err != nil || n < 0 || n > most {
		return 0, badXGBoost("%s is %q", key, m.Learner.Param[key])
	}
	return n, nil
}

// objective sets the loss and the start scores, and reports whether the model tells classes apart.
func (m *xgbModel) objective(e *Ensemble) (classifies bool, err error) {
	l := &m.Learner
	bases, ok := baseScores(l.Param["base_score"])
	if !ok {
		return false, badXGBoost("base_score is %q", l.Param["base_score"])
	}
	base := bases[0]
	objective, _ := l.Objective["name"].(string)
	switch objective {
	case "binary:logistic", "reg:logistic":
		if e.Loss = (Logistic{}); !(base > 0 && base < 1) {
			return false, badXGBoost("base_score is %v, not a probability", base)
		}
		e.Start = []float64{margin(e.Loss, base)}
	case "binary:logitraw":
		e.Loss, e.Start = Logistic{}, []float64{base}
	case "reg:squarederror", "reg:linear":
		e.Loss, e.Start = Squared{}, []float64{base}
	case "multi:softprob", "multi:softmax":
		k, err := m.count("num_class", score.MaxClasses)
		if err != nil {
			return false, err
		}
		if k < 2 {
			return false, badXGBoost("%s with %d classes", objective, k)
		}
		e.Loss, e.Start = SoftMax{Classes: k}, bases
		if len(bases) == 1 {
			e.Start = slices.Repeat(bases, k)
		}
	default:
		return false, badXGBoost("the objective is %q; supported are binary:logistic, binary:logitraw, "+
			"reg:logistic, reg:squarederror, multi:softprob and multi:softmax", objective)
	}
	if k := e.Outputs(); len(e.Start) != k || len(bases) > k {
		return false, badXGBoost("base_score has %d numbers for %d scores", len(bases), k)
	}
	return objective != "reg:squarederror" && objective != "reg:linear", nil
}

// trees appends a term for each tree, and returns the trees.
func (m *xgbModel) trees(e *Ensemble, columns int) ([]*tree.Tree, error) {
	g := &m.Learner.GradientBooster.Model
	if len(g.TreeInfo) != len(g.Trees) {
		return nil, badXGBoost("%d trees, tree_info has %d entries", len(g.Trees), len(g.TreeInfo))
	}
	parallel := 1 // trees of a round for each output
	if s, ok := g.Param["num_parallel_tree"]; ok {
		n, err := strconv.Atoi(s)
		if err != nil || n < 0 || n > 1<<30 {
			return nil, badXGBoost("num_parallel_tree is %q", s)
		}
		parallel = max(n, 1)
	}
	trees := make([]*tree.Tree, len(g.Trees))
	for i, x := range g.Trees {
		if x == nil {
			return nil, badXGBoost("tree %d is null", i)
		}
		t, err := x.Tree(columns)
		if err != nil {
			return nil, badXGBoost("tree %d: %v", i, err)
		}
		if c := g.TreeInfo[i]; c < 0 || c >= e.Outputs() {
			return nil, badXGBoost("tree %d adds to output %d of %d", i, c, e.Outputs())
		}
		trees[i] = t
		e.Terms = append(e.Terms, Term{Weight: 1, Predictor: t, Output: g.TreeInfo[i], Family: -1,
			Round: i / (parallel * e.Outputs())})
	}
	return trees, nil
}

// fitColumns makes the splits of a tree fit the kinds of its columns: an error where one cannot.
func fitColumns(t *tree.Tree, schema Schema) error {
	for at, f := range t.Feature {
		if f < 0 || schema.Columns[f].Categorical == (t.Set != nil && t.Set[at] >= 0) {
			continue
		}
		if t.Set != nil && t.Set[at] >= 0 || t.Threshold[at] < tree.MaxLevel {
			return fmt.Errorf("node %d: it splits column %q as the other kind", at, schema.Columns[f].Name)
		}
		// Every level is below the bound: the split tells what is there from
		// what is missing.
		t.SetLevels(at, nil)
		t.Flags[at] |= tree.OutsideLeft
	}
	return nil
}

// baseScores reads base_score: a number, or from version 3.1 on a list of them, one for each
// score or for all.
func baseScores(text string) ([]float64, bool) {
	if inner, ok := strings.CutPrefix(text, "["); ok {
		if text, ok = strings.CutSuffix(inner, "]"); !ok {
			return nil, false
		}
	}
	var out []float64
	for s := range strings.SplitSeq(text, ",") {
		v, err := strconv.ParseFloat(s, 32)
		if err != nil || v-v != 0 {
			return nil, false
		}
		out = append(out, v)
	}
	return out, true
}

// XGBoostBest returns the number of rounds that XGBoost's early stopping found best, of an
// imported model that has more; ok is false for others.
func XGBoostBest(e *Ensemble) (rounds int, ok bool) {
	var s struct {
		Best *int `json:"best_iteration"`
	}
	if e.Algorithm != "xgboost" || e.Settings == "" || json.Unmarshal([]byte(e.Settings), &s) != nil ||
		s.Best == nil || *s.Best < 0 || *s.Best >= e.Rounds() {
		return 0, false
	}
	return *s.Best + 1, true
}

// properJSON replaces the numbers that JSON lacks and XGBoost writes, NaN, Infinity and
// -Infinity, by null.
func properJSON(raw []byte) []byte {
	if !bytes.Contains(raw, []byte("NaN")) && !bytes.Contains(raw, []byte("Infinity")) {
		return raw
	}
	out := make([]byte, 0, len(raw)+len(raw)/8)
	quoted := false
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		switch {
		case quoted && c == '\\' && i+1 < len(raw):
			out = append(out, c)
			i++
			c = raw[i]
		case c == '"':
			quoted = !quoted
		case quoted:
		default:
			rest := raw[i:]
			skip := 0
			for _, word := range []string{"NaN", "-NaN", "Infinity", "-Infinity"} {
				if bytes.HasPrefix(rest, []byte(word)) {
					skip = len(word)
				}
			}
			if skip > 0 {
				out = append(out, "null"...)
				i += skip - 1
				continue
			}
		}
		out = append(out, c)
	}
	return out
}
