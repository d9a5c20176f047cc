// Package layout describes the memory of Go types without pointers: the offsets and kinds of the
// numbers, and the padding. Values of such types are sent as the bytes of their memory. To check
// that both ranks mean the same layout, package runtime puts a number for the layout into each
// message. Package actors compares the texts of layouts when a peer defines a type.
package layout
