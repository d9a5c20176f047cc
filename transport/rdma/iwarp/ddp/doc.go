// Package ddp implements Direct Data Placement (RFC 5041): the headers of tagged and untagged
// segments and the segmentation of messages. It also checks each segment before the payload of the
// segment is placed.
//
// The package has no sockets, goroutines or clocks, and it reads and writes only headers. It
// computes where the bytes of a payload belong, and the provider moves the bytes.
//
//	tagged     the sender names the place by steering tag and offset. See [Bounds].
//	untagged   the receiver names the place: the next buffer of a queue. See [Queue].
//
// DDP here runs over a reliable stream that keeps order (MPA over TCP). The segments of an untagged
// message therefore arrive in the order of their offsets, and a gap is an error of the peer, never
// a loss.
//
// # A segment, as the ULPDU of an FPDU
//
//	tagged    T=1  14 octets  control, ULP octet, STag, TO           payload
//	untagged  T=0  18 octets  control, ULP octets, QN, MSN, MO       payload
//
// Every error except [ErrShort] is a [FaultError], which contains the error code of the Terminate
// message that the peer gets.
//
// Unstable: any release may change this package, also after v1.
package ddp
