// Package partition finds which states of a machine are equivalent, weights aside, and which of
// them stands for each class.
//
// Acyclic compares states height by height, after Revuz. Cyclic refines classes, after Hopcroft,
// and for machines that are not deterministic goes on to bisimilarity, after Paige and Tarjan. What
// stands for a class decides the numbers of states in a minimal machine, and is OpenFst's choice.
package partition
