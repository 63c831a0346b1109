//go:build !unix

package main

import (
	"errors"

	"github.com/tropica-fst/tropica/cmd/internal/calls"
)

func mapped(string) (calls.Shared, error) {
	return nil, errors.New("this system has no shared memory that fst serve knows")
}
