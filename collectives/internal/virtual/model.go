package virtual

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// ErrModel is the error of a model with an invalid parameter.
var ErrModel = errors.New("invalid model")

// Model describes a network of nodes and their processors. Times are in nanoseconds, times per byte
// in nanoseconds per byte.
type Model struct {
	// Node has the costs of messages between ranks of the same node, Network the costs of messages
	// between nodes.
	Node    Level `json:"node"`
	Network Level `json:"network"`
	// Processor has the costs of messages between ranks that share a processor. They can be lower than
	// those of Node, because the bytes stay in the caches of the processor. Without segments, the
	// costs are those of Node.
	Processor Level `json:"processor,omitempty"`
	// RanksPerNode is the number of ranks of a node: consecutive ranks share a node. 0 or 1 gives
	// every rank a node of its own.
	RanksPerNode int `json:"ranksPerNode,omitempty"`
	// Processors is the number of processors of a node; 0 gives every rank a processor of its own.
	// If the node has more ranks than processors, consecutive ranks share a processor, as with gorun
	// -bind-to core. A processor runs one rank at a time, until that rank waits for a message or has
	// ended.
	Processors int `json:"processors,omitempty"`
	// Visit applies to a processor that several ranks share. The processor visits its ranks in turn
	// until it finds a rank that can continue. Visit is the time of one such visit. VisitPerRank is
	// added to Visit once for each rank of the processor. With more ranks, a visit takes longer,
	// because less of the visited rank's data is in the caches.
	Visit        float64 `json:"visit,omitempty"`
	VisitPerRank float64 `json:"visitPerRank,omitempty"`
	// Call is the processor time of a collective call before its first message.
	Call float64 `json:"call,omitempty"`
	// Combine is gamma, the time per byte to combine two operands. Copy is the time per byte of a
	// copy within the memory of a rank.
	Combine float64 `json:"combine,omitempty"`
	Copy    float64 `json:"copy,omitempty"`
	// Cache is the number of bytes that the caches of a processor hold; 0 means any number. If the
	// buffers of the ranks of a processor have more bytes, a part of them is not in the caches: 1 -
	// Cache/bytes. For this part of the bytes that a rank receives, copies or combines, Miss is added
	// to the time per byte.
	Cache float64 `json:"cache,omitempty"`
	Miss  float64 `json:"miss,omitempty"`
}

// Level has the costs of messages between ranks of a processor, of a node, or of different nodes:
// segments in ascending order of Most. The last segment is for all longer messages.
type Level []Segment

// Segment has the costs of messages of a range of lengths.
type Segment struct {
	// Most is the length, in bytes, of the longest message that the segment is for; 0, in the last
	// segment, means no limit.
	Most int `json:"most,omitempty"`
	// Latency is alpha: the time between the first byte of a message at the sender's link and the
	// first byte at the receiver's link.
	Latency float64 `json:"latency"`
	// PerByte is beta: the time for which a byte occupies the sender's link, and later the receiver's
	// link. A link carries one message after the other, so that several senders to one receiver share
	// the receiver's link (incast).
	PerByte float64 `json:"perByte,omitempty"`
	// Gap is the shortest time between the first bytes of two messages on a link.
	Gap float64 `json:"gap,omitempty"`
	// Overhead is the processor time per message, at the sender and at the receiver.
	Overhead float64 `json:"overhead,omitempty"`
	// SendPerByte and RecvPerByte are the processor time per byte at the sender and at the
	// receiver, for networks where processors copy the bytes.
	SendPerByte float64 `json:"sendPerByte,omitempty"`
	RecvPerByte float64 `json:"recvPerByte,omitempty"`
	// Rendezvous reports whether the sender announces the message first and sends it when the
	// receiver requests it. Send then returns one Latency after the receiver has received the
	// message.
	Rendezvous bool `json:"rendezvous,omitempty"`
	// Handshake is the time from the receiver's request until the message may enter the sender's
	// link.
	Handshake float64 `json:"handshake,omitempty"`
}

// longest is the largest value of a parameter that is a time or a time per byte: one second, in nanoseconds.
// This limit keeps sums of times far from overflow.
const longest = 1e9

// Validate returns an error that wraps ErrModel and names the parameter that is wrong.
func (m *Model) Validate() error {
	if m.RanksPerNode < 0 {
		return fmt.Errorf("%w: ranksPerNode is %d, which is negative", ErrModel, m.RanksPerNode)
	}
	if m.Processors < 0 {
		return fmt.Errorf("%w: processors is %d, which is negative", ErrModel, m.Processors)
	}
	if math.IsNaN(m.Cache) || m.Cache < 0 {
		return fmt.Errorf("%w: cache is %v bytes, which is not a length", ErrModel, m.Cache)
	}
	if err := ranged(map[string]float64{"visit": m.Visit, "visitPerRank": m.VisitPerRank, "call": m.Call, "combine": m.Combine, "copy": m.Copy, "miss": m.Miss}); err != nil {
		return err
	}
	if err := m.Network.validate("network"); err != nil {
		return err
	}
	if len(m.Processor) > 0 {
		if err := m.Processor.validate("processor"); err != nil {
			return err
		}
	}
	if m.RanksPerNode <= 1 && len(m.Node) == 0 {
		return nil
	}
	return m.Node.validate("node")
}

// ranged returns an error if a parameter is negative or greater than longest.
func ranged(parameters map[string]float64) error {
	for name, v := range parameters {
		if math.IsNaN(v) || v < 0 || v > longest {
			return fmt.Errorf("%w: %s is %v ns, not from 0 to %v", ErrModel, name, v, longest)
		}
	}
	return nil
}

// validate checks a level. name is the name of the level in errors.
func (l Level) validate(name string) error {
	if len(l) == 0 {
		return fmt.Errorf("%w: level %s has no segments", ErrModel, name)
	}
	for i, s := range l {
		switch last := i == len(l)-1; {
		case last && s.Most != 0:
			return fmt.Errorf("%w: the last segment (%d) of %s has most %d, but it is for messages of any length: most must be 0 or absent", ErrModel, i, name, s.Most)
		case !last && (s.Most <= 0 || i > 0 && s.Most <= l[i-1].Most):
			return fmt.Errorf("%w: segment %d of %s has most %d: most must be positive and grow from segment to segment", ErrModel, i, name, s.Most)
		}
		err := ranged(map[string]float64{
			"latency": s.Latency, "perByte": s.PerByte, "gap": s.Gap, "overhead": s.Overhead,
			"sendPerByte": s.SendPerByte, "recvPerByte": s.RecvPerByte, "handshake": s.Handshake,
		})
		if err != nil {
			return fmt.Errorf("segment %d of %s: %w", i, name, err)
		}
		if s.Handshake > 0 && !s.Rendezvous {
			return fmt.Errorf("%w: segment %d of %s has handshake %v, but rendezvous is false", ErrModel, i, name, s.Handshake)
		}
	}
	return nil
}

// of returns the segment for messages of n bytes.
func (l Level) of(n int) *Segment {
	for i := range l {
		if n <= l[i].Most {
			return &l[i]
		}
	}
	return &l[len(l)-1]
}

// Time is a time or a duration in picoseconds. A time is counted from the start of the simulation.
type Time int64

// Duration returns t in nanoseconds, rounded.
func (t Time) Duration() time.Duration { return time.Duration((t + 500) / 1000) }

// Seconds returns t in seconds.
func (t Time) Seconds() float64 { return float64(t) / 1e12 }

// end is twice the longest time that is simulated: about 50 days.
const end Time = 1 << 62

// span converts nanoseconds to virtual time. It limits the result to end/4.
func span(nanoseconds float64) Time { return Time(math.Round(min(nanoseconds*1000, float64(end/4)))) }

func (s *Segment) overhead(perByte float64, n int) Time { return span(s.Overhead + perByte*float64(n)) }

// occupancy returns two times for a message of n bytes. bytes is the time for which the bytes occupy
// a link. The result next is the time from the first byte until the next message may begin on that link.
func (s *Segment) occupancy(n int) (bytes, next Time) {
	bytes = span(s.PerByte * float64(n))
	return bytes, max(bytes, span(s.Gap))
}
