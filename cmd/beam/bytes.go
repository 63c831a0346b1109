package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
)

// A shard's sum travels as bytes, one message for every stripe of the coordinates:
//
//	shard        uvarint
//	kind         byte: sum, failure or file
//	value        8 bytes, little-endian as all numbers
//	runs         skip uvarint, count uvarint, count numbers of 8 bytes; repeated
//
// Coordinates that no run covers are zero: a shard touches the weights of the features that it
// has. In place of the runs, a failure has its text, and a file the name of the file that has them.

// The kinds of a message.
const (
	sumKind byte = iota
	failureKind
	fileKind
)

// message is a message, decoded but for its runs.
type message struct {
	shard int
	kind  byte
	value float64
	body  []byte
}

var errMessage = errors.New("a message of a shard is damaged")

// appendHead appends all but the runs.
func appendHead(dst []byte, shard int, kind byte, value float64) []byte {
	dst = binary.AppendUvarint(dst, uint64(shard))
	dst = append(dst, kind)
	return binary.LittleEndian.AppendUint64(dst, math.Float64bits(value))
}

// leastGap is how many zeros end a run: fewer take less room than the head of another run.
const leastGap = 2

// appendRuns appends the numbers of a stripe that are not zero.
func appendRuns(dst []byte, g []float64) []byte {
	last := 0
	for j := 0; j < len(g); {
		if g[j] == 0 {
			j++
			continue
		}
		end := j + 1
		for k := end; k < len(g) && k-end < leastGap; k++ {
			if g[k] != 0 {
				end = k + 1
			}
		}
		dst = binary.AppendUvarint(dst, uint64(j-last))
		dst = binary.AppendUvarint(dst, uint64(end-j))
		for _, v := range g[j:end] {
			dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(v))
		}
		j, last = end, end
	}
	return dst
}

// decode takes a message apart; the body shares its memory.
func decode(b []byte) (message, error) {
	shard, n := binary.Uvarint(b)
	if n <= 0 || shard > math.MaxInt32 || len(b) < n+9 {
		return message{}, errMessage
	}
	return message{int(shard), b[n], math.Float64frombits(binary.LittleEndian.Uint64(b[n+1:])), b[n+9:]}, nil
}

// add adds the runs to sum, which has the stripe's coordinates.
//
// To add a zero changes no bits here: a sum that begins with +0 is never -0.
func (m *message) add(sum []float64) error {
	at, b := 0, m.body
	for len(b) > 0 {
		skip, n := binary.Uvarint(b)
		if n <= 0 {
			return errMessage
		}
		b = b[n:]
		count, n := binary.Uvarint(b)
		if n <= 0 || skip > uint64(len(sum)-at) || count > uint64(len(sum)-at)-skip || uint64(len(b)-n) < 8*count {
			return errMessage
		}
		b = b[n:]
		at += int(skip)
		for k := range sum[at : at+int(count)] {
			sum[at+k] += math.Float64frombits(binary.LittleEndian.Uint64(b[8*k:]))
		}
		at += int(count)
		b = b[8*int(count):]
	}
	return nil
}

// floats returns numbers as bytes.
func floats(x []float64) []byte {
	b := make([]byte, 0, 8*len(x))
	for _, v := range x {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
	}
	return b
}

// numbers is the inverse of floats.
func numbers(b []byte) ([]float64, error) {
	if len(b)%8 != 0 {
		return nil, fmt.Errorf("%d bytes are not numbers of 8 each", len(b))
	}
	x := make([]float64, len(b)/8)
	for k := range x {
		x[k] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*k:]))
	}
	return x, nil
}

// sealed appends a checksum: files are read only whole.
func sealed(b []byte) []byte {
	return binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
}

// unsealed takes it off; false when the file is not whole.
func unsealed(b []byte) ([]byte, bool) {
	n := len(b) - 4
	if n < 0 || crc32.ChecksumIEEE(b[:n]) != binary.LittleEndian.Uint32(b[n:]) {
		return nil, false
	}
	return b[:n], true
}
