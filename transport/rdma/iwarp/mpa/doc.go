// Package mpa implements Marker PDU Aligned framing over TCP (RFC 5044) and its enhanced connection
// set-up (RFC 6581). It contains the frames that open a connection, the rules by which two sides
// agree, and the framing of the stream.
//
// The package does no I/O: it takes bytes and returns bytes and decisions. The provider that uses
// the package has the sockets, clocks and goroutines.
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
// The length is big-endian and counts only the bytes of the ULPDU. The CRC covers length, ULPDU and
// padding. The CRC is the only little-endian field. If the two sides have agreed to use no CRC, the
// field is still present, with any value.
//
// Markers (RFC 5044 section 4.3) are not supported, because only adapters that place segments out
// of order need them. No other implementation over plain sockets supports them either.
//
// # Ownership
//
// Parsers return slices of their argument, which are valid as long as the caller does not change
// the argument. No function of this package keeps a slice after it returns.
//
// Unstable: any release may change this package, also after v1.
package mpa
