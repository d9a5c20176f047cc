// Package gorun is the front page of a runtime that runs a Go program as ranks on one
// node or many and moves messages between them.
//
// Programs import package runtime for messages, package collectives for operations of
// all ranks, and package runtime/actors for actors with addresses on every rank. The
// command gorun starts the ranks. There is nothing to import here.
//
// Unstable: any release may change this package, also after v1.
package gorun
