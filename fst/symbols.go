package fst

// SymbolTable names labels: an injective map from symbols to labels and back.
// Once attached to a machine it must not change.
type SymbolTable struct{ name string }
