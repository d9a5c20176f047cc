// Package packing decides whether payload is compressed on its way to a peer or to a disk: where the way
// is slower than compressing, and for as long as the payload gets shorter. It has no clock and does
// not compress. Package iwarp has a Decider for each connection, package checkpoint for each way of
// its copies.
//
// A Decider is off at first. After some payload it looks at the way, and if that is slow it has one piece
// tried. A piece that is worth it turns it on; several that are not worth it, or a way that has become fast,
// turn it off, and the next look comes after twice the payload of the last one. So payload that does not
// get shorter, such as what is compressed already, costs a piece of 64 MiB.
//
//	if d.Wants(len(piece), look) {
//		packed, took := compress(piece)
//		if d.Judge(len(piece), len(packed), took) {
//			piece = packed
//		}
//	}
package packing
