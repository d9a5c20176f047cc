// Package negotiation agrees on the terms of a connection between two ranks.
//
// Both sides put one 56-byte Record into the private data of the connection: the active side into
// its request, the passive side into its reply. A passive side that refuses the connection answers
// with a 32-byte Reject instead. The first message of the active side ends with a 16-byte proof.
// The passive side accepts no other message before the proof. The package has no sockets, no clocks
// and no randomness.
//
// # The record
//
// All fields are big-endian. A record has 56 bytes, because InfiniBand's connection manager leaves
// 56 bytes of private data to the program in a REQ for RDMA_PS_TCP (rdma_connect(3)).
//
//	off size field
//	  0   2  magic 0x6752
//	  2   1  major version << 4 | minor version
//	  3   1  type << 4 | length/4 (14): the record delimits itself
//	  4   4  job: the first four bytes of SHA-256(job id)
//	  8   4  source rank
//	 12   2  incarnation of the source
//	 14   2  the number of the source's latest attempt to connect to this peer
//	 16   1  IRD offered (request) or granted (reply), 0..254
//	 17   1  ORD offered or granted, 0..254
//	 18   2  eager credits: receives that the source has posted for the peer
//	 20   1  eager slot (size of these receives), code n: (n+1) KiB
//	 21   1  number of the source's adapter, 0 for the first one
//	 22   2  features, see the table below
//	 24   1  purpose of a request: 0 main connection, 1 look (always refused), 2 side connection
//	 25   3  reserved: 0
//	 28  12  nonce of the source, new in each record
//	 40  16  HMAC-SHA256(key of requests or of replies, bytes 0..39, destination
//	         rank, and in a reply the whole request), first 16 bytes
//
//	bit feature, in use if both sides set it; the other bits are reserved: 0
//	  5  can do without CRC: RFC 5044 enables CRC if either side asks for it,
//	     so CRC can be omitted only if both sides set the bit
//
// The last field is the tag. It covers the destination rank, which the record does not contain: if a record
// is sent to another rank, that rank finds the tag invalid. The tag of a reply covers the request, so that
// a reply is valid for only one request. The tag of a Reject covers the request and the rank that refuses.
//
// # The proof
//
//	active                                  passive
//	request(nonce a)           ----------->
//	                           <-----------  reply(nonce p), covers the request
//	first message, proof       ----------->  accepts messages from now on
//
// The reply proves to the active side that the passive side has the secret and answers this request. A
// request does not prove that its source has sent it for this connection, because an attacker can record
// a request and send it again. The proof in the first message shows that the source has sent the request
// for this connection:
//
//	HMAC-SHA256(key of proofs, what precedes the proof in the message, four bytes 0,
//	        the request, the reply), first 16 bytes
//
// The proof covers both records, and therefore a new nonce of each side. Through the records the
// proof also covers both ranks, their incarnations, and the depths, credits, slots and features of both
// sides. The source of each request numbers its requests with the same purpose to the same peer. The peer refuses a
// replayed request by its number (package peering; errand.go in transport/rdma for side connections).
//
// # Keys
//
// NewCredentials derives one key for each kind of tag from the job's secret by HKDF-SHA256 (RFC
// 5869). The salt is the job's id. The info is "gorun rdma request 2", "gorun rdma reply 2", "gorun
// rdma reject 2" or "gorun rdma proof 2".
//
// # Refusals
//
// A Reject whose tag does not verify proves nothing. The Reject may come from a rank with another
// secret, because such a rank refuses every request. It may also come from an attacker. The two
// cases cannot be distinguished, so the Reject ends only one attempt.
//
// # Padding
//
// Connection managers pad private data and report the padded length. InfiniBand pads a request to
// 56 bytes, a reply to 196 bytes and a reject to 148 bytes. Some iWARP adapters add 4 bytes. Bytes
// after the record are therefore ignored, whatever their values.
//
// # Versions
//
// A record with another major version is refused, and the Reject contains the range of versions
// that the refusing side reads. A new minor version only gives a meaning to fields that are zero in
// older minor versions.
//
// # Reads in flight
//
// IRD (responder resources) is the number of reads and atomics that a side serves at once. ORD
// (initiator depth) is the number that a side issues at once. A passive side uses the depths of a
// provider's event only to lower the depths that it grants. The active side computes its depths
// from the two records only, because the events of some providers swap the two depths
// (rdma_get_cm_event(3)). The side that issues reads keeps at most ORD reads in flight.
package negotiation
