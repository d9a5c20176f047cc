// Package packing decides whether payload is compressed before it is sent to a peer or written to a disk. The
// connection to the peer, or the disk, is called the way. In the mode Auto, payload is compressed if the way is slower
// than compression, and only while the payload becomes shorter. If Limits.Enough is not 0, payload that becomes
// much shorter is compressed on a fast way, too. The package reads no clock. It compresses only samples; the
// caller compresses the payload. Package iwarp has a Decider for each connection. Package checkpoint has one
// Decider for the copies to a peer, and one for the files.
//
// A Decider with the mode Auto is off at first. After some payload, if the way was full meanwhile (Block), the
// Decider takes a look at the way: it asks the caller for the rate of the way. If the way is slow, or if
// Limits.Enough is not 0, the Decider asks the caller to compress one piece. If compression was worth the time, the
// Decider turns on. The Decider turns off after several pieces that were not worth compressing. If Limits.Enough is
// 0, the Decider also turns off when the way has become fast. While looks do not lead to compression, the amount of
// payload between two looks doubles, up to a limit. Packages iwarp and checkpoint set the limit to 64 MiB, and call
// Promises before they compress a piece. For payload that does not become shorter, such as compressed data, the
// cost is therefore the compression of one sample in 64 MiB.
//
//	if d.Wants(len(piece), look) {
//		packed, took := compress(piece)
//		if d.Judge(len(piece), len(packed), took) {
//			piece = packed
//		}
//	}
package packing
