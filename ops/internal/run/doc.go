// Package run has what operations run on: limits and the meters that check them, workers, work
// space that is used again, heaps, tables and sorting.
//
// Nothing here knows an operation. Meter, Stopwatch and HeapGuard check limits. Together, InBlocks
// and WorkPool share out work. Scratch and StateBuffer keep memory between operations. Heap and
// StateHeap have OpenFst's order of ties; KeyTable, Triples and Words number keys in the order in
// which they first appear. ArcSorter and SortStates sort arcs as OpenFst does.
//
// The errors that operations return are types of package ops, which imports this package and fills
// in Errors.
package run
