package model

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
)

const (
	magic         = "TROPICA\n"
	layoutVersion = 1
	align         = 8
	maxHeader     = 64 << 20 // bytes; a header holds names and settings, never data
)

type header struct {
	Kind    string          `json:"kind"`
	Version int             `json:"version"`
	Meta    json.RawMessage `json:"meta,omitempty"`
	Arrays  []entry         `json:"arrays"`
}

type entry struct {
	Name  string `json:"name"`
	DType string `json:"dtype"`
	Shape []int  `json:"shape"`
	Bytes int64  `json:"bytes"`
}

// Write writes c in the layout of the package comment. The same container
// gives the same bytes every time. The memory used beyond c is a buffer.
func (c *Container) Write(w io.Writer) error {
	h := header{Kind: c.Kind, Version: c.Version, Meta: c.meta, Arrays: make([]entry, len(c.arrays))}
	for i, a := range c.arrays {
		size, err := a.bytes()
		if err != nil {
			return err
		}
		h.Arrays[i] = entry{a.name, a.dtype, a.shape, size}
	}
	head, err := json.Marshal(h)
	if err != nil {
		return fmt.Errorf("model: header: %w", err)
	}
	if len(head) > maxHeader {
		return fmt.Errorf("model: header of %d bytes exceeds %d; put long lists into arrays", len(head), maxHeader)
	}

	sum := sha256.New()
	bw := bufio.NewWriterSize(io.MultiWriter(sum, w), 1<<16)
	var b [16]byte
	copy(b[:], magic)
	binary.LittleEndian.PutUint32(b[8:], layoutVersion)
	binary.LittleEndian.PutUint32(b[12:], uint32(len(head)))
	bw.Write(b[:]) // a bufio.Writer keeps its first error for Flush
	bw.Write(head)
	pad(bw, int64(len(b)+len(head)))
	for i := range c.arrays {
		c.arrays[i].encode(bw)
		pad(bw, h.Arrays[i].Bytes)
	}
	if err := bw.Flush(); err != nil {
		return fmt.Errorf("model: %w", err)
	}
	if _, err := w.Write(sum.Sum(nil)); err != nil {
		return fmt.Errorf("model: %w", err)
	}
	return nil
}

func pad(w *bufio.Writer, written int64) {
	for range -written & (align - 1) {
		w.WriteByte(0)
	}
}

// bytes returns the encoded size, without padding.
func (a *array) bytes() (int64, error) {
	if s, ok := a.data.([]string); ok {
		n := int64(4 * len(s))
		for i, x := range s {
			if int64(len(x)) > math.MaxUint32 { // on 32 bits, int does not hold the bound
				return 0, fmt.Errorf("model: string %d of array %q has %d bytes, too many", i, a.name, len(x))
			}
			n += int64(len(x))
		}
		return n, nil
	}
	n, _ := elements(a.shape)
	return n * int64(widths[a.dtype]), nil
}

var widths = map[string]int{typeFloat64: 8, typeFloat32: 4, typeInt64: 8, typeInt32: 4, typeUint64: 8,
	typeUint32: 4, typeUint8: 1}

func (a *array) encode(w *bufio.Writer) {
	switch d := a.data.(type) {
	case []float64:
		for _, v := range d {
			w.Write(binary.LittleEndian.AppendUint64(w.AvailableBuffer(), math.Float64bits(v)))
		}
	case []float32:
		for _, v := range d {
			w.Write(binary.LittleEndian.AppendUint32(w.AvailableBuffer(), math.Float32bits(v)))
		}
	case []int64:
		for _, v := range d {
			w.Write(binary.LittleEndian.AppendUint64(w.AvailableBuffer(), uint64(v)))
		}
	case []int32:
		for _, v := range d {
			w.Write(binary.LittleEndian.AppendUint32(w.AvailableBuffer(), uint32(v)))
		}
	case []uint64:
		for _, v := range d {
			w.Write(binary.LittleEndian.AppendUint64(w.AvailableBuffer(), v))
		}
	case []uint32:
		for _, v := range d {
			w.Write(binary.LittleEndian.AppendUint32(w.AvailableBuffer(), v))
		}
	case []uint8:
		w.Write(d)
	case []string:
		for _, s := range d {
			w.Write(binary.LittleEndian.AppendUint32(w.AvailableBuffer(), uint32(len(s))))
		}
		for _, s := range d {
			w.WriteString(s)
		}
	}
}
