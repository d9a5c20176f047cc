package collectives

import "github.com/gorun-hpc/gorun/runtime"

// The label of a message identifies the call that the message belongs to. Calls of different members
// that match have equal labels.
//
//	bits 10-30  fingerprint. For a blocking call it covers all blocking calls so far,
//	            because some calls receive no message whose label could be compared.
//	            For a nonblocking call, and for a call on an Intercomm, it covers this call alone
//	bits  0-9   number of the call modulo labelNumbers
const (
	labelNumberBits = 10
	labelNumbers    = 1 << labelNumberBits
	labelMarkBits   = 31 - labelNumberBits
)

// label returns the label of call n. The argument fingerprint is the hash described above.
func label(fingerprint, n uint64) uint32 {
	return uint32(fingerprint>>(64-labelMarkBits)<<labelNumberBits | n%labelNumbers)
}

var _ = [1]struct{}{}[runtime.LabelMax-(1<<(labelMarkBits+labelNumberBits)-1)]

// A subject of runtime.Comm.Inquire is the number of a call modulo labelNumbers. The bit
// subjectStarted is set for a nonblocking call, and the bit subjectInter for a call on an Intercomm.
// The subject subjectHistory asks for the blocking calls that are recorded (see record.history), and
// subjectHistory with subjectStarted asks for the nonblocking calls that are recorded.
const (
	subjectStarted = 1 << 32
	subjectHistory = 1 << 33
	subjectInter   = 1 << 34
)
