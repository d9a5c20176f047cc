package node

import "sync/atomic"

// Word is a number in shared memory that one or more members wait for. It only
// grows.
type Word struct{ v atomic.Uint64 }

// Load returns the number.
func (w *Word) Load() uint64 { return w.v.Load() }

// Store sets the number; it wakes nobody.
func (w *Word) Store(v uint64) { w.v.Store(v) }

// Memory is what the members share.
type Memory interface {
	// Part returns rank's part, page aligned and zero at first. Members read every
	// part and write their own, and a word of another where an algorithm says so.
	Part(rank int) []byte
	// Signal stores v and wakes the members that sleep.
	Signal(w *Word, v uint64)
	// Await waits until the word is at least v.
	Await(w *Word, v uint64) error
}

const line = 64 // bytes of a cache line
