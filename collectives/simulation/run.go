package simulation

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gorun-hpc/gorun/collectives/internal/message"
	"github.com/gorun-hpc/gorun/collectives/internal/virtual"
)

type (
	// Model describes a network of nodes and their processors. Times are in nanoseconds.
	Model = virtual.Model
	// Level has the costs of messages between ranks of a processor, of a node, or of different nodes.
	Level = virtual.Level
	// Segment has the costs of messages of a range of lengths.
	Segment = virtual.Segment
	// Result has the virtual time and the costs of a simulated operation.
	Result = virtual.Result
	// Cost has the counts of a rank's messages, bytes and steps.
	Cost = virtual.Cost
	// Time is virtual time in picoseconds.
	Time = virtual.Time
)

// Errors of simulations: use them with errors.Is.
var (
	// ErrModel is the error of a model with an invalid parameter.
	ErrModel = virtual.ErrModel
	// ErrMessages is the error of a simulation that needs more messages than Run.MessagesMax, or so many copies that
	// the estimate of Predict is too high.
	ErrMessages = virtual.ErrMessages
	// ErrArgument is the error of a Run with an invalid field, and of Algorithms for an unknown operation.
	ErrArgument = errors.New("invalid argument")
	// ErrRanks is the error of an algorithm that does not support the number of ranks.
	ErrRanks = errors.New("the algorithm is not for this number of ranks")
)

// Run describes the simulation of one call of an operation by all ranks.
type Run struct {
	// Operation and Algorithm are names as in GORUN_COLL.
	Operation, Algorithm string
	Ranks                int
	// Bytes is the length of the contribution of a rank. In operations whose buffers consist of
	// blocks, one for each rank or neighbor, Bytes is the length of one block. In reducescatter it is
	// the length of all blocks together.
	Bytes int
	Root  int
	Model Model
	// MessagesMax is the largest number of messages of all ranks together; 0 means no limit. In the
	// estimate that precedes the simulation (see Predict), each copy or combination within a rank
	// counts as a hundredth of a message.
	MessagesMax int
}

// Operations returns the names of all operations that can be simulated.
func Operations() []string {
	var names []string
	for _, a := range message.Algorithms() {
		if name := a.Operation.String(); len(names) == 0 || names[len(names)-1] != name {
			names = append(names, name)
		}
	}
	return names
}

// Algorithms returns the names of an operation's algorithms. For an unknown operation, it returns an
// error that wraps ErrArgument and names the known operations.
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

// algorithm checks the run and returns its algorithm.
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
	case u.Ranks < 1:
		return nil, fmt.Errorf("%w: Ranks is %d, not at least 1", ErrArgument, u.Ranks)
	case u.Bytes < 0:
		return nil, fmt.Errorf("%w: Bytes is %d, which is negative", ErrArgument, u.Bytes)
	case u.MessagesMax < 0:
		return nil, fmt.Errorf("%w: MessagesMax is %d, which is negative", ErrArgument, u.MessagesMax)
	case u.Bytes > lengthMax/u.Ranks:
		return nil, fmt.Errorf("%w: %d Ranks times %d Bytes are more than %d bytes", ErrArgument, u.Ranks, u.Bytes, lengthMax)
	case u.Root < 0 || u.Root >= u.Ranks:
		return nil, fmt.Errorf("%w: Root is %d, but the ranks are 0 to %d", ErrArgument, u.Root, u.Ranks-1)
	case found.Limits&message.PowerOfTwo != 0 && u.Ranks&(u.Ranks-1) != 0:
		return nil, fmt.Errorf("%w: algorithm %s of %s needs a power of two of ranks, not %d", ErrRanks, u.Algorithm, u.Operation, u.Ranks)
	}
	return found, nil
}

// lengthMax is the largest length of a buffer in bytes. With this length, the two buffers of an
// operation and scratch memory of twice the length take half of the address space of a process.
const lengthMax = 1 << 44

// stepsPerMessage is the number of copies or combinations that take as long to simulate as a message.
const stepsPerMessage = 100

// samples is the number of ranks that Predict runs alone, to estimate the number of messages, before
// it runs all ranks.
const samples = 16

// Predict simulates the run. If MessagesMax is set, it first runs some of the ranks alone to estimate
// the number of messages of all ranks. If the estimate is more than twice MessagesMax, Predict does not
// simulate, and returns an error that wraps ErrMessages. If the ranks of an algorithm get lengths from
// each other by messages, Predict makes no estimate. The simulation itself also ends with ErrMessages
// when the ranks send more than MessagesMax messages.
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
			return nil, fmt.Errorf("%w: %s of %s on %d ranks sends about %.2g messages, counting %d copies as one; the limit is %.2g", ErrMessages,
				u.Algorithm, u.Operation, u.Ranks, all, stepsPerMessage, float64(u.MessagesMax))
		}
	}
	res, err := virtual.Run(setup, body)
	if err != nil {
		return nil, fmt.Errorf("%s of %s: %w", u.Algorithm, u.Operation, err)
	}
	return res, nil
}
