// Package layered has loss machines as layered automata, and their layouts for sweeps.
//
// A Machine has the columns of each position, and arcs from them to columns of the next. An arc has
// the index of a value. Builder makes one of any layers. Keyed makes one whose columns are keys of
// words. A Graph lays a Machine out for potentials of order 1, 2 or 3: its entries are columns with
// the labels that the potentials see. Fusing makes that of order 2 with the machine.
//
// Limits bound what a construction may take; beyond them it returns an *Oversize.
//
// Machines and graphs are immutable once made. They hold no potentials and no γ.
package layered
