// Package engine opens what the packages of this module need of one another and their users must not touch.
package engine

// Key is the argument of a method that is exported for this module alone: no other module can import it.
type Key struct{ _ struct{} }
