// Package codec defines the bytes of messages between actors of different ranks: which Go
// types can be sent and how their values are encoded, the numbers by which a rank names its
// types, and the head with the addressee and the sender of a message.
//
// It does no communication. Its input may be malformed: every parser returns an error that wraps
// ErrMalformed.
package codec
