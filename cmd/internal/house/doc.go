// Package house holds the rules of the module's own tree; its test keeps them.
//
// Imports run one way, semiring ← fst ← ops ← losses ← learn ← cmd: each may
// import only what stands to its left, and itself. The core has no cgo. Only cmd
// opens files: the others take readers.
//
// # How to add
//
// A semiring is one file in semiring with the methods of Weight and the capabilities that hold,
// claimed at compile time. It needs semiringtest.Laws in its test, and one line in
// cmd/fst/internal/suite/suite.go for the tools.
//
// An operation is one file in ops, written as an fst.Expander where it constructs, so that lazy and
// eager forms come from one source. Its options embed Limits. It needs tests against the relation
// by enumeration and against OpenFst, one method of the suite and one tool in cmd/fst.
//
// A loss: a transducer needs no code at all. A direct construction is a type with Machine
// (through losses.Builder), Value (the definition, which tests enumerate with) and AppendKey
// (for the cache).
//
// A learner of tables is a package in learn whose Learner implements learner.Learner, with an
// options struct of tagged fields. One line in cmd/learn/tablekind.go gives it train, predict,
// eval, cv and explain.
package house
