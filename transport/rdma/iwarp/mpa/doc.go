// Package mpa is Marker PDU Aligned framing over TCP (RFC 5044) and its
// enhanced connection set-up (RFC 6581): the frames that open a connection, the
// rules by which two sides agree, and the framing of the stream that follows.
//
// It is pure: bytes in, bytes and decisions out. Sockets, clocks and goroutines
// belong to the provider above.
//
//	initiator                                   responder
//	Offer.Request  ── MPA Request Frame ──▶     ParseFrame, Screen
//	                                            Offer.Accept or Offer.Reject
//	Offer.Conclude ◀── MPA Reply Frame ──
//	               ── first FPDU (RTR) ──▶      only now may the responder send
//
// # The stream
//
//	 0        2                2+len        pad to 4        +4
//	┌────────┬────────────────┬────────────┬──────────────┐
//	│ length │ ULPDU          │ 0-3 zeros  │ CRC32C       │
//	└────────┴────────────────┴────────────┴──────────────┘
//
// Length is big-endian and counts the ULPDU alone. The CRC covers length, ULPDU
// and padding; it is the one field stored little-endian. With CRC off the field
// is still there, with any value.
//
// Markers (RFC 5044 section 4.3) are refused, as every implementation over plain
// sockets does: they exist for adapters that place segments out of order.
//
// # Ownership
//
// Parsers return slices of what they were given; they are valid as long as the
// caller keeps that buffer. Nothing here keeps a slice beyond a call.
//
// Unstable: any release may change this package, also after v1.
package mpa
