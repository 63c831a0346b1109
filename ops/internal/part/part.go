// Package part is what package ops shares with the packages of operations that are made of its operations, and with nobody else.
package part

// Renamed returns the error of a part of the operation op under the name of the whole. The error itself, which may
// belong to an operand that is computed on demand, is left as it is: what comes back is a copy. nil stays nil.
// Package ops, whose errors these are, puts it here.
var Renamed func(err error, op string) error
