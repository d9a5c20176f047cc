package link

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/gorun-hpc/gorun/cmd/gorun/internal/placement"
)

// Text is a string of any bytes: names of files, arguments and variables need
// not be UTF-8, and JSON must be.
type Text string

// MarshalText implements encoding.TextMarshaler.
func (t Text) MarshalText() ([]byte, error) {
	return base64.StdEncoding.AppendEncode(nil, []byte(t)), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (t *Text) UnmarshalText(b []byte) error {
	raw, err := base64.StdEncoding.AppendDecode(nil, b)
	*t = Text(raw)
	return err
}

// Texts converts strings.
func Texts(from []string) []Text {
	to := make([]Text, len(from))
	for i, s := range from {
		to[i] = Text(s)
	}
	return to
}

// Strings converts texts.
func Strings(from []Text) []string {
	to := make([]string, len(from))
	for i, t := range from {
		to[i] = string(t)
	}
	return to
}

// Greet asks an agent what it has.
type Greet struct {
	Programs []Text // paths of files, whose digests are asked for
	Whole    bool   // of all bytes, by which files are sent
}

// Digest tells the contents of a file from others, or says why it cannot.
type Digest struct {
	Hash []byte // SHA-256 of the file; without Greet.Whole, and of gorun, the ID of its build if it has one
	Why  string
}

// Hello is what an agent says of itself.
type Hello struct {
	Node     [16]byte           // bootstrap.NodeID of its host
	User     int                // effective user id
	Probe    Probe              // how another agent can find it
	Machine  []placement.Domain // processors that its ranks may use
	Platform string             // GOOS/GOARCH of gorun
	Gorun    Digest             // of itself, zero if its version says what it is
	Programs []Digest           // of the files of Greet
}

// Probe names a descriptor of a process, which agents on the same node can open below
// /proc, and its contents.
type Probe struct {
	PID   int
	FD    int
	Nonce []byte
}

// NonceBytes is the length of the nonce that only an agent of the same node can read.
const NonceBytes = 16

func (h Hello) check() error {
	if h.User < 0 {
		return fmt.Errorf("user %d", h.User)
	}
	for _, d := range h.Machine {
		if len(d.Processors) == 0 || d.Node < -1 || !slices.IsSorted(d.Processors) || d.Processors[0] < 0 {
			return fmt.Errorf("processors %v of node %d", d.Processors, d.Node)
		}
	}
	return h.Probe.check()
}

func (p Probe) check() error {
	if p.PID < 1 || p.FD < 0 || len(p.Nonce) != NonceBytes {
		return fmt.Errorf("process %d, descriptor %d, nonce of %d bytes", p.PID, p.FD, len(p.Nonce))
	}
	return nil
}

// Exec is a command that an agent runs for gorun, in order to start the agent of another
// host.
type Exec struct {
	Number int // of the command among those of the agent
	Line   []Text
	// Gorun is the SHA-256 of gorun, if the command is a shell that the agent sends its own
	// executable to, which is the same.
	Gorun []byte
}

func (e Exec) check() error {
	if e.Number < 0 || len(e.Line) == 0 || len(e.Gorun) != 0 && len(e.Gorun) != sha256.Size {
		return fmt.Errorf("command %d of %d words, hash of %d bytes", e.Number, len(e.Line), len(e.Gorun))
	}
	return nil
}

// Filed says that a file has arrived and is the one that was sent, or why not.
type Filed struct {
	Number int // in Greet.Programs
	Why    string
}

func (f Filed) check() error {
	if f.Number < 0 {
		return fmt.Errorf("file %d", f.Number)
	}
	return nil
}

// ExecEnd is the end of such a command. Nothing of it follows.
type ExecEnd struct {
	Number int
	Code   int    // exit code, -1 if there is none
	Text   string // how it ended, in words; why it could not be started
}

// Numbered returns the encoded number of a command.
func Numbered(n int) []byte { return binary.LittleEndian.AppendUint32(nil, uint32(n)) }

// ParseNumbered decodes the number at the start of a body, and returns what follows it,
// which is part of body.
func ParseNumbered(body []byte) (int, []byte, error) {
	if len(body) < 4 {
		return 0, nil, fmt.Errorf("number in %d bytes: %w", len(body), ErrMalformed)
	}
	return int(binary.LittleEndian.Uint32(body)), body[4:], nil
}

// ParseNumbers decodes the numbers that are the whole of a body, at least one.
func ParseNumbers(body []byte) ([]int, error) {
	if len(body) == 0 || len(body)%4 != 0 {
		return nil, fmt.Errorf("numbers in %d bytes: %w", len(body), ErrMalformed)
	}
	var numbers []int
	for ; len(body) > 0; body = body[4:] {
		numbers = append(numbers, int(binary.LittleEndian.Uint32(body)))
	}
	return numbers, nil
}

// Probed is the answer to a Probe: Why is empty if the process is a neighbour,
// and else what was seen.
type Probed struct{ Why string }

// Started says that all ranks of a Plan run, in its order.
type Started struct{ Ranks []Process }

// Process is a rank at its start.
type Process struct {
	PID        int
	Processors []int // it may use
}

// check refuses what is no process: gorun waits for the end of each.
func (s Started) check() error {
	for _, p := range s.Ranks {
		if p.PID < 1 {
			return fmt.Errorf("process %d", p.PID)
		}
		for _, cpu := range p.Processors {
			if cpu < 0 {
				return fmt.Errorf("processor %d of process %d", cpu, p.PID)
			}
		}
	}
	return nil
}

// Failed says that the ranks of a Plan could not be started and why. None of
// them runs. Code is the exit code that gorun ends with.
type Failed struct {
	Code int
	Text string
}

func (f Failed) check() error {
	if f.Code < 1 || f.Code > 255 {
		return fmt.Errorf("code %d", f.Code)
	}
	return nil
}

// Exit is the end of a rank. Nothing of the rank follows it but output.
type Exit struct {
	Rank      int
	Status    uint32 // as of wait(2)
	User      int64  // microseconds of processor time
	System    int64
	MaxRSSKiB int64
	Last      []string // its last operations in lines, if a signal has ended it
}

// statusSignal are the bits of the signal that ended a process. All of them are set of one
// that was stopped or goes on, which has a status, too, and has not ended (Linux,
// WIFSTOPPED and WIFCONTINUED of <sys/wait.h>).
const statusSignal = 0x7f

func (e Exit) check() error {
	if e.Rank < 0 || e.Status&statusSignal == statusSignal {
		return fmt.Errorf("rank %d with status %#x", e.Rank, e.Status)
	}
	return checkLast(e.Rank, e.Last)
}
