// Package transduce learns to turn strings into strings, under the loss by which the outputs are
// judged.
package transduce
