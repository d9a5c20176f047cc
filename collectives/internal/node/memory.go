package node

import "github.com/gorun-hpc/gorun/runtime"

// Word is a number in shared memory that members wait for. It only grows.
type Word = runtime.Word

// Memory is what the members share; runtime.Shared is the usual one.
type Memory interface {
	// Part returns rank's part, page aligned and zero at first. Members read every part and
	// write their own; algorithms say where they write a word of another part.
	Part(rank int) []byte
	// Signal stores v and wakes the members that sleep.
	Signal(w *Word, v uint64)
	// Await waits until the word is at least v.
	Await(w *Word, v uint64) error
}

const line = 64 // bytes of a cache line
