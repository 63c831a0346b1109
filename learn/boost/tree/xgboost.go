package tree

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// XGBoostTree is a tree in XGBoost's JSON model format (schema version 1.7; later ones
// have these fields too). Its rule is x < split_condition in float32, and a level in
// categories goes right; a level beyond those goes left.
type XGBoostTree struct {
	BaseWeights        []XGBoostNumber `json:"base_weights"`
	Categories         []int32         `json:"categories"`
	CategoriesNodes    []int32         `json:"categories_nodes"`
	CategoriesSegments []int64         `json:"categories_segments"`
	CategoriesSizes    []int64         `json:"categories_sizes"`
	DefaultLeft        []XGBoostFlag   `json:"default_left"`
	ID                 int             `json:"id"`
	LeftChildren       []int32         `json:"left_children"`
	LossChanges        []XGBoostNumber `json:"loss_changes"`
	Parents            []int32         `json:"parents"`
	RightChildren      []int32         `json:"right_children"`
	SplitConditions    []XGBoostNumber `json:"split_conditions"` // of a leaf: its value
	SplitIndices       []int32         `json:"split_indices"`
	SplitType          []int32         `json:"split_type"` // 1: categorical; older files have none
	SumHessian         []XGBoostNumber `json:"sum_hessian"`
	TreeParam          struct {
		NumDeleted     string `json:"num_deleted"`
		NumFeature     string `json:"num_feature"`
		NumNodes       string `json:"num_nodes"`
		SizeLeafVector string `json:"size_leaf_vector"`
	} `json:"tree_param"`
}

// XGBoostNumber is a float32; null, which stands for NaN once JSON is proper, is NaN.
type XGBoostNumber float32

// UnmarshalJSON reads a number or null.
func (n *XGBoostNumber) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*n = XGBoostNumber(math.NaN())
		return nil
	}
	v, err := strconv.ParseFloat(string(b), 32)
	if err != nil {
		return fmt.Errorf("%.40q is not a number of 32 bits", b)
	}
	*n = XGBoostNumber(v)
	return nil
}

// MarshalJSON always writes an exponent: XGBoost takes a number without point and
// exponent for an integer, and refuses it here.
func (n XGBoostNumber) MarshalJSON() ([]byte, error) {
	if v := float64(n); v-v != 0 {
		return nil, fmt.Errorf("JSON has no %v", v)
	}
	return strconv.AppendFloat(nil, float64(n), 'E', -1, 32), nil
}

// XGBoostFlag is written 0 and 1, or false and true by some versions.
type XGBoostFlag bool

// UnmarshalJSON reads either form.
func (f *XGBoostFlag) UnmarshalJSON(b []byte) error {
	switch string(b) {
	case "0", "false":
		*f = false
	case "1", "true":
		*f = true
	default:
		return fmt.Errorf("%.40q is neither 0 nor 1", b)
	}
	return nil
}

// MarshalJSON writes 0 or 1.
func (f XGBoostFlag) MarshalJSON() ([]byte, error) {
	if f {
		return []byte("1"), nil
	}
	return []byte("0"), nil
}

var (
	_ json.Unmarshaler = (*XGBoostNumber)(nil)
	_ json.Marshaler   = XGBoostNumber(0)
)

// noParent is XGBoost's mark at the root.
const noParent = math.MaxInt32

// XGBoost returns the tree in XGBoost's form, leaf values multiplied by weight. Levels gives the
// number of levels of a categorical column; a new level that occurs later goes left in XGBoost,
// unlike here. Every threshold on float32 features has an equivalent, except above the largest
// float32: an error names the node.
func (t *Tree) XGBoost(id, columns int, weight float64, levels func(column int) int) (*XGBoostTree, error) {
	n := len(t.Feature)
	x := &XGBoostTree{ID: id, Categories: []int32{}, CategoriesNodes: []int32{}, CategoriesSegments: []int64{},
		CategoriesSizes: []int64{}}
	x.TreeParam.NumDeleted, x.TreeParam.SizeLeafVector = "0", "0"
	x.TreeParam.NumFeature, x.TreeParam.NumNodes = strconv.Itoa(columns), strconv.Itoa(n)
	x.BaseWeights, x.LossChanges, x.SplitConditions, x.SumHessian = make([]XGBoostNumber, n),
		make([]XGBoostNumber, n), make([]XGBoostNumber, n), make([]XGBoostNumber, n)
	x.DefaultLeft = make([]XGBoostFlag, n)
	x.LeftChildren, x.RightChildren, x.Parents = make([]int32, n), make([]int32, n), make([]int32, n)
	x.SplitIndices, x.SplitType = make([]int32, n), make([]int32, n)
	x.Parents[0] = noParent
	means := t.means()
	for at := range n {
		for _, v := range []struct {
			to   *XGBoostNumber
			from float64
		}{{&x.BaseWeights[at], weight * means[at]}, {&x.LossChanges[at], t.Gain[at]},
			{&x.SumHessian[at], t.Cover[at]}} {
			*v.to = XGBoostNumber(min(max(v.from, -math.MaxFloat32), math.MaxFloat32))
		}
		x.LeftChildren[at], x.RightChildren[at] = t.Left[at], t.Right[at]
		if t.Feature[at] < 0 {
			v := float32(weight * t.Value[at])
			if v-v != 0 {
				return nil, fmt.Errorf("tree: node %d: %w: the leaf value %v does not fit a number of 32 bits", at,
					ErrData, weight*t.Value[at])
			}
			x.SplitConditions[at] = XGBoostNumber(v)
			continue
		}
		x.Parents[t.Left[at]], x.Parents[t.Right[at]] = int32(at), int32(at)
		x.SplitIndices[at] = t.Feature[at]
		x.DefaultLeft[at] = t.Flags[at]&MissingLeft != 0
		if t.set(at) >= 0 && x.addSet(t, at, levels(int(t.Feature[at]))) {
			continue
		}
		if t.set(at) >= 0 {
			// No level goes right: in XGBoost a number below all bounds.
			x.SplitConditions[at] = math.MaxFloat32
			continue
		}
		c := math.Nextafter32(floor32(t.Threshold[at]), float32(math.Inf(1)))
		if c-c != 0 || c != c {
			return nil, fmt.Errorf("tree: node %d: %w: no number of 32 bits lies above the threshold %v of column %d",
				at, ErrData, t.Threshold[at], t.Feature[at])
		}
		x.SplitConditions[at] = XGBoostNumber(c)
	}
	return x, nil
}

// addSet adds the levels that go right; it reports false when there are none.
func (x *XGBoostTree) addSet(t *Tree, at, levels int) bool {
	from := len(x.Categories)
	for l := range max(levels, 64*len(t.Sets[t.set(at)])) {
		if l < MaxLevel && !t.goesLeft(int32(at), float32(l)) && l < levels {
			x.Categories = append(x.Categories, int32(l))
		}
	}
	if len(x.Categories) == from {
		return false
	}
	x.SplitType[at] = 1
	x.CategoriesNodes = append(x.CategoriesNodes, int32(at))
	x.CategoriesSegments = append(x.CategoriesSegments, int64(from))
	x.CategoriesSizes = append(x.CategoriesSizes, int64(len(x.Categories)-from))
	return true
}

// means are the nodes' mean leaf values, leaves weighted by their cover.
func (t *Tree) means() []float64 {
	out := make([]float64, len(t.Feature))
	for at := len(out) - 1; at >= 0; at-- {
		if t.Feature[at] < 0 {
			out[at] = t.Value[at]
			continue
		}
		l, r := t.Left[at], t.Right[at]
		if sum := t.Cover[l] + t.Cover[r]; sum > 0 {
			out[at] = (t.Cover[l]*out[l] + t.Cover[r]*out[r]) / sum
		} else {
			out[at] = out[l]/2 + out[r]/2
		}
	}
	return out
}

// Tree returns the tree in this package's form, on that many columns. Nodes are renumbered level by
// level, without those that XGBoost has deleted. It trusts nothing: what is not a tree is an error
// that names the node.
func (x *XGBoostTree) Tree(columns int) (*Tree, error) {
	n := len(x.LeftChildren)
	for _, a := range []struct {
		name string
		n    int
	}{{"right_children", len(x.RightChildren)}, {"split_conditions", len(x.SplitConditions)},
		{"split_indices", len(x.SplitIndices)}, {"default_left", len(x.DefaultLeft)}} {
		if a.n != n || n == 0 {
			return nil, fmt.Errorf("tree: %w: %d entries in left_children, %d in %s", ErrData, n, a.n, a.name)
		}
	}
	for _, a := range []struct {
		name string
		n    int
	}{{"split_type", len(x.SplitType)}, {"loss_changes", len(x.LossChanges)},
		{"sum_hessian", len(x.SumHessian)}} {
		if a.n != 0 && a.n != n {
			return nil, fmt.Errorf("tree: %w: %d entries in left_children, %d in %s", ErrData, n, a.n, a.name)
		}
	}
	if s := x.TreeParam.SizeLeafVector; s != "" && s != "0" && s != "1" {
		return nil, fmt.Errorf("tree: %w: leaves are vectors of %s values; only single values are supported",
			ErrData, s)
	}
	sets, err := x.sets(n)
	if err != nil {
		return nil, err
	}
	order, seen := make([]int32, 1, n), make([]bool, n)
	seen[0] = true
	number := make([]int32, n)
	for k := 0; k < len(order); k++ {
		at := order[k]
		number[at] = int32(k)
		l, r := x.LeftChildren[at], x.RightChildren[at]
		if l == -1 && r == -1 {
			continue
		}
		for _, c := range []int32{l, r} {
			if c < 0 || int(c) >= n || seen[c] {
				return nil, fmt.Errorf("tree: node %d: %w: child %d of %d nodes is missing or has two parents",
					at, ErrData, c, n)
			}
			seen[c] = true
			order = append(order, c)
		}
	}
	t := newTree(len(order))
	for k, at := range order {
		if x.LossChanges != nil {
			t.Gain[k] = float64(x.LossChanges[at])
		}
		if x.SumHessian != nil {
			t.Cover[k] = float64(x.SumHessian[at])
		}
		c := float64(x.SplitConditions[at])
		if x.LeftChildren[at] == -1 {
			t.Gain[k], t.Value[k] = 0, c
			continue
		}
		t.Feature[k] = x.SplitIndices[at]
		if t.Feature[k] < 0 {
			return nil, fmt.Errorf("tree: node %d: %w: it splits on column %d", at, ErrData, t.Feature[k])
		}
		t.Left[k], t.Right[k] = number[x.LeftChildren[at]], number[x.RightChildren[at]]
		if x.DefaultLeft[at] {
			t.Flags[k] |= MissingLeft
		}
		if x.SplitType != nil && x.SplitType[at] == 1 {
			// Levels in the list go right, all others left.
			t.Flags[k] |= OutsideLeft
			t.SetLevels(k, sets[at])
			continue
		}
		if c-c != 0 {
			return nil, fmt.Errorf("tree: node %d: %w: the split condition is %v", at, ErrData, c)
		}
		t.Threshold[k] = math.Nextafter(c, math.Inf(-1))
	}
	if err := t.Check(columns); err != nil {
		return nil, err
	}
	return t, nil
}

// A file of a few bytes may name a high category: what that may cost is bounded.
const (
	maxXGBoostLevels = 1 << 16
	maxXGBoostWords  = 1 << 21
)

// sets returns the levels that go left at each categorical node, up to the largest
// that goes right.
func (x *XGBoostTree) sets(n int) (map[int32][]uint64, error) {
	out, words := map[int32][]uint64{}, 0
	if len(x.CategoriesNodes) != len(x.CategoriesSegments) || len(x.CategoriesNodes) != len(x.CategoriesSizes) {
		return nil, fmt.Errorf("tree: %w: %d categories_nodes, %d segments, %d sizes", ErrData,
			len(x.CategoriesNodes), len(x.CategoriesSegments), len(x.CategoriesSizes))
	}
	for i, at := range x.CategoriesNodes {
		from, size := x.CategoriesSegments[i], x.CategoriesSizes[i]
		if from < 0 || size < 0 || from > int64(len(x.Categories)) || size > int64(len(x.Categories))-from {
			return nil, fmt.Errorf("tree: node %d: %w: categories %d to %d of %d", at, ErrData, from, from+size,
				len(x.Categories))
		}
		var set []uint64
		for _, l := range x.Categories[from : from+size] {
			if l < 0 || l >= maxXGBoostLevels {
				return nil, fmt.Errorf("tree: node %d: %w: category %d; they may be 0 to %d", at, ErrData, l,
					maxXGBoostLevels-1)
			}
			for int(l) >= 64*len(set) {
				set = append(set, ^uint64(0))
				words++
			}
			set[l>>6] &^= 1 << (l & 63)
		}
		out[at] = set
		if words > maxXGBoostWords {
			return nil, fmt.Errorf("tree: node %d: %w: the tree's sets of categories take more than %d MB", at,
				ErrData, maxXGBoostWords>>17)
		}
	}
	for at, kind := range x.SplitType {
		if _, ok := out[int32(at)]; kind == 1 && !ok {
			return nil, fmt.Errorf("tree: node %d: %w: a categorical split without categories", at, ErrData)
		}
	}
	return out, nil
}
