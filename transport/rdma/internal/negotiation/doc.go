// Package negotiation agrees on the terms of a connection between two ranks.
//
// Both sides put one 56-byte Record into the private data of the connection:
// the active side into its request, the passive side into its reply. A passive
// side that does not want the connection answers with a 32-byte Reject instead.
// The first message of the active side ends with a 16-byte proof, and the passive side
// takes nothing before it.
// The package is pure: no sockets, no clocks, no randomness.
//
// # The record
//
// All fields are big-endian. 56 bytes are what InfiniBand's connection manager
// leaves of a REQ for RDMA_PS_TCP (rdma_connect(3)).
//
//	off size field
//	  0   2  magic 0x6752
//	  2   1  major version << 4 | minor version
//	  3   1  type << 4 | length/4 (14): the record delimits itself
//	  4   4  job: the first four bytes of SHA-256(job id)
//	  8   4  source rank
//	 12   2  incarnation of the source
//	 14   2  the source's latest attempt at this pair
//	 16   1  IRD offered (request) or granted (reply), 0..254
//	 17   1  ORD offered or granted, 0..254
//	 18   2  eager credits: receives posted for the reader of the record
//	 20   1  eager slot, code n: (n+1) KiB
//	 21   1  number of the source's adapter, 0 for the first one
//	 22   2  features, see the table below
//	 24   1  purpose of a request: 0 a connection, 1 a look, which is always refused, 2 one for bulk
//	 25   3  reserved: 0
//	 28  12  nonce of the source, new in each record
//	 40  16  HMAC-SHA256(key of requests or of replies, bytes 0..39, destination
//	         rank, and in a reply the whole request), first 16 bytes
//
//	bit feature, in use when both sides set it; the others are reserved: 0
//	  5  may go without CRC: RFC 5044 turns CRC on when either side asks for it,
//	     so that the bit to combine by AND is the readiness to do without
//
// The destination rank is bound by the tag and not carried: a record sent to
// another rank does not verify there. The tag of a reply covers the request, so that a
// reply is valid for one request only; so does the tag of a Reject, which also covers the
// rank that refuses.
//
// # The proof
//
//	active                                  passive
//	request(nonce a)           ----------->
//	                           <-----------  reply(nonce p), covers the request
//	first message, proof       ----------->  takes messages from now on
//
// The reply proves to the active side that the passive side has the secret and answers this
// request. A request can be recorded and sent again, so it proves no presence: the proof does,
//
//	HMAC-SHA256(key of proofs, what precedes the proof in the message, four bytes 0,
//	        the request, the reply), first 16 bytes
//
// whose nonces are of both sides and new. Through the records each proof covers both ranks,
// their incarnations, both depths, credits, slots and features. Package peering refuses a
// request that was recorded before, if it remembers it.
//
// # Keys
//
// NewCredentials derives one key for each kind of tag from the job's secret by HKDF-SHA256
// (RFC 5869), with the job's id as salt and as info "gorun rdma request 2",
// "gorun rdma reply 2", "gorun rdma reject 2" or "gorun rdma proof 2".
//
// # Refusals
//
// A Reject whose tag does not verify proves nothing: it may come from a rank
// with another secret, which refuses every request, or from an attacker, and the two
// cannot be distinguished. It ends one attempt.
//
// # Padding
//
// Connection managers pad private data (InfiniBand to 56, 196 and 148 bytes,
// some iWARP adapters by 4) and report the padded length. Bytes after the
// record are therefore ignored, whatever they hold.
//
// # Versions
//
// Another major version is refused with the range that is understood. A minor
// version only adds meaning to what older ones leave zero.
//
// # Reads in flight
//
// IRD (responder resources) is how many reads and atomics a side serves at once,
// ORD (initiator depth) how many it issues. Final values come from the two
// records and never from the events of a provider, which cross or swap them
// (rdma_get_cm_event(3)); the engine that sends holds itself to ORD.
package negotiation
