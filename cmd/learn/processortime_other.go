//go:build !unix

package main

import "time"

// processorTime is wall time where the system is not asked.
func processorTime() time.Duration { return time.Since(began) }

var began = time.Now()
