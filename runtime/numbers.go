package runtime

import (
	"math/bits"

	"github.com/gorun-hpc/gorun/bootstrap"
)

// numbers is the set of the numbers that a rank cannot give to a new communicator, as a bitmap
// that begins at 0. The bitmap grows to the highest number taken; it stays short because the
// lowest free numbers are taken first.
type numbers struct {
	words []uint64 // bit i of word w is set if number 64 w + i is taken
	top   uint32   // 1 + the highest number that was ever taken
}

// take takes a number, and reports whether it was free. Numbers that the launcher gives
// (bootstrap.FirstShrunk and above) are always free and are not recorded: the launcher gives a number
// again only after 1<<28 other numbers.
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

// free makes a number free again.
func (n *numbers) free(number uint32) {
	if number < bootstrap.FirstShrunk {
		n.words[number/64] &^= 1 << (number % 64)
	}
}

// lowest returns the lowest free number that is not less than the argument from.
func (n *numbers) lowest(from uint32) uint32 {
	for int(from/64) < len(n.words) {
		if open := n.window(from); open != 0 {
			return from + uint32(bits.TrailingZeros64(open))
		}
		from += 64
	}
	return from
}

// window describes 64 numbers, beginning at the argument from: bit i is set if from+i is free.
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

// proposal describes the free numbers of a rank to the ranks with which it agrees on a number.
type proposal struct {
	lowest uint64 // the lowest free number
	window uint64 // bit i is set if lowest + i is free
	top    uint64 // a free number above every number that was ever taken
}

// propose returns the proposal of this rank. No proposed number is less than the argument from.
func (n *numbers) propose(from uint32) proposal {
	lowest := n.lowest(from)
	return proposal{uint64(lowest), n.window(lowest), uint64(max(n.top, lowest))}
}

// common returns the lowest number that the windows of all proposals show as free. If there is
// none, it returns a number above all numbers that were ever taken. Every rank computes the same
// number.
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
