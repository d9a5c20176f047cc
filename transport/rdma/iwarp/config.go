package iwarp

import (
	"sync/atomic"
	"time"
)

// Config changes what a Provider does. The zero value is right for most.
type Config struct {
	// NoCRC does without CRC32C when the peer does, too.
	NoCRC bool
	// Revision is the MPA revision of connects: 2 (also if 0) with negotiated depths
	// and an RTR, or 1.
	Revision uint8
	// ReadRTR has a connect of revision 2 announce itself by a zero-length RDMA Read,
	// whose response shows that the peer is there, in place of a Write, which is faster.
	// The peer has to serve a Read then.
	ReadRTR bool
	// RequestTimeout is how long a peer may take from TCP's accept to the end of its
	// MPA request. 0 means 5 s.
	RequestTimeout time.Duration
	// StartTimeout is how long a peer may take from our MPA reply to its first FPDU. 0
	// means 10 s. How long it may take to its own reply is for the consumer to say.
	StartTimeout time.Duration
	// CloseTimeout is how long a peer may take to end its side of a connection that
	// this side has ended. 0 means 5 s.
	CloseTimeout time.Duration
	// UserTimeout is how long data may stay unacknowledged (TCP_USER_TIMEOUT), 0 means
	// 20 s.
	UserTimeout time.Duration
	// Pause is how long a peer of another kind may be silent after a connect before it
	// is sent a zero-length RDMA Write, up to three times: the kernel's siw does not look
	// for what came while it was ending its reply until more comes. As long may a peer be
	// silent that has connected without an RTR before this side sends first, see doc.go.
	// 0 means 300 ms.
	Pause time.Duration
	// HalfOpenMax is how many connections may be without an MPA request per listener.
	// 0 means 256. It is never more than an eighth of the descriptors that the process
	// may have.
	HalfOpenMax int
	// Packing says whether payload to peers of this module is compressed.
	Packing Packing
	// SealedMax is how many bytes of ciphertext an encrypted connection may carry in one direction
	// until it is worn (verbs.Endpoint.Worn). 0 means 256 GiB: RFC 8446 section 5.5 ends the use of
	// a key of AES-GCM after 2^24.5 records of 16 KiB, 362 GiB.
	SealedMax int64
	// SegmentMax bounds the ULPDUs sent, in bytes: a test reaches messages of many
	// segments with few bytes. 0 means the most that the peer takes.
	SegmentMax int
	// Log takes one line for people, without a newline, about the first connection that
	// was dropped because it was none of a peer. It is called on a goroutine of its own,
	// without a lock, and may take its time: nothing waits for it but the end of an
	// adapter, and that for a second. May be nil.
	Log func(line string)
}

// populate returns the configuration with its defaults filled in.
func (c Config) populate() Config {
	def := func(d *time.Duration, value time.Duration) {
		if *d <= 0 {
			*d = value
		}
	}
	def(&c.RequestTimeout, 5*time.Second)
	def(&c.StartTimeout, 10*time.Second)
	def(&c.CloseTimeout, 5*time.Second)
	def(&c.UserTimeout, 20*time.Second)
	def(&c.Pause, 300*time.Millisecond)
	if c.Revision != 1 {
		c.Revision = 2
	}
	if c.SealedMax <= 0 {
		c.SealedMax = 256 << 30
	}
	if c.HalfOpenMax <= 0 {
		c.HalfOpenMax = 256
	}
	return c
}

// Counters count what does not reach a consumer. They only grow, and may be read
// from any goroutine.
type Counters struct {
	// Strangers counts connections dropped because of what they sent in place of an
	// MPA request, Late those dropped because they sent none in time, Crowded those
	// dropped because too many others sent none either, Scarce those dropped because
	// the process had few descriptors left. HungUp counts those that the peer closed
	// before its request was whole.
	Strangers, Late, Crowded, Scarce, HungUp atomic.Uint64
	// Rejected counts requests that the consumer rejected, Refused those that it was
	// not told of: its backlog was full, it no longer listened, or it does not have the
	// quality of service that was asked for.
	Rejected, Refused atomic.Uint64
	// Terminated counts connections ended by a Terminate of ours, TerminatedByPeer
	// those ended by the peer's.
	Terminated, TerminatedByPeer atomic.Uint64
	// Unsealed counts encrypted connections lost because bytes of them were not as TLS has
	// them, or because TLS's own end was missing.
	Unsealed atomic.Uint64
	// Reads and Writes count system calls on connections that moved bytes, BytesPlaced
	// payload read straight into its target and BytesCopied payload copied there out
	// of a receive buffer.
	Reads, Writes, BytesPlaced, BytesCopied atomic.Uint64
	// PackedFrom and PackedTo count payload sent compressed, before and after.
	PackedFrom, PackedTo atomic.Uint64
}
