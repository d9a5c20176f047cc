// Package options parses the flags of an example once for all ranks: rank 0 prints
// usage and errors.
package options
