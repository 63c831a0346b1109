// Package determinize determinizes acyclic acceptors of strings into losses.
//
// Acyclic takes an acceptor without ε and an algebra of its weights. NewClampedCosts is for costs,
// where the least one counts: clamp.go proves which pairs of a subset never matter. Masses and
// LogMasses are for weights that are added up: quotient.go proves which states are equal up to a
// factor. Subsets are made class by class; a class is the states that strings lead to together
// (layers.go).
//
// CostGrid rounds costs before they are added, so that sums in any order are equal in their bits.
package determinize
