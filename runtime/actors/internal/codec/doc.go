// Package codec defines the wire format of messages between actors of different ranks. It defines
// which Go types can be sent and how their values are encoded. It also defines the numbers by which
// a rank names its types, and the head with the addressee and the sender of a message.
//
// The package does no communication. If the input of a parser is malformed, the parser returns an
// error that wraps ErrMalformed.
package codec
