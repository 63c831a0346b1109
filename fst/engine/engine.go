// Package engine marks what package fst offers to the operations of this module and not to users,
// and has Index, which their tables are made of.
//
// Methods that take a Key leave checks to their caller, which knows what it builds. They may change
// without notice; use the other methods of fst.Vector.
package engine

// Key is the argument of methods that are for package ops and below.
type Key struct{ _ struct{} }
