// Package value defines the bytes of typed values: which codec encodes the values of a Go type,
// and the head that names the type and the codec to the receiver.
//
// It does no communication. Its input may be malformed: every parser returns an error.
//
//	byte 0  form: a value, nil, or the failure of the sender
//	1-2     length of the name of the type, 16 bits, little endian
//	then    the name, and the codec's bytes; of a failure its text
package value
