// Package square has the squared machine: its states are the pairs of states that one input string
// reaches.
//
// Three questions about a machine are questions about its square. They are answered here with the
// steps of the shortest evidence. LeadsApart finds two outputs for one input. TwoPaths finds two
// accepting paths for one input. Twins finds two cycles on one string that change the delay between
// the two sides. Package ops turns steps into errors that name states, labels and weights.
//
// New or NewSearch makes a Square; Explore builds all of it, and the searches build what they
// reach. Pairs are numbered in breadth-first order from that of the start state with itself.
//
// After M.-P. Béal, O. Carton, C. Prieur and J. Sakarovitch, "Squaring transducers", Theoretical
// Computer Science 292(1):45-63, 2003.
package square
