package shm

import "github.com/gorun-hpc/gorun/internal/flight"

// The range of a rank begins with its control area. Offsets are in bytes from
// the start of the range. Each offset in the table begins a cache line, so that
// writes to fields at different offsets do not change the same cache line.
//
//	offset     bytes    what                                     written by
//	0          64       identity: magic, version, pid, cookie    owner
//	                    state                                    owner
//	64         64       alert: armed, rings wanted back          owner; peers clear armed
//	128        64       doorbell, number of sleepers             anyone
//	                    yielding                                 owner
//	192        64       owners of the rings, 8 words             peers claim, owner frees
//	256        64       wanted: a peer found no free ring        peers set, owner clears
//	320        64       inbox tail                               peers and owner
//	384        64       inbox head                               owner
//	448        64       inbox waiters                            peers set, owner clears
//	512        512      ring heads and ring waiters, 8 lines     owner; the ring's writer
//	1024       2048     bulk descriptors, 16 of 128 bytes        owner; helper
//	3072       512      staging tickets, 8 lines                 owner; serving peer
//	4096       8192     inbox index, one word per slot           peers claim, owner cleans
//	12288      65536    inbox data
//	77824      16384    listing of exposed memory, 512 of 32     owner
//	94208      2097152  rings, 8 of up to 256 KiB                one peer each
//	2191360    524288   staging buffers, 8 of 64 KiB             owner and serving peer
//	2715648    33280    flight recorder, see package flight      owner
//	2748928    3584     nothing
//	2752512             arena, to the end of the range
const (
	offRecord = flight.Offset

	lineBytes = 64
	pageBytes = 4096
	// largestPage is the largest page size of the processors for which this package is built; some
	// kernels for arm64 use it. The arena begins at a multiple of largestPage, because the arena
	// gives memory back in units of pages.
	largestPage = 64 << 10

	offMagic      = 0
	offVersion    = 8
	offPID        = 16
	offCookie     = 24
	offCookieAddr = 32
	offState      = 40
	offAlert      = 64
	offDoorbell   = 128
	offSleepers   = 132
	offYielding   = 136
	offOwners     = 192
	offWanted     = 256
	offInboxTail  = 320
	offInboxHead  = 384
	offInboxWait  = 448
	offRingHeads  = 512
	offBulk       = 1024
	offTickets    = 3072
	offInboxIndex = 4096
	offInboxData  = offInboxIndex + inboxSlots*8
	offListing    = offInboxData + inboxSlots*lineBytes
	offRings      = offListing + listingSlots*listingBytes

	offStaging   = offRings + ringsPerRank*ringBytes
	stagingSlots = 8
	stagingBytes = 64 << 10
	offArena     = (offStaging + stagingSlots*stagingBytes + largestPage - 1) &^ (largestPage - 1)

	listingSlots = 512

	bulkDescriptors     = 16
	bulkDescriptorBytes = 128

	inboxSlots = 1024
	inboxMask  = inboxSlots - 1

	// ringBytes is the length of the longest rings, and shortRingBytes the length of the rings of a node of more
	// than longRingRanks ranks and of ranks that share a process (docs/adr/0081).
	ringsPerRank   = 8
	ringBytes      = 256 << 10
	shortRingBytes = 64 << 10
	longRingRanks  = 32
	ringMask       = ringBytes - 1
	ringLines      = ringBytes / lineBytes

	// maxEager is the length in bytes of the longest payload of one record. A record and
	// the skip before it must fit into three quarters of a ring, because the reader gives space back
	// in quarters. A short ring holds three of the longest records (docs/adr/0029).
	maxEager = 16 << 10

	layoutMagic   = 0x6d68736e75726f67 // "gorunshm", little endian
	layoutVersion = 4
)

// These constants check the table above at compile time. A line with two terms fails to compile if
// the two numbers differ. Any other line fails to compile if its value is negative.
const (
	_ = uint(offInboxData-12288) + uint(12288-offInboxData)
	_ = uint(offListing-77824) + uint(77824-offListing)
	_ = uint(offRings-94208) + uint(94208-offRings)
	_ = uint(offStaging-2191360) + uint(2191360-offStaging)
	_ = uint(offRecord-stagingSlots*stagingBytes-offStaging) + uint(stagingSlots*stagingBytes+offStaging-offRecord)
	_ = uint(offArena - offRecord - flight.Bytes)
	_ = uint(offArena-2752512) + uint(2752512-offArena)
	_ = uint(offTickets - offBulk - bulkDescriptors*bulkDescriptorBytes)
	_ = uint(offInboxIndex - offTickets - stagingSlots*lineBytes)
	_ = uint(3*shortRingBytes/4 - 2*(maxEager+recordHeader+lineBytes))
	_ = uint(3*inboxSlots/4 - 2*(maxEager+recordHeader)/lineBytes - 2)
	_ = -uint(offArena % largestPage)
)

// States of a rank, in the low bits of the word at offState. A rank that joins writes this
// word last, so that a peer that sees the state also sees the identity.
const (
	stateAbsent  = 0
	stateRunning = 1
	stateClosed  = 2
	stateMask    = 3
	// stateFences is set while the rank cannot run a barrier on the other processors. While it is
	// set, senders to this rank must publish with a fence.
	stateFences = 4
)

// Bits of the alert word. Bit 0 is set while the owner is armed. Bits 8 to 15 ask the writers of
// rings 0 to 7 to give the ring back. Bits 16 to 63 count how often the owner has armed. So a peer
// that clears bit 0 by a compare-and-swap cannot clear a later arming.
const (
	alertArmed      = 1
	alertRingBits   = 8
	alertGeneration = 1 << 16
)

func alertRing(ring int) uint64 { return 1 << (alertRingBits + ring) }

// controlBytes returns the length of a control area, without the memory after the rings. The last ring of length
// bytes is at the beginning of ringBytes bytes (see ringOf).
func controlBytes(length uint64) int { return offRings + (ringsPerRank-1)*int(length) + ringBytes }
