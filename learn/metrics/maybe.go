package metrics

import (
	"encoding/json"
	"fmt"
	"math"
)

// Maybe is a number that may be undefined, which is NaN: null in JSON, which has no NaN, and
// "-" in tables.
type Maybe float64

// Text formats the number; "-" where it is undefined.
func (v Maybe) Text(format string) string {
	if v != v {
		return "-"
	}
	return fmt.Sprintf(format, float64(v))
}

// MarshalJSON writes null where the number is undefined. Infinite numbers are errors.
func (v Maybe) MarshalJSON() ([]byte, error) {
	if v != v {
		return []byte("null"), nil
	}
	return json.Marshal(float64(v))
}

// UnmarshalJSON reads what MarshalJSON writes.
func (v *Maybe) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*v = Maybe(math.NaN())
		return nil
	}
	return json.Unmarshal(b, (*float64)(v))
}
