//go:build !unix

package sequence_test

import "time"

func processorTime() time.Duration { return -1 }
