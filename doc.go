// Package gorun documents a runtime that runs a Go program as ranks on one or several nodes, and
// sends messages between them.
//
// Programs import package runtime for messages, package collectives for operations of all ranks,
// and package runtime/actors for actors that every rank can address. The command gorun starts the
// ranks. This package has nothing to import.
//
// Unstable: any release may change this package, also after v1.
package gorun
