package losses

import (
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/tropica-fst/tropica/losses/internal/align"
)

// ErrRange reports an evaluation whose result float64s cannot hold or determine. θ + γ L overflows,
// or is a difference of numbers so large that no digit of it is right.
var ErrRange = errors.New("beyond the range of float64")

// careful is a machine for when rounding in the constant of another would show: one
// that adds up losses from their least (see align/least.go). It has the same strings and
// losses; what builds machines of one word a column is fifteen times faster and
// subtracts.
type careful struct {
	once    sync.Once
	builder *align.Columns
	machine *Machine
	err     error
}

func (m *Machine) carefully() (*Machine, error) {
	c := m.careful
	c.once.Do(func() {
		if c.machine, c.err = built(c.builder); c.err == nil {
			c.machine.surrogate = m.surrogate
			m.mu.Lock()
			m.bytes += c.machine.bytes
			m.mu.Unlock()
		}
	})
	return c.machine, c.err
}

// harmlessConstant is the greatest |γ base| whose rounding, some 1e-16 of it, is negligible beside
// the logarithms of sums over strings.
const harmlessConstant = 1e4

// suited returns the machine to use at γ.
func (m *Machine) suited(gamma float64) (*Machine, error) {
	if m.careful == nil || math.Abs(gamma)*m.core.Cancels <= harmlessConstant {
		return m, nil
	}
	return m.carefully()
}

func outOfRange(gamma float64) error {
	return fmt.Errorf("losses: log Z at γ = %v: potentials or losses are too large: %w", gamma, ErrRange)
}

// certain returns an error when rounding in the constant may exceed a billionth
// of log Z.
func (m *Machine) certain(gamma, logZ float64) error {
	if math.IsNaN(logZ) || math.IsInf(logZ, 1) {
		return outOfRange(gamma)
	}
	size := math.Abs(logZ)
	if math.IsInf(logZ, -1) {
		size = 0 // no string, or γ L overflowed
	}
	if c := math.Abs(gamma) * m.core.Cancels; c*4e-16 > 1e-9*max(1, size) {
		return fmt.Errorf("losses: log Z is %v, found as a difference from %.3g, whose rounding exceeds a "+
			"billionth of it; costs of both signs and such different sizes cannot be told apart: "+
			"%w", logZ, c, ErrRange)
	}
	return nil
}
