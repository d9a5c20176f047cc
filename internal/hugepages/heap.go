package hugepages

import "slices"

// chunkBytes is the unit in which Go maps memory for its heap (pallocChunkBytes in runtime/mpagealloc.go). Chunks
// are aligned to their size.
const chunkBytes = 4 << 20

// samples are the lengths in bytes of the slices that heapChunks allocates.
var samples = [...]int{32 << 10, 128 << 10, 512 << 10}

// PrepareHeap makes huge pages of the chunks of Go's heap from which a program that has just started gets its next
// slices. It does what PreferHeap does, and also moves the blocks of these chunks that are in use to huge pages.
// Blocks keep their contents. If the kernel refuses, the pages stay as they are.
//
// For each used block, PrepareHeap takes 0.1 to 1 ms. On a virtual machine whose host has not yet given the guest
// the memory of the new huge page, it takes up to 5 ms. Other goroutines run meanwhile.
func PrepareHeap() {
	if !offered() {
		return
	}
	for _, chunk := range heapChunks() {
		if prefer(chunk, chunkBytes) != nil {
			return
		}
		for block := chunk; block < chunk+chunkBytes; block += blockBytes {
			_ = collapse(block, blockBytes) // fails if the block is not used yet
		}
	}
}

// PreferHeap asks the kernel for huge pages for the chunks of Go's heap from which the program gets its next
// slices. The blocks of these chunks that are not used yet become huge pages at their first use. PreferHeap takes
// some microseconds. It does nothing if the process cannot have huge pages, or does not want them (GODEBUG
// disablethp=1).
func PreferHeap() {
	if !offered() {
		return
	}
	for _, chunk := range heapChunks() {
		_ = prefer(chunk, chunkBytes)
	}
}

// heapChunks returns the addresses of the chunks from which Go takes the next slices of several lengths. Go gives
// a slice the first gap of the heap that is long enough. If there is no such gap, the heap grows by a chunk. Slices
// of less than 128 KiB come from gaps that Go keeps for each of its processors (P). Therefore heapChunks may miss the
// chunk of another P.
func heapChunks() []uintptr {
	var chunks []uintptr
	for _, n := range samples {
		first := address(make([]byte, n))
		for _, byteAt := range []uintptr{first, first + uintptr(n) - 1} { // a slice can lie in two chunks
			if chunk := byteAt &^ (chunkBytes - 1); !slices.Contains(chunks, chunk) {
				chunks = append(chunks, chunk)
			}
		}
	}
	return chunks
}
