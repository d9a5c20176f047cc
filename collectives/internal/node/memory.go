package node

import "github.com/gorun-hpc/gorun/runtime"

// Word is a number in shared memory that members wait for. Its value only grows.
type Word = runtime.Word

// Memory is memory that the members share; usually it is a runtime.Shared.
type Memory interface {
	// Part returns rank's part, which is page-aligned and zero at first. Members read all parts. A
	// member writes only its own part, except where the comment of an algorithm says that it writes a
	// word of another part.
	Part(rank int) []byte
	// Signal stores v in w and wakes the members that sleep in Await.
	Signal(w *Word, v uint64)
	// Await waits until w is at least v.
	Await(w *Word, v uint64) error
}

const line = 64 // the length of a cache line in bytes
