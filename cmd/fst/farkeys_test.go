package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tropica-fst/tropica/fst"
	"github.com/tropica-fst/tropica/semiring"
)

// archiveOfKeys is an archive whose machine under key kI has I+1 states, in which every key but the
// first comes twice.
func archiveOfKeys(typ fst.ArchiveType, n int) []byte {
	var b bytes.Buffer
	w := must1(fst.NewArchiveWriter(&b, typ))
	for i := range n {
		f := fst.NewVector[semiring.Tropical](i + 1)
		f.AddStates(i + 1)
		f.SetStart(0)
		f.SetFinal(fst.StateID(i), 0)
		must(fst.AddToArchive[semiring.Tropical](w, fmt.Sprintf("k%02d", (i+1)/2), f,
			&fst.WriteOptions{Type: []string{"vector", "const"}[i%2]}))
	}
	must(w.Close())
	return b.Bytes()
}

// Keys are found in archives with an index and without, mapped and not, and from standard input, in
// any order; and what is not asked for is not looked at.
func TestFarKeys(t *testing.T) {
	t.Chdir(t.TempDir())
	const n = 15
	for _, typ := range []fst.ArchiveType{fst.ArchiveTable, fst.ArchiveList} {
		data := archiveOfKeys(typ, n)
		must(os.WriteFile("a.far", data, 0o666))
		for _, flag := range []string{"--fst_read_mode=read", "--fst_read_mode=map"} {
			for _, keys := range []string{"k03", "k07,k00,k03", "k03,k03", "k02-k04,k01", "k00,k05-k07", "k05-k02"} {
				os.RemoveAll("out")
				must(os.Mkdir("out", 0o777))
				status, _, errs := fstTool(t, "", "farextract", flag, "--keys="+keys, "--filename_prefix=out/", "a.far")
				if status != 0 {
					t.Fatalf("%s, %s: %s", typ, keys, errs)
				}
				for _, k := range strings.Split(keys, ",") {
					begin, end, ranged := strings.Cut(k, "-")
					if !ranged {
						end = begin
					}
					for i := range n {
						key := fmt.Sprintf("k%02d", (i+1)/2)
						second := i > 0 && i%2 == 0
						if key < begin || key > end || second && !ranged {
							continue
						}
						if second {
							key += ".1"
						}
						if _, out, _ := fstTool(t, "", "fstinfo", filepath.Join("out", key)); !strings.Contains(
							out, fmt.Sprintf("# of states                                       %d\n", i+1)) {
							t.Errorf("%s, %s: %s is\n%s", typ, keys, key, out)
						}
					}
				}
			}
		}
		for _, in := range []string{"k02,k05", "k02-k03"} {
			if status, _, errs := fstTool(t, string(data), "farextract", "--filename_prefix=out/", "--keys="+in,
				"-"); status != 0 {
				t.Errorf("%s, %s of standard input: %s", typ, in, errs)
			}
		}
		for _, key := range []string{"k", "k02a", "zz"} {
			if status, _, errs := fstTool(t, "", "farextract", "--keys="+key, "a.far"); status != 1 ||
				!strings.Contains(errs, fmt.Sprintf("there is no key %q", key)) {
				t.Errorf("%s, %s: status %d: %s", typ, key, status, errs)
			}
		}
		if _, out, _ := fstTool(t, "", "farinfo", "--begin_key=zz", "a.far"); !strings.Contains(out, "standard") ||
			!strings.Contains(out, "# of FSTs                                         0") {
			t.Errorf("%s: from zz on\n%s", typ, out)
		}
	}
	// The start state of the first machine is not one of its states: readers get an error.
	data := archiveOfKeys(fst.ArchiveTable, n)
	at := bytes.Index(data, []byte("standard")) + len("standard") + 16
	binary.LittleEndian.PutUint64(data[at:], 99)
	must(os.WriteFile("a.far", data, 0o666))
	for want, words := range map[int][]string{0: {"farinfo", "--begin_key=k05", "a.far"},
		1: {"farinfo", "a.far"}} {
		if status, out, errs := fstTool(t, "", words...); status != want {
			t.Errorf("%v: status %d: %s%s", words, status, out, errs)
		}
	}
}

// An archive that is cut, or whose index lies, is an error that tells the file and the place.
func TestFarKeysHostile(t *testing.T) {
	t.Chdir(t.TempDir())
	data := archiveOfKeys(fst.ArchiveTable, 7)
	fails := func(what string, data []byte) {
		t.Helper()
		must(os.WriteFile("bad.far", data, 0o666))
		for _, words := range [][]string{{"farextract", "--keys=k02"}, {"farextract", "--keys=k01-k03"},
			{"farinfo", "--begin_key=k02"}, {"farprintstrings", "--begin_key=k02"},
			{"farequal", "--begin_key=k02", "bad.far"}, {"farisomorphic", "--begin_key=k02", "bad.far"}} {
			status, _, errs := fstTool(t, "", append(words, "bad.far")...)
			if status != 1 || !strings.Contains(errs, "bad.far, byte ") {
				t.Fatalf("%s: %v: status %d: %s", what, words, status, errs)
			}
		}
	}
	for cut := range len(data) {
		fails(fmt.Sprintf("cut at byte %d of %d", cut, len(data)), data[:cut])
	}
	middle := len(data) - 8 - 8*7 + 8*3 // which every search looks at first
	for _, to := range []int64{-1, 0, 8, 9, int64(len(data)), 1 << 50,
		int64(binary.LittleEndian.Uint64(data[middle:])) + 4} {
		bad := bytes.Clone(data)
		binary.LittleEndian.PutUint64(bad[middle:], uint64(to))
		fails(fmt.Sprintf("the middle entry at %d", to), bad)
	}
}
