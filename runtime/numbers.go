package runtime

import (
	"math/bits"

	"github.com/gorun-hpc/gorun/bootstrap"
)

// numbers are those of communicators that a rank cannot give to a new one, as a bitmap from 0
// on. It is as long as the highest number needs, and numbers are taken from below.
type numbers struct {
	words []uint64 // bit i of word w: 64 w + i is taken
	top   uint32   // above every number that was ever taken
}

// take takes a number, and reports whether it was free. Those of the launcher are, and are not
// recorded: it gives none twice.
func (n *numbers) take(number uint32) bool {
	if number >= bootstrap.FirstShrunk {
		return true
	}
	word, bit := number/64, uint64(1)<<(number%64)
	for int(word) >= len(n.words) {
		n.words = append(n.words, 0)
	}
	if n.words[word]&bit != 0 {
		return false
	}
	n.words[word] |= bit
	n.top = max(n.top, number+1)
	return true
}

// free gives a number back.
func (n *numbers) free(number uint32) {
	if number < bootstrap.FirstShrunk {
		n.words[number/64] &^= 1 << (number % 64)
	}
}

// lowest returns the lowest free number that is at least from.
func (n *numbers) lowest(from uint32) uint32 {
	for int(from/64) < len(n.words) {
		if open := n.window(from); open != 0 {
			return from + uint32(bits.TrailingZeros64(open))
		}
		from += 64
	}
	return from
}

// window says which of the 64 numbers from one on are free: bit i is that of from + i.
func (n *numbers) window(from uint32) uint64 {
	word, shift := int(from/64), from%64
	var taken uint64
	if word < len(n.words) {
		taken = n.words[word] >> shift
	}
	if word+1 < len(n.words) && shift > 0 {
		taken |= n.words[word+1] << (64 - shift)
	}
	return ^taken
}

// proposal is what a rank says about its numbers when it agrees with others on one.
type proposal struct {
	lowest uint64 // the lowest free number
	window uint64 // which of it and the 63 next ones are free
	top    uint64 // above every number that was ever taken, so free, too
}

// propose returns the proposal of numbers that are at least from.
func (n *numbers) propose(from uint32) proposal {
	lowest := n.lowest(from)
	return proposal{uint64(lowest), n.window(lowest), uint64(max(n.top, lowest))}
}

// common returns the lowest number that is free by all proposals, as far as they tell, else
// one above all that were ever taken. Every rank computes the same one.
func common(proposals []proposal) uint64 {
	var from, top uint64
	for _, p := range proposals {
		from, top = max(from, p.lowest), max(top, p.top)
	}
	open := ^uint64(0)
	for _, p := range proposals {
		open &= p.window >> (from - p.lowest) // shifts of 64 and more give 0
	}
	if open == 0 {
		return top
	}
	return from + uint64(bits.TrailingZeros64(open))
}
