package model_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tropica-fst/tropica/fst/fsttest"
	"github.com/tropica-fst/tropica/learn/model"
)

type settings struct {
	Order  int     `json:"order"`
	Lambda float64 `json:"lambda"`
	Note   string  `json:"note"`
}

func sample(t testing.TB) *model.Container {
	c := model.New("sequence", 2)
	if err := c.SetMeta(settings{2, 0.1, "ä < b"}); err != nil {
		t.Fatal(err)
	}
	model.Put(c, "w", []float64{0, math.Copysign(0, -1), math.Inf(1), math.NaN(), 5e-324, math.Pi}, 2, 3)
	model.Put(c, "f", []float32{1.5, -2})
	model.Put(c, "i", []int64{math.MinInt64, math.MaxInt64})
	model.Put(c, "j", []int32{-1, 2, 3})
	model.Put(c, "k", []uint64{math.MaxUint64})
	model.Put(c, "l", []uint32{7})
	model.Put(c, "b", []uint8("abc"))
	model.Put(c, "none", []float64{}, 0, 4)
	if err := c.PutStrings("labels", []string{"", "B-NP", "ö\x00x"}); err != nil {
		t.Fatal(err)
	}
	return c
}

func encode(t testing.TB, c *model.Container) []byte {
	var b bytes.Buffer
	if err := c.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestRoundTrip(t *testing.T) {
	raw := encode(t, sample(t))
	c, err := model.Read(bytes.NewReader(raw), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Expect("sequence", 2); err != nil {
		t.Fatal(err)
	}
	var m settings
	if err := c.Meta(&m); err != nil || m != (settings{2, 0.1, "ä < b"}) {
		t.Fatalf("meta %+v, %v", m, err)
	}
	w, err := model.Get[float64](c, "w", 2, -1)
	if err != nil {
		t.Fatal(err)
	}
	want, _ := model.Get[float64](sample(t), "w")
	for i := range w {
		if math.Float64bits(w[i]) != math.Float64bits(want[i]) {
			t.Errorf("w[%d] = %x, want %x", i, w[i], want[i])
		}
	}
	labels, err := c.Strings("labels")
	if err != nil || !slices.Equal(labels, []string{"", "B-NP", "ö\x00x"}) {
		t.Fatalf("labels %q, %v", labels, err)
	}
	if j, err := model.Get[int32](c, "j"); err != nil || !slices.Equal(j, []int32{-1, 2, 3}) {
		t.Fatalf("j %v, %v", j, err)
	}
	if shape, ok := c.Shape("none"); !ok || !slices.Equal(shape, []int{0, 4}) {
		t.Fatalf("shape %v", shape)
	}
	if again := encode(t, c); !bytes.Equal(again, raw) {
		t.Error("what was read is not written back as it was")
	}
}

// The layout is a promise to later programs: these bytes may never change.
func TestLayoutIsFixed(t *testing.T) {
	c := model.New("k", 1)
	model.Put(c, "a", []uint8{1, 2, 3})
	raw := encode(t, c)
	head := `{"kind":"k","version":1,"arrays":[{"name":"a","dtype":"uint8","shape":[3],"bytes":3}]}`
	want := []byte("TROPICA\n\x01\x00\x00\x00")
	want = binary.LittleEndian.AppendUint32(want, uint32(len(head)))
	want = append(want, head...)
	for len(want)%8 != 0 {
		want = append(want, 0)
	}
	want = append(want, 1, 2, 3, 0, 0, 0, 0, 0)
	sum := sha256.Sum256(want)
	want = append(want, sum[:]...)
	if diff := cmp.Diff(want, raw); diff != "" {
		t.Error(diff)
	}
}

func TestEveryCutAndFlipIsSeen(t *testing.T) {
	raw := encode(t, sample(t))
	for n := range raw {
		_, err := model.Read(bytes.NewReader(raw[:n]), nil)
		var at *model.FormatError
		if !errors.Is(err, model.ErrFormat) || !errors.As(err, &at) || at.Offset != int64(n) {
			t.Fatalf("cut at %d of %d: %v", n, len(raw), err)
		}
	}
	for n := range raw {
		for _, bit := range []byte{1, 0x80} {
			bad := slices.Clone(raw)
			bad[n] ^= bit
			if _, err := model.Read(bytes.NewReader(bad), nil); err == nil {
				t.Fatalf("byte %d changed by %#x, not seen", n, bit)
			}
		}
	}
	if _, err := model.Read(bytes.NewReader(append(slices.Clone(raw), 0)), nil); !errors.Is(
		err, model.ErrFormat) {
		t.Errorf("trailing byte: %v", err)
	}
}

// forge builds a file with a right checksum around any header and body.
func forge(header, body string) []byte {
	b := []byte("TROPICA\n\x01\x00\x00\x00")
	b = binary.LittleEndian.AppendUint32(b, uint32(len(header)))
	b = append(b, header...)
	for len(b)%8 != 0 {
		b = append(b, 0)
	}
	b = append(b, body...)
	sum := sha256.Sum256(b)
	return append(b, sum[:]...)
}

func TestHostileHeaders(t *testing.T) {
	arrays := func(s string) string { return `{"kind":"k","version":1,"arrays":[` + s + `]}` }
	for name, f := range map[string]struct{ header, body string }{
		"huge array": {arrays(`{"name":"a","dtype":"float64","shape":[100000000000],"bytes":800000000000}`),
			"12345678"},
		"overflowing": {arrays(
			`{"name":"a","dtype":"float64","shape":[4294967296,4294967296,4294967296],"bytes":0}`), ""},
		"negative":  {arrays(`{"name":"a","dtype":"float64","shape":[-1],"bytes":-8}`), ""},
		"no shape":  {arrays(`{"name":"a","dtype":"float64","shape":[],"bytes":8}`), "12345678"},
		"bytes lie": {arrays(`{"name":"a","dtype":"float64","shape":[2],"bytes":8}`), "12345678"},
		"unknown type": {arrays(`{"name":"a","dtype":"bool","shape":[1],"bytes":1}`),
			"1\x00\x00\x00\x00\x00\x00\x00"},
		"same name": {arrays(
			`{"name":"a","dtype":"uint8","shape":[0],"bytes":0},{"name":"a","dtype":"uint8","shape":[0],"bytes":0}`),
			""},
		"no name":        {arrays(`{"dtype":"uint8","shape":[0],"bytes":0}`), ""},
		"long string":    {arrays(`{"name":"a","dtype":"utf8","shape":[1],"bytes":8}`), "\xff\xff\xff\xffabcd"},
		"text left over": {arrays(`{"name":"a","dtype":"utf8","shape":[1],"bytes":8}`), "\x01\x00\x00\x00abcd"},
		"not utf8": {arrays(`{"name":"a","dtype":"utf8","shape":[1],"bytes":8}`),
			"\x04\x00\x00\x00ab\xffd"},
		"strings too many": {arrays(`{"name":"a","dtype":"utf8","shape":[3],"bytes":8}`), "12345678"},
		"version 0":        {`{"kind":"k","version":0,"arrays":[]}`, ""},
		"not an object":    {`[]`, ""},
		"meta not object":  {`{"kind":"k","version":1,"meta":3,"arrays":[]}`, ""},
		"not JSON":         {`{"kind":`, ""},
	} {
		_, err := model.Read(bytes.NewReader(forge(f.header, f.body)), nil)
		if !errors.Is(err, model.ErrFormat) {
			t.Errorf("%s: %v", name, err)
		}
	}
	later := forge(`{"kind":"k","version":1,"colour":"red","arrays":[{"name":"a","dtype":"uint8","shape":[0],"bytes":0,"unit":"m"}]}`, "")
	if _, err := model.Read(bytes.NewReader(later), nil); err != nil {
		t.Errorf("fields of a later program: %v", err)
	}
}

func TestExpect(t *testing.T) {
	c := sample(t)
	for _, x := range []struct {
		kind   string
		newest int
		want   error
	}{{"sequence", 2, nil}, {"sequence", 3, nil}, {"sequence", 1, model.ErrVersion},
		{"boost", 2, model.ErrKind}} {
		if err := c.Expect(x.kind, x.newest); !errors.Is(err, x.want) || (err == nil) != (x.want == nil) {
			t.Errorf("Expect(%q, %d) = %v", x.kind, x.newest, err)
		}
	}
	if _, err := model.Get[float32](c, "w"); !errors.Is(err, model.ErrMissing) {
		t.Error(err)
	}
	if _, err := c.Strings("absent"); !errors.Is(err, model.ErrMissing) {
		t.Error(err)
	}
	if _, err := model.Get[float64](c, "w", 3, 2); !errors.Is(err, model.ErrFormat) {
		t.Error(err)
	}
	if err := c.PutStrings("x", []string{"\xff"}); err == nil {
		t.Error("a string that is not UTF-8 was taken")
	}
	if _, err := model.Read(bytes.NewReader(encode(t, c)), &model.ReadOptions{MaxBytes: 600}); !errors.Is(
		err, model.ErrFormat) || !strings.Contains(err.Error(), "limit") {
		t.Errorf("limit: %v", err)
	}
}

func FuzzRead(f *testing.F) {
	raw := encode(f, sample(f))
	f.Add(raw)
	f.Add(raw[:40])
	f.Add(forge(`{"kind":"k","version":1,"arrays":[{"name":"a","dtype":"utf8","shape":[1],"bytes":8}]}`,
		"\x04\x00\x00\x00abcd"))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, in := range [][]byte{b, refreshed(b)} {
			var c *model.Container
			var err error
			fsttest.Allocating(t, 2<<20+64*len(in), func() { c, err = model.Read(bytes.NewReader(in), nil) })
			if err != nil {
				continue
			}
			if _, err := model.Read(bytes.NewReader(in[:len(in)-1]), nil); err == nil {
				t.Fatal("accepted without its last byte, too")
			}
			again, err := model.Read(bytes.NewReader(encode(t, c)), nil)
			if err != nil {
				t.Fatalf("accepted, written, not read: %v", err)
			}
			if !bytes.Equal(encode(t, c), encode(t, again)) {
				t.Fatal("not the same after a second round")
			}
		}
	})
}

// refreshed puts the right checksum at the end, so that fuzzing gets past it.
func refreshed(b []byte) []byte {
	if len(b) < 32 {
		return b
	}
	body := b[:len(b)-32]
	sum := sha256.Sum256(body)
	return append(slices.Clone(body), sum[:]...)
}

func Example() {
	c := model.New("threshold", 1)
	if err := c.SetMeta(map[string]string{"made for": "an example"}); err != nil {
		fmt.Println(err)
	}
	model.Put(c, "weights", []float64{0.5, -1, 2, 0}, 2, 2)
	var file bytes.Buffer
	if err := c.Write(&file); err != nil {
		fmt.Println(err)
	}

	d, err := model.Read(&file, nil)
	if err != nil {
		fmt.Println(err)
	}
	if err := d.Expect("threshold", 1); err != nil {
		fmt.Println(err)
	}
	w, err := model.Get[float64](d, "weights", 2, 2)
	fmt.Println(w, err)
	// Output: [0.5 -1 2 0] <nil>
}
