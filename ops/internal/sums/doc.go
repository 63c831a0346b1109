// Package sums has the sums over paths that package ops makes distances, potentials and posteriors
// of.
//
// Acyclic machines are summed in topological order (SweepForward, SweepReverse, with the loops of
// RowsOf). Machines with cycles are summed component by component (ByComponents). Inside a
// component the system x = b ⊕ x·A is solved by elimination, or by sweeps until it settles if it is
// large. Relaxation, which needs a queue, is package ops's own. The queues are here (Queue, and the
// disciplines that implement it).
//
// Sums over weights W are carried in weights D, which have more digits where W is a float32
// (Widening, Narrowing). What diverges is a Divergence, which package ops turns into an error with
// a cycle. Weights that are no members of their semiring are not looked for here: see OutsideOf.
package sums
