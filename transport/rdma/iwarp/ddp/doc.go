// Package ddp is Direct Data Placement (RFC 5041): the headers of tagged and
// untagged segments, the cutting of messages into segments, and the checks that
// stand between a segment and memory.
//
// It is pure: no sockets, no goroutines, no clocks, and no memory but headers. It
// says where bytes belong; the provider moves them.
//
//	tagged     the sender names the place: steering tag and offset. [Bounds]
//	untagged   the receiver names the place: the next buffer of a queue. [Queue]
//
// DDP here runs over a reliable stream that keeps order (MPA over TCP), so the
// segments of an untagged message arrive in order of their offset and a gap is an
// error of the peer, never a loss.
//
// # A segment, as the ULPDU of an FPDU
//
//	tagged    T=1  14 octets  control, ULP octet, STag, TO           payload
//	untagged  T=0  18 octets  control, ULP octets, QN, MSN, MO       payload
//
// Every error is a [FaultError], which carries the code of the Terminate message
// that the peer gets for it.
//
// Unstable: any release may change this package, also after v1.
package ddp
