// Package encoder computes scores for the positions of sequences by networks.
package encoder
