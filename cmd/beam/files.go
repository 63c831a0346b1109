package main

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/s3" // s3://, beside those of beamx
)

// shard is one file of the corpus. Shards count from 0, in the order of --data, and are added up
// in this order.
type shard struct {
	K    int
	Name string
}

// reading is a shard's file while it is read. Whether its storage failed is remembered, since that
// may pass, and what a file holds will not.
type reading struct {
	shard
	bytes  int64 // of text, uncompressed
	check  uint32
	failed error
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// mark tells texts apart: a checksum and the length. It is 0 for a reading that read nothing.
func (r *reading) mark() uint64 { return uint64(r.check)<<32 | uint64(uint32(r.bytes)) }

// storageOf returns the file system of a name. Those of object stores panic where their settings
// cannot be read.
func storageOf(ctx context.Context, name string) (fsys filesystem.Interface, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%s: %v", name, v)
		}
	}()
	return filesystem.New(ctx, name)
}

// open opens the file for text that may be compressed.
func (r *reading) open(ctx context.Context) (io.ReadCloser, error) {
	fsys, err := storageOf(ctx, r.Name)
	if err != nil {
		return nil, err // no such scheme
	}
	f, err := fsys.OpenRead(ctx, r.Name)
	if err != nil {
		fsys.Close()
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
			r.failed = err
		}
		return nil, fmt.Errorf("%s: %w", r.Name, err)
	}
	t := &text{r: r, close: func() error { return errors.Join(f.Close(), fsys.Close()) }}
	b := bufio.NewReaderSize(&storage{f, r}, 1<<16)
	if head, _ := b.Peek(2); len(head) < 2 || head[0] != 0x1f || head[1] != 0x8b {
		t.from = b
		return t, nil
	}
	if t.from, err = gzip.NewReader(b); err != nil {
		t.Close()
		return nil, fmt.Errorf("%s: damaged gzip file: %w", r.Name, err)
	}
	return t, nil
}

// storage remembers that reading failed.
type storage struct {
	from io.Reader
	r    *reading
}

func (s *storage) Read(p []byte) (int, error) {
	n, err := s.from.Read(p)
	if err != nil && err != io.EOF {
		s.r.failed = err
	}
	return n, err
}

// text counts what is read.
type text struct {
	from  io.Reader
	r     *reading
	close func() error
}

func (t *text) Read(p []byte) (int, error) {
	n, err := t.from.Read(p)
	t.r.bytes += int64(n)
	t.r.check = crc32.Update(t.r.check, castagnoli, p[:n])
	return n, err
}

func (t *text) Close() error { return t.close() }

// shardsOf lists the files that patterns name: of each pattern in the order of names.
func shardsOf(ctx context.Context, patterns []string) ([]shard, error) {
	var out []shard
	seen := map[string]bool{}
	for _, p := range patterns {
		fsys, err := storageOf(ctx, p)
		if err != nil {
			return nil, fmt.Errorf("flag --data: %w", err)
		}
		names, err := fsys.List(ctx, p)
		fsys.Close()
		if err != nil {
			return nil, fmt.Errorf("flag --data: %s: %w", p, err)
		}
		if len(names) == 0 {
			return nil, fmt.Errorf("flag --data: there is no file %s", p)
		}
		slices.Sort(names)
		for _, n := range names {
			if info, err := os.Stat(n); err == nil && info.IsDir() {
				return nil, fmt.Errorf("flag --data: %s is a folder; %s/* are its files", n, strings.TrimRight(n, "/"))
			}
			if seen[n] {
				return nil, fmt.Errorf("flag --data: %s is named twice", n)
			}
			seen[n] = true
			out = append(out, shard{len(out), n})
		}
	}
	return out, nil
}

// join puts a name behind a folder of any file system.
func join(folder, name string) string { return strings.TrimRight(folder, "/") + "/" + name }

func writeFile(ctx context.Context, name string, data []byte) error {
	fsys, err := storageOf(ctx, name)
	if err != nil {
		return err
	}
	defer fsys.Close()
	if err := filesystem.Write(ctx, fsys, name, data); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func readFile(ctx context.Context, name string) ([]byte, error) {
	fsys, err := storageOf(ctx, name)
	if err != nil {
		return nil, err
	}
	defer fsys.Close()
	b, err := filesystem.Read(ctx, fsys, name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return b, nil
}

// readSealed returns what a file holds without its seal. Errors may pass: storage that is slow to
// show what was written to it has files that are not there yet, or not whole.
func readSealed(ctx context.Context, name string) ([]byte, error) {
	b, err := readFile(ctx, name)
	if err != nil {
		return nil, &passing{err}
	}
	b, whole := unsealed(b)
	if !whole {
		return nil, &passing{fmt.Errorf("%s: is not whole", name)}
	}
	return b, nil
}

// readWhole returns the first whole file of those that a pattern names: workers that were started
// twice for the same task write the same to different names.
func readWhole(ctx context.Context, pattern string) ([]byte, error) {
	fsys, err := storageOf(ctx, pattern)
	if err != nil {
		return nil, err
	}
	defer fsys.Close()
	names, err := fsys.List(ctx, pattern)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", pattern, err)
	}
	slices.Sort(names)
	for _, n := range names {
		if b, err := filesystem.Read(ctx, fsys, n); err == nil {
			if b, ok := unsealed(b); ok {
				return b, nil
			}
		}
	}
	return nil, fmt.Errorf("%s: none of %d files is whole: do driver and workers see the same --work?",
		pattern, len(names))
}

// remove deletes files, where the file system can. Files that stay do no harm.
func remove(ctx context.Context, pattern string) {
	fsys, err := storageOf(ctx, pattern)
	if err != nil {
		return
	}
	defer fsys.Close()
	r, ok := fsys.(filesystem.Remover)
	if !ok {
		return
	}
	names, _ := fsys.List(ctx, pattern)
	for _, n := range names {
		r.Remove(ctx, n)
	}
	if folder := path.Dir(pattern); strings.HasSuffix(pattern, "/*") && !strings.Contains(folder, "://") {
		os.Remove(folder)
	}
}
