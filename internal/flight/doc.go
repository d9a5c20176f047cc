// Package flight is the flight recorder of a rank: its last operations and what it has sent and
// received, in memory that others can read while the rank runs, when it is stopped, and after it
// was killed. A Recorder writes it, Read reads it.
//
// The memory is 33,280 bytes of the rank's range of the node's memory (package transport/shm), or of
// Go's heap. Words have 64 bits in the processor's byte order; all memory is zero at first.
//
//	offset  bytes   what                                                      written
//	0       64      magic, version, start (wall clock, ns), clock (ns since)  now and then
//	64      64      messages recorded, bytes moved, time waited (ns), start    per message
//	                of the wait under way (ns since start, 0 if none), bytes
//	                of unexpected messages
//	128     64      operations recorded                                       per operation
//	192     320     nothing
//	512     8192    messages: 256 slots of 32 bytes, number n in slot n%256   per message
//	8704    8192    operations of libraries: likewise                         per operation
//	16896   16384   texts: 256 of 64 bytes, ended by a zero; text 0 is empty  once each
//
// A slot is four words. The top byte of each is n/256 + 1 modulo 256, so that memory which was not written has no record:
//
//	word    55          54-48    47-40    39-32    31-16    15-0
//	0       peer (24 bits)                context
//	1       operation            start, high half  tag
//	2       short       bytes (39 bits)                     start, low half
//	3       state                site     caller   time of the state
//
// The operation, the site and its caller are numbers of texts, times are milliseconds since the
// start, peer 2^24-1 is none or any, and a length that does not fit is 2^39-1. A short operation was done
// when it was recorded, and has no word 3.
//
// The top bytes are the sequence word of each slot, in every one of its words, because that needs no
// further store and no order of the stores: a record whose words do not have the number that the
// reader looks for is being written, and is left out. A state changes by one store. So a record is
// never mixed of two, wherever the writer was stopped, and a message costs three stores for its record and
// two for counters (docs/adr/0049).
package flight
