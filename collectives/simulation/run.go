package simulation

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gorun-hpc/gorun/collectives/internal/message"
	"github.com/gorun-hpc/gorun/collectives/internal/virtual"
)

type (
	// Model is a network of nodes and their processors, in nanoseconds.
	Model = virtual.Model
	// Level is the way of messages within a node, or between nodes.
	Level = virtual.Level
	// Segment is the cost of messages of some lengths.
	Segment = virtual.Segment
	// Result is what a simulation cost.
	Result = virtual.Result
	// Cost is what a rank has done.
	Cost = virtual.Cost
	// Time is virtual time in picoseconds.
	Time = virtual.Time
)

// Errors of simulations: use them with errors.Is.
var (
	// ErrModel is a model without meaning.
	ErrModel = virtual.ErrModel
	// ErrMessages is a simulation of more messages than Run.MessagesMax.
	ErrMessages = virtual.ErrMessages
	// ErrArgument is a Run without meaning.
	ErrArgument = errors.New("invalid argument")
	// ErrRanks is an algorithm that is not for so many ranks.
	ErrRanks = errors.New("the algorithm is not for this number of ranks")
)

// Uniform is the model in which a message of n bytes takes alpha + n*beta ns, and combining n bytes
// n*gamma ns.
func Uniform(alpha, beta, gamma float64) Model { return virtual.Uniform(alpha, beta, gamma) }

// Run is one call of an operation.
type Run struct {
	// Operation and Algorithm are names as GORUN_COLL has them.
	Operation, Algorithm string
	Ranks                int
	// Bytes is the length of the contribution of a rank, or of a block in operations that have
	// one for each pair of ranks or from or for each rank. In reducescatter it is that of all
	// blocks.
	Bytes int
	Root  int
	Model Model
	// MessagesMax bounds the messages of all ranks, 0 not at all. A copy or combination that a
	// rank makes counts a hundredth.
	MessagesMax int
}

// Operations returns the names of the operations that have algorithms.
func Operations() []string {
	var names []string
	for _, a := range message.Algorithms() {
		if name := a.Operation.String(); len(names) == 0 || names[len(names)-1] != name {
			names = append(names, name)
		}
	}
	return names
}

// Algorithms returns the names of an operation's algorithms, or an ErrArgument that names the
// operations there are.
func Algorithms(operation string) ([]string, error) {
	var names []string
	for _, a := range message.Algorithms() {
		if a.Operation.String() == operation {
			names = append(names, a.Name)
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%w: no operation %q; there are %s", ErrArgument, operation, strings.Join(Operations(), ", "))
	}
	return names, nil
}

// algorithm returns the algorithm of the run, which it checks.
func (u *Run) algorithm() (*message.Algorithm, error) {
	names, err := Algorithms(u.Operation)
	if err != nil {
		return nil, err
	}
	var found *message.Algorithm
	for i, a := range message.Algorithms() {
		if a.Operation.String() == u.Operation && a.Name == u.Algorithm {
			found = &message.Algorithms()[i]
		}
	}
	switch {
	case found == nil:
		return nil, fmt.Errorf("%w: no algorithm %q for %s; there are %s", ErrArgument, u.Algorithm, u.Operation, strings.Join(names, ", "))
	case u.Ranks < 1 || u.Bytes < 0 || u.MessagesMax < 0:
		return nil, fmt.Errorf("%w: %d ranks, %d bytes, %d messages", ErrArgument, u.Ranks, u.Bytes, u.MessagesMax)
	case u.Bytes > lengthMax/u.Ranks:
		return nil, fmt.Errorf("%w: %d blocks of %d bytes are more than %d bytes", ErrArgument, u.Ranks, u.Bytes, lengthMax)
	case u.Root < 0 || u.Root >= u.Ranks:
		return nil, fmt.Errorf("%w: root %d of %d ranks", ErrArgument, u.Root, u.Ranks)
	case found.Limits&message.PowerOfTwo != 0 && u.Ranks&(u.Ranks-1) != 0:
		return nil, fmt.Errorf("%w: %s of %s needs a power of two, not %d", ErrRanks, u.Algorithm, u.Operation, u.Ranks)
	}
	return found, nil
}

// lengthMax bounds buffers: half of the address space of a process, for two of them and
// scratch memory of twice as much.
const lengthMax = 1 << 44

// stepsPerMessage is how many copies or combinations take as long to simulate as a message.
const stepsPerMessage = 100

// samples is how many ranks are asked how many messages they send before all ranks run.
const samples = 16

// Predict simulates the run. It returns an error that wraps ErrMessages at once if some of the
// ranks, run alone, would send more than their share of MessagesMax; that of an algorithm whose
// ranks learn lengths from each other comes later.
func (u *Run) Predict() (*Result, error) {
	a, err := u.algorithm()
	if err != nil {
		return nil, err
	}
	setup := virtual.Setup{Ranks: u.Ranks, Model: u.Model, MessagesMax: u.MessagesMax}
	arguments := u.arguments(a.Operation)
	body := func(r *virtual.Rank) error { return a.Run(r, arguments.call(r)) }
	if u.MessagesMax > 0 && a.Limits&message.Learns == 0 {
		work := 0
		n := min(samples, u.Ranks)
		for i := range n {
			c, err := virtual.Alone(setup, i*(u.Ranks-1)/max(n-1, 1), body)
			if err != nil {
				return nil, fmt.Errorf("%s of %s: %w", u.Algorithm, u.Operation, err)
			}
			work += c.Sent + c.Steps/stepsPerMessage
		}
		if all := float64(work) / float64(n) * float64(u.Ranks); all > 2*float64(u.MessagesMax) {
			return nil, fmt.Errorf("%w: %s of %s on %d ranks sends about %.2g, or copies as long; at most %.2g are allowed", ErrMessages,
				u.Algorithm, u.Operation, u.Ranks, all, float64(u.MessagesMax))
		}
	}
	res, err := virtual.Run(setup, body)
	if err != nil {
		return nil, fmt.Errorf("%s of %s: %w", u.Algorithm, u.Operation, err)
	}
	return res, nil
}
