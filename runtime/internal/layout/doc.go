// Package layout describes the memory of Go types without pointers: at which offsets there are
// numbers of which kinds, and where there is padding. Values of such types are sent as the bytes
// of their memory. To check that both ranks mean the same layout, package runtime puts a number
// for the layout into each message; package actors compares the texts of layouts when a peer
// defines a type.
package layout
