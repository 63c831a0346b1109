// Package house holds the rules of the module's own tree; its test keeps them.
//
// Imports run one way, semiring ← fst ← ops ← losses ← learn ← cmd: each may
// import only what stands to its left, and itself. The core has no cgo. Only cmd
// opens files: the others take readers.
package house
