package iwarp

import (
	"sync/atomic"
	"time"
)

// Config is the configuration of a Provider. Its zero value suits most users.
type Config struct {
	// NoCRC omits CRC32C on connections whose peer omits it, too.
	NoCRC bool
	// Revision is the MPA revision of this side's connection requests: 1 or 2. Revision 2 adds the
	// negotiation of the depths (IRD and ORD) and the RTR. The RTR is the first FPDU of the
	// initiator and shows that the initiator is ready. 0 means 2.
	Revision uint8
	// ReadRTR makes connection requests of revision 2 use a zero-length RDMA Read as the RTR. The
	// response to this Read shows that the peer runs. Without ReadRTR the RTR is a zero-length
	// Write, which is faster, or a Read if the peer does not support the Write. With ReadRTR the peer
	// must be able to serve a Read.
	ReadRTR bool
	// RequestTimeout bounds the time from accept(2) to the end of the peer's MPA request. 0 means
	// 5 s.
	RequestTimeout time.Duration
	// StartTimeout bounds the time from this side's MPA reply to the peer's RTR. It has no effect if
	// no RTR was agreed. 0 means 10 s. The time from this side's request to the peer's MPA reply is
	// limited by the consumer, not by this field.
	StartTimeout time.Duration
	// CloseTimeout bounds the time from Disconnect, or from a Terminate of this side, to the end of
	// the peer's side of the connection. 0 means 5 s.
	CloseTimeout time.Duration
	// UserTimeout bounds the time for which data may stay unacknowledged, or wait because the receive
	// window of the peer is full (TCP_USER_TIMEOUT). A time of less than a millisecond counts as a
	// millisecond. 0 means 20 s.
	UserTimeout time.Duration
	// Pause is the time for which a peer of another implementation may be silent after this side has
	// connected. After this time, this side sends a zero-length RDMA Write, up to three times. The
	// reason is a behaviour of the kernel's siw: if data arrive while siw is sending its reply, siw
	// notices these data only when more data arrive. Pause is also the time for which a peer that
	// has connected with revision 2 but without an RTR may be silent before this side sends first (see
	// doc.go). 0 means 300 ms.
	Pause time.Duration
	// HalfOpenMax bounds the number of connections of a listener that have not sent their MPA
	// request. 0 means 256. In addition, these connections never use more than an eighth of the
	// descriptors that the process may have.
	HalfOpenMax int
	// Packing determines whether payload for peers that run this module is compressed.
	Packing Packing
	// SealedMax is the number of bytes of ciphertext that an encrypted connection may carry in one
	// direction. A connection that has carried as many or more is worn (verbs.Endpoint.Worn). 0 means
	// 256 GiB, because RFC 8446 section 5.5 permits at most 2^24.5 records of 16 KiB, or 362 GiB, for
	// one key of AES-GCM.
	SealedMax int64
	// SegmentMax bounds the length of the sent ULPDUs, in bytes. Tests use it so that short
	// messages have many segments. 0 means kinULPDU for peers that run this module. For other peers
	// it means the longest ULPDU whose FPDU fits into one TCP segment (mpa.MULPDU).
	SegmentMax int
	// Log gets lines of text without newlines. One line reports the first connection that was dropped without an
	// acceptable MPA request. Connections that the peer closed do not count. For each connection whose messages wait
	// because a peer of MPA revision 1 sends nothing, there is one line. Log is called on a goroutine of its own,
	// without a lock, and may block. Only Close of an adapter waits for Log, for at most one second. Log may be nil.
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

// Counters count events of all devices of a Provider. They only grow, and may be read from any
// goroutine.
type Counters struct {
	// Strangers, Late, Crowded, Scarce and HungUp count connections that were dropped without an
	// acceptable MPA request. Strangers: the peer sent bytes that are not a valid MPA request, or asked
	// for markers, or the TLS handshake failed. Late: the peer sent no request in
	// time. Crowded: too many connections had sent no request. Scarce: the process had few
	// descriptors left. HungUp: the peer closed the connection before its request was complete.
	Strangers, Late, Crowded, Scarce, HungUp atomic.Uint64
	// Rejected counts the requests that the consumer rejected. Refused counts the requests that
	// package verbs refused without asking the consumer, because the consumer's backlog was full or
	// the consumer no longer listened.
	Rejected, Refused atomic.Uint64
	// Terminated counts the connections that ended by a Terminate of this side, TerminatedByPeer
	// the connections that ended by a Terminate of the peer.
	Terminated, TerminatedByPeer atomic.Uint64
	// Unsealed counts the encrypted connections that were lost because their bytes violated TLS, or
	// because they ended without a close_notify of TLS.
	Unsealed atomic.Uint64
	// Reads and Writes count the system calls that moved FPDUs or, with TLS, the reads and writes of
	// plaintext. BytesPlaced counts the bytes of payload that were read directly into their target.
	// BytesCopied counts the bytes of payload that were copied to their target from a receive buffer.
	Reads, Writes, BytesPlaced, BytesCopied atomic.Uint64
	// PackedFrom and PackedTo count the bytes of payload that was sent compressed: PackedFrom
	// before compression, PackedTo after it.
	PackedFrom, PackedTo atomic.Uint64
}
