package actors

import (
	"errors"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/gorun-hpc/gorun/runtime/internal/port"
)

// NewOver makes a System over a World of the test's own, and returns what closes
// it when the engine has ended.
func NewOver(w port.World, cfg Config) (*System, func()) {
	s := newSystem(w, cfg)
	if err := s.spawnNames(); err != nil {
		panic(err)
	}
	return s, s.close
}

// Lose tells the engine that a rank is gone.
func (s *System) Lose(rank int) { s.engine.MarkDown(rank, errors.New("killed by the test")) }

// Cover holds a head for the tests of the wire format.
type Cover struct {
	Name    string
	Sender  *actor.PID
	Headers map[string]string
}

// AppendHead is head.append.
func AppendHead(b []byte, c Cover, own string) ([]byte, error) {
	h := head{c.Name, c.Sender, c.Headers}
	return h.append(b, own)
}

// ParseHead is parseHead.
func ParseHead(b []byte, from string) (Cover, error) {
	r, err := parseHead(b)
	c := Cover{Name: string(r.name), Headers: r.headers}
	if r.hasSender {
		c.Sender = actor.NewPID(from, string(r.sender))
		if r.address != nil {
			c.Sender.Address = string(r.address)
		}
	}
	return c, err
}

// ParseAddress is parseAddress.
func ParseAddress(a string) (rank int, epoch uint32, err error) { return parseAddress(a) }

// Address is address.
func Address(rank int, epoch uint32) string { return address(rank, epoch) }

// Probes is how often an actor of this rank has asked who it waits for.
func (s *System) Probes() uint32 {
	s.waits.mu.Lock()
	defer s.waits.mu.Unlock()
	return s.waits.number
}

// Questions is how many requests this rank keeps as open.
func (s *System) Questions() int {
	s.questions.mu.Lock()
	defer s.questions.mu.Unlock()
	return len(s.questions.all)
}
