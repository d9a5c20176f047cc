// Package mpa implements Marker PDU Aligned framing over TCP (RFC 5044) and its enhanced connection
// set-up (RFC 6581): the frames that open a connection, the rules by which two sides agree, and the
// framing of the stream that follows.
//
// The package does no I/O: it takes bytes and returns bytes and decisions. The provider above has
// the sockets, clocks and goroutines.
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
// Length is big-endian and counts the ULPDU alone. The CRC covers length, ULPDU and padding; the
// CRC is the only little-endian field. With CRC off the field is still present, with any value.
//
// Markers (RFC 5044 section 4.3) are not supported, as in every implementation over plain sockets:
// they exist for adapters that place segments that arrive out of order.
//
// # Ownership
//
// Parsers return slices of their argument, which are valid as long as the caller keeps that buffer
// unchanged. No function here keeps a slice beyond its call.
//
// Unstable: any release may change this package, also after v1.
package mpa
