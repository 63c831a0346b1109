package lossspec

import (
	"fmt"
	"math"
	"strconv"
)

// Number is a float64 that JSON may hold as "inf", "-inf" or "nan".
type Number float64

// UnmarshalJSON reads a number, or one of those texts.
func (x *Number) UnmarshalJSON(b []byte) error {
	s := string(b)
	if len(b) > 1 && b[0] == '"' {
		switch s = s[1 : len(s)-1]; s {
		case "inf", "+inf", "Infinity":
			*x = Number(math.Inf(1))
			return nil
		case "-inf", "-Infinity":
			*x = Number(math.Inf(-1))
			return nil
		case "nan", "NaN":
			*x = Number(math.NaN())
			return nil
		}
		return fmt.Errorf("%q is not a number", s)
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return fmt.Errorf("%s is not a number of 64 bits", s)
	}
	*x = Number(f)
	return nil
}

func (x Number) MarshalJSON() ([]byte, error) {
	switch f := float64(x); {
	case math.IsNaN(f):
		return []byte(`"nan"`), nil
	case math.IsInf(f, 1):
		return []byte(`"inf"`), nil
	case math.IsInf(f, -1):
		return []byte(`"-inf"`), nil
	case f == 0: // of either sign
		return []byte("0"), nil
	default:
		return strconv.AppendFloat(nil, f, 'g', -1, 64), nil
	}
}

// Integer is an int64 that JSON may write as 1.0 or 1e3, which are the same Number.
type Integer int

// UnmarshalJSON reads a whole number in any of these forms.
func (x *Integer) UnmarshalJSON(b []byte) error {
	if i, err := strconv.ParseInt(string(b), 10, strconv.IntSize); err == nil {
		*x = Integer(i)
		return nil
	}
	f, err := strconv.ParseFloat(string(b), 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return fmt.Errorf("%s is not an integer of moderate size", b)
	}
	*x = Integer(f)
	return nil
}
