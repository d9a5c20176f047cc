// Package value defines the wire format of typed values. It determines which codec encodes the
// values of a Go type. A header names the type and the codec to the receiver.
//
// The package does not communicate. If its input is malformed, every parser returns an error.
//
//	byte 0  form: a value, nil, or a failure of the sender
//	1-2     length in bytes of the name of the type and the codec, 16 bits, little endian; 0 for a
//	        failure
//	then    the name and, for a value, the codec's bytes; for a failure, the text of the error
//
// AppendRest omits the length and the name.
package value
