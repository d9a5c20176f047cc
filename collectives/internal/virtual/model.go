package virtual

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// ErrModel is the error of a model without meaning.
var ErrModel = errors.New("invalid model")

// Model is a network of nodes and their processors. Times are in nanoseconds, and so are times
// per byte.
type Model struct {
	// Node is the way of messages between ranks of a node, Network between nodes.
	Node    Level `json:"node"`
	Network Level `json:"network"`
	// RanksPerNode is how many ranks are on a node, in the order of their numbers; 0 or 1 gives
	// every rank a node of its own.
	RanksPerNode int `json:"ranksPerNode,omitempty"`
	// Processors is the number of processors of a node; 0 gives every rank its own. Rank i of
	// a node runs on processor i modulo Processors. A processor runs one rank at a time, until
	// this waits for a message.
	Processors int `json:"processors,omitempty"`
	// Visit is what a processor that several ranks share spends on a rank that waits: it visits
	// its ranks in turn until it finds one that can go on. VisitPerRank is added for each of
	// its ranks: the more there are, the less each of them finds in the caches.
	Visit        float64 `json:"visit,omitempty"`
	VisitPerRank float64 `json:"visitPerRank,omitempty"`
	// Call is the processor time of a call before its first message.
	Call float64 `json:"call,omitempty"`
	// Combine is gamma, the time to combine a byte of two operands, Copy that to copy a byte
	// within the memory of a rank.
	Combine float64 `json:"combine,omitempty"`
	Copy    float64 `json:"copy,omitempty"`
}

// Level is the way of messages of one kind: segments in the order of the lengths that they are
// for. The last one is for all that are longer.
type Level []Segment

// Segment is the cost of messages of some lengths.
type Segment struct {
	// Most is the longest message in bytes that the segment is for, 0 if there is no longest.
	Most int `json:"most,omitempty"`
	// Latency is alpha: from the first byte at the sender's link to the first at the
	// receiver's.
	Latency float64 `json:"latency"`
	// PerByte is beta: how long a byte occupies the link of the sender, and later that of the
	// receiver. Messages that meet at a link follow each other: several senders to one
	// receiver share its link (incast).
	PerByte float64 `json:"perByte,omitempty"`
	// Gap is the shortest time between two messages of a link.
	Gap float64 `json:"gap,omitempty"`
	// Overhead is the processor time of a message, at each end.
	Overhead float64 `json:"overhead,omitempty"`
	// SendPerByte and RecvPerByte are processor time per byte, where processors copy.
	SendPerByte float64 `json:"sendPerByte,omitempty"`
	RecvPerByte float64 `json:"recvPerByte,omitempty"`
	// Rendezvous: the message is announced, and moves when the receiver asks for it. Send
	// returns a latency after the receiver has it.
	Rendezvous bool `json:"rendezvous,omitempty"`
	// Handshake is the time from the receiver's demand to the first byte at the sender's link.
	Handshake float64 `json:"handshake,omitempty"`
}

// Uniform returns the model of the costs at the heads of package message's files: a message of n
// bytes takes alpha + n*beta, combining n bytes takes n*gamma, everything else nothing.
func Uniform(alpha, beta, gamma float64) Model {
	level := Level{{Latency: alpha, PerByte: beta}}
	return Model{Node: level, Network: level, Combine: gamma}
}

// longest bounds every parameter: a second. It keeps sums of times far from overflow.
const longest = 1e9

// Validate returns an error that wraps ErrModel and names the parameter that is wrong.
func (m *Model) Validate() error {
	if m.RanksPerNode < 0 || m.Processors < 0 {
		return fmt.Errorf("%w: %d ranks per node and %d processors: neither can be negative", ErrModel, m.RanksPerNode, m.Processors)
	}
	if err := ranged(map[string]float64{"visit": m.Visit, "visitPerRank": m.VisitPerRank, "call": m.Call, "combine": m.Combine, "copy": m.Copy}); err != nil {
		return err
	}
	if err := m.Network.validate("network"); err != nil {
		return err
	}
	if m.RanksPerNode <= 1 && len(m.Node) == 0 {
		return nil
	}
	return m.Node.validate("node")
}

// ranged checks that parameters are durations.
func ranged(parameters map[string]float64) error {
	for name, v := range parameters {
		if math.IsNaN(v) || v < 0 || v > longest {
			return fmt.Errorf("%w: %s is %v ns, not from 0 to %v", ErrModel, name, v, longest)
		}
	}
	return nil
}

// validate checks a level that is called name.
func (l Level) validate(name string) error {
	if len(l) == 0 {
		return fmt.Errorf("%w: %s has no segment", ErrModel, name)
	}
	for i, s := range l {
		if last := i == len(l)-1; last != (s.Most == 0) || s.Most < 0 || !last && i > 0 && s.Most <= l[i-1].Most {
			return fmt.Errorf("%w: segment %d of %s is for up to %d bytes: they must grow, and the last one, alone, must have none", ErrModel, i, name, s.Most)
		}
		err := ranged(map[string]float64{
			"latency": s.Latency, "perByte": s.PerByte, "gap": s.Gap, "overhead": s.Overhead,
			"sendPerByte": s.SendPerByte, "recvPerByte": s.RecvPerByte, "handshake": s.Handshake,
		})
		if err != nil {
			return fmt.Errorf("segment %d of %s: %w", i, name, err)
		}
		if s.Handshake > 0 && !s.Rendezvous {
			return fmt.Errorf("%w: segment %d of %s has a handshake and no rendezvous", ErrModel, i, name)
		}
	}
	return nil
}

// of returns the segment for n bytes.
func (l Level) of(n int) *Segment {
	for i := range l {
		if n <= l[i].Most {
			return &l[i]
		}
	}
	return &l[len(l)-1]
}

// Time is virtual time in picoseconds since the start.
type Time int64

// Duration returns t in nanoseconds, rounded.
func (t Time) Duration() time.Duration { return time.Duration((t + 500) / 1000) }

// Seconds returns t in seconds.
func (t Time) Seconds() float64 { return float64(t) / 1e12 }

// end is later than everything that is simulated: 50 days.
const end Time = 1 << 62

// span returns nanoseconds, or n times as many, as virtual time.
func span(nanoseconds float64) Time { return Time(math.Round(min(nanoseconds*1000, float64(end/4)))) }

func (s *Segment) overhead(perByte float64, n int) Time { return span(s.Overhead + perByte*float64(n)) }

// occupancy returns how long n bytes take at a link, and when the next message may follow.
func (s *Segment) occupancy(n int) (bytes, next Time) {
	bytes = span(s.PerByte * float64(n))
	return bytes, max(bytes, span(s.Gap))
}
