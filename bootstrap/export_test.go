package bootstrap

import "testing"

// These names export unexported identifiers to the tests in package bootstrap_test.
var (
	AppendBook  = appendBook
	ParseBook   = parseBook
	PackCards   = packCards
	UnpackCards = unpackCards
	PackBook    = packBook
	AppendFrame = func(dst []byte, k uint8, body []byte) []byte { return appendFrame(dst, kind(k), body) }
	ParseRanks  = parseRanks
	AppendRanks = appendRanks
	ReadRanks   = func(b []byte, size int) (ranks []int, ok bool) {
		r := reader{b: b, size: size}
		ranks = r.ranks()
		return ranks, !r.bad && len(r.b) == 0
	}
	PollFrame = func(rank int, v Vote) []byte { return pollOf(rank, &v).append([]byte{byte(kindPoll)}) }
	// PollOfTwo encodes the equal votes of two ranks as two ballots.
	PollOfTwo = func(a, b int, v Vote) []byte {
		p := pollOf(a, &v)
		p.ballots = append(p.ballots, pollOf(b, &v).ballots...)
		return p.append(nil)
	}
	ParsePoll = func(b []byte, size int) error { _, err := parsePoll(b, size); return err }
	ParseFDs  = func(s string) (socket, memory, secret int, err error) {
		d, err := parseDescriptors(s)
		return d.socket, d.memory, d.secret, err
	}
)

// These are kinds of frames. The tests make frames of these kinds themselves.
const (
	KindCard      = uint8(kindCard)
	KindFence     = uint8(kindFence)
	KindAbort     = uint8(kindAbort)
	KindFinalize  = uint8(kindFinalize)
	KindReport    = uint8(kindReport)
	KindHandled   = uint8(kindHandled)
	KindVote      = uint8(kindVote)
	KindBook      = uint8(kindBook)
	KindCards     = uint8(kindCards)
	KindPacked    = uint8(kindPacked)
	KindShelved   = uint8(kindShelved)
	KindFenceDone = uint8(kindFenceDone)
	KindPeerDown  = uint8(kindPeerDown)
	KindDump      = uint8(kindDump)
	KindRejoin    = uint8(kindRejoin)
)

// JobOf returns the text that identifies the job of another launcher.
func JobOf(f Foreign) string { return f.job }

// StalePoint returns the encoded address of a meeting point at which nobody listens.
func StalePoint() string {
	return point{addresses: []Address{{IP: [16]byte{10: 0xff, 11: 0xff, 12: 127, 15: 1}, Port: 1}}}.encode()
}

// Compress applies the zstd compression of packed cards.
func Compress(b []byte) []byte {
	enc, _ := codec()
	return enc.EncodeAll(b, nil)
}

// Decompress undoes Compress.
func Decompress(tb testing.TB, b []byte) []byte {
	tb.Helper()
	_, dec := codec()
	flat, err := dec.DecodeAll(b, make([]byte, 0, 1<<20))
	if err != nil {
		tb.Fatal(err)
	}
	return flat
}
