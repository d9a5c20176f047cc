// Package flight implements the flight recorder of a rank. It keeps the rank's last operations and its counters
// of messages in memory. Other processes can read this memory while the rank runs, while it is stopped, and
// after it was killed. A Recorder writes the memory. The function Read reads it. The recorder distinguishes
// operations on messages of the program from operations of libraries. In this package, a library is a package
// of gorun on top of package runtime, such as package collectives.
//
// The memory is 33,280 bytes of the rank's range of the node's memory (package transport/shm), or of Go's
// heap. Words have 64 bits in the processor's byte order. At first, all words are zero.
//
//	offset  bytes   what                                                      written
//	0       64      magic, version, start (wall clock, ns), clock (ns         now and then
//	                since start)
//	64      64      messages recorded, bytes moved, time waited (ns), start    per message
//	                of the wait under way (ns since start, 0 if none), bytes
//	                of unexpected messages
//	128     64      operations recorded                                       per operation
//	192     320     unused
//	512     8192    messages: 256 slots of 32 bytes, number n in slot n%256   per message
//	8704    8192    operations of libraries: 256 slots likewise               per operation
//	16896   16384   texts: 256 of 64 bytes, ended by a zero; text 0 is empty  once each
//
// A slot has four words. The top byte of each word is n/256 + 1 modulo 256, so that unwritten memory does
// not look like one of the first records. The other bits are:
//
//	word    55          54-48    47-40    39-32    31-16    15-0
//	0       peer (24 bits)                context
//	1       operation            start, high half  tag
//	2       short       bytes (39 bits)                     start, low half
//	3       state                site     caller   time of the state
//
// The operation, the site and its caller are numbers of texts. Times are milliseconds since the start in the
// header. In the field peer, 2^24-1 means none or any. In the field bytes, 2^39-1 means a length that does
// not fit. A short operation had already ended when it was recorded, and does not use word 3.
//
// The top bytes serve as the sequence number of a slot. Every word contains the sequence number. For this
// reason, a writer needs no additional store and may execute its stores in any order. If a word of a record
// does not have the number that the reader expects, the record is being written, and the reader omits it. A
// change of the state is one store. For these reasons, a reader never mixes two records, even if the writer was
// stopped in the middle of a record. A message costs three stores for its record and two for counters
// (docs/adr/0049).
package flight
