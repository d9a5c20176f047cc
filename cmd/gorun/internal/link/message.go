package link

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/gorun-hpc/gorun/cmd/gorun/internal/placement"
)

// Text is a string that is encoded as base64. JSON must be UTF-8, but names of files, arguments and environment
// variables need not be UTF-8.
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

// Texts converts strings to Texts.
func Texts(from []string) []Text {
	to := make([]Text, len(from))
	for i, s := range from {
		to[i] = Text(s)
	}
	return to
}

// Strings converts Texts to strings.
func Strings(from []Text) []string {
	to := make([]string, len(from))
	for i, t := range from {
		to[i] = string(t)
	}
	return to
}

// Greet asks an agent for its Hello.
type Greet struct {
	Programs []Text // paths of the files whose digests are requested
	Whole    bool   // digests must be hashes of the whole files, because files that differ are sent
}

// Digest identifies the contents of a file. If the file could not be read, Hash is nil and Why is the reason.
type Digest struct {
	// Hash is the SHA-256 of the file. If Greet.Whole is false and the file is an executable whose build ID
	// contains a hash, Hash is the build ID with the length of the file.
	Hash []byte
	Why  string
}

// Hello describes an agent.
type Hello struct {
	Node     [16]byte           // bootstrap.NodeID of its host
	User     int                // effective user ID
	Probe    Probe              // with which another agent tests whether both agents are on one node
	Machine  []placement.Domain // the processors that its ranks may use
	Platform string             // GOOS/GOARCH of gorun
	Gorun    Digest             // digest of its gorun; zero if the version identifies its code and Greet.Whole is false
	Programs []Digest           // digests of the files of Greet
}

// Probe identifies an open file of a process, and contains the nonce in that file. Agents on the
// same node can open the file below /proc.
type Probe struct {
	PID   int
	FD    int
	Nonce []byte // NonceBytes
}

// NonceBytes is the length of the nonce. Only an agent on the same node can read the nonce in the file.
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

// Exec orders an agent to run a command that starts the agent of another host.
type Exec struct {
	Number int    // identifies the command among the commands of this agent
	Line   []Text // the command and its arguments
	// Gorun is the SHA-256 of the launcher's gorun if the command is a shell to which the agent must send
	// gorun. The agent then sends its own executable, which must have this hash. Otherwise Gorun is empty.
	Gorun []byte
}

func (e Exec) check() error {
	if e.Number < 0 || len(e.Line) == 0 || len(e.Gorun) != 0 && len(e.Gorun) != sha256.Size {
		return fmt.Errorf("command %d of %d words, hash of %d bytes", e.Number, len(e.Line), len(e.Gorun))
	}
	return nil
}

// Filed reports the result of sending a file. Why is "" if the file has arrived and has the hash that was
// announced. Otherwise Why is the reason.
type Filed struct {
	Number int // index in Greet.Programs
	Why    string
}

func (f Filed) check() error {
	if f.Number < 0 {
		return fmt.Errorf("file %d", f.Number)
	}
	return nil
}

// ExecEnd reports the end of the command of an Exec. No output of the command follows it.
type ExecEnd struct {
	Number int    // Exec.Number
	Code   int    // exit code, -1 if there is none
	Text   string // how the command ended, or why it could not be started
}

// Numbered encodes n, which is the number of a command or the index of a file.
func Numbered(n int) []byte { return binary.LittleEndian.AppendUint32(nil, uint32(n)) }

// ParseNumbered decodes the number at the beginning of a body. It also returns the rest of the body,
// which refers to the memory of body.
func ParseNumbered(body []byte) (int, []byte, error) {
	if len(body) < 4 {
		return 0, nil, fmt.Errorf("number in %d bytes: %w", len(body), ErrMalformed)
	}
	return int(binary.LittleEndian.Uint32(body)), body[4:], nil
}

// ParseNumbers decodes a body that consists of one or more numbers.
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

// Probed is the answer to a Probe. Why is "" if the process is on the same node. Otherwise Why describes what
// the agent found instead.
type Probed struct{ Why string }

// Started reports that all ranks of a Plan run. Ranks has the order of Plan.Ranks.
type Started struct{ Ranks []Process }

// Process describes the process of a rank that was started.
type Process struct {
	PID        int
	Processors []int // the processors that it may use
}

// check returns an error if a process ID or the number of a processor is impossible.
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

// Failed reports that the ranks of a Plan, or of Part.Starts, could not be started. None of them runs. Text is the
// reason, and Code is the exit code with which gorun must end.
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

// Exit reports the end of a rank. After this frame, the agent sends no frames about the rank's process
// except those with its output.
type Exit struct {
	Rank      int
	Status    uint32 // the wait status of wait(2)
	User      int64  // processor time in user mode, in microseconds
	System    int64  // processor time in kernel mode, in microseconds
	MaxRSSKiB int64
	Last      []string // the rank's last operations, one line each, if a signal has ended the rank
}

// statusSignal masks the bits of a wait status that contain the signal that ended a process. If all
// of them are set, the process has not ended but was stopped or continued (WIFSTOPPED and
// WIFCONTINUED of <sys/wait.h> on Linux).
const statusSignal = 0x7f

func (e Exit) check() error {
	if e.Rank < 0 || e.Status&statusSignal == statusSignal {
		return fmt.Errorf("rank %d with status %#x", e.Rank, e.Status)
	}
	return checkLast(e.Rank, e.Last)
}
