//go:build !unix

package losses

import "time"

var began = time.Now()

// userTime is wall time where the system is not asked.
func userTime() float64 { return time.Since(began).Seconds() }
