package collectives

import "github.com/gorun-hpc/gorun/runtime"

// A label of a message identifies the call that it belongs to. Equal calls have equal
// labels.
//
//	bits 10-30  fingerprint: of all blocking calls so far, because in some of them
//	            no message is received; of a nonblocking call alone
//	bits  0-9   number of the call modulo labelNumbers
const (
	labelNumberBits = 10
	labelNumbers    = 1 << labelNumberBits
	labelMarkBits   = 31 - labelNumberBits
)

// label returns the label of call n with a fingerprint.
func label(fingerprint, n uint64) uint32 {
	return uint32(fingerprint>>(64-labelMarkBits)<<labelNumberBits | n%labelNumbers)
}

var _ = [1]struct{}{}[runtime.LabelMax-(1<<(labelMarkBits+labelNumberBits)-1)]

// A subject of runtime.Comm.Inquire is the number of a call modulo labelNumbers, with
// subjectStarted for nonblocking ones; or subjectHistory, whose answer are the labels of
// the blocking calls that are remembered, four bytes each, little endian. subjectInter marks that
// of a call on an Intercomm.
const (
	subjectStarted = 1 << 32
	subjectHistory = 1 << 33
	subjectInter   = 1 << 34
)
