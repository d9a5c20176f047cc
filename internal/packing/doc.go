// Package packing decides whether payload is compressed before it takes its way to a peer or to a disk.
// It is compressed if the way is slower than compressing, and only while the payload becomes shorter.
// The package reads no clock. The only data that it compresses are samples. Package iwarp has a Decider for
// each connection, package checkpoint one for the copies to a peer and one for the files.
//
// A Decider is off at first. After some payload it looks at the way, that is, it asks for the rate of the
// way. If the way is slow, the Decider asks its user to compress one piece. If that is worth it, the Decider
// turns on. Several pieces that are not worth it, or a way that has become fast, turn it off. With each look
// in vain, the payload until the next look doubles up to a limit, which both packages set to 64 MiB. So payload
// that does not become shorter, such as compressed data, costs the time of one piece in 64 MiB.
//
//	if d.Wants(len(piece), look) {
//		packed, took := compress(piece)
//		if d.Judge(len(piece), len(packed), took) {
//			piece = packed
//		}
//	}
package packing
