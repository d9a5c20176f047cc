// Package layout describes the memory of Go types without pointers: which kinds of
// numbers lie where, and where there is padding. Values of such types are sent as their
// bytes. Package runtime compares layouts by number for each message, package actors by
// text when a peer defines a type.
package layout
