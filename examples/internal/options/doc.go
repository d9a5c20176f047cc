// Package options parses the flags of an example. Every rank parses them, but only rank 0 prints
// usage and errors.
package options
