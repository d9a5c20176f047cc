// Package options parses the flags of an example once for all ranks: what there is
// to say, rank 0 says.
package options
