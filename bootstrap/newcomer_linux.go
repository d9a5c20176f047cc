//go:build !portable

package bootstrap

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// newcomer is the state of a rank that another launcher has started, until the job begins.
type newcomer struct {
	rank   int
	conn   *os.File      // connection to rank 0
	in     *bufio.Reader // reads from conn
	probe  *os.File      // the file of the witness in this rank's presence
	pid    int           // ID of this process in the PID namespace of the /proc mount
	job    Job
	memory *os.File
}

// retryDelay is the time between two attempts to reach rank 0. An attempt fails if rank 0 does not listen
// yet.
const retryDelay = 50 * time.Millisecond

// firstTrial bounds the time to connect to one address of rank 0 and to complete the handshake, in the first attempt
// with a point. The bound doubles with each further attempt, up to proofTimeout. Without it, each address that drops
// packets, or that belongs to an earlier job, could delay an attempt by proofTimeout.
const firstTrial = 500 * time.Millisecond

// reach connects to rank 0. The parameter until is the deadline. Before each attempt, reach calls find to get
// the point. The point may differ between calls, because find may first return the point of an earlier job.
func reach(rank int, until time.Time, find func() (point, error)) (*os.File, point, error) {
	var failure error
	var before [32]byte // secret of the point of the last attempt
	for trial := firstTrial; ; trial = min(2*trial, proofTimeout) {
		p, err := find()
		if p.secret != before {
			before, trial = p.secret, firstTrial
		}
		if errors.Is(err, errUnpublished) {
			return nil, point{}, fmt.Errorf("bootstrap: rank %d: %w", rank, err)
		}
		for _, a := range p.addresses {
			late := time.Now().Add(trial)
			if until.Before(late) {
				late = until
			}
			conn, e := Knock(a, rank, p.secret, late)
			if e == nil {
				return conn, p, nil
			}
			err = errors.Join(err, fmt.Errorf("%v: %w", a, e))
		}
		if err != nil {
			failure = err
		}
		if time.Until(until) < retryDelay {
			return nil, point{}, fmt.Errorf("bootstrap: rank %d could not connect to rank 0 in time (%s sets the time, %s the network of all ranks): %w", rank, EnvAnswer, EnvNet, failure)
		}
		time.Sleep(retryDelay) // no event reports that rank 0 listens
	}
}

// attend sends the presence of this process to rank 0, and acts on the frames of rank 0 until the job begins. It
// has no deadline. The deadline of rank 0 counts, which is later than that of this rank if rank 0 was started
// later. At its deadline, rank 0 says which ranks are missing.
func (m *newcomer) attend() error {
	m.in = bufio.NewReaderSize(m.conn, 512)
	self, err := m.describe()
	if err != nil {
		return err
	}
	defer func() { _ = m.probe.Close() }()
	if err := m.conn.SetDeadline(time.Time{}); err != nil {
		return err
	}
	if err := m.send(kindPresence, self.encode()); err != nil {
		return m.lost(err)
	}
	for {
		k, body, err := readFrame(m.in, rankFrameMax)
		if err != nil {
			return m.lost(err)
		}
		if k == kindStart {
			return nil
		}
		if err := m.follow(k, body); err != nil {
			return err
		}
	}
}

// lost returns the error about the end of the connection to rank 0.
func (m *newcomer) lost(err error) error {
	return fmt.Errorf("bootstrap: rank %d: rank 0 was lost before the job began: %w", m.rank, err)
}

// follow acts on one frame of rank 0.
func (m *newcomer) follow(k kind, body []byte) error {
	switch k {
	case kindProbe:
		w, err := parseWitness(body)
		if err != nil {
			return err
		}
		why := w.Find()
		if why == "" {
			why = w.apart()
		}
		return m.send(kindProbed, []byte(why))
	case kindPlace:
		p, err := parsePlace(body)
		if err != nil {
			return err
		}
		return m.settle(p)
	case kindRefused:
		_, why, err := parseNumbered(body)
		return errors.Join(err, errors.New(why))
	default:
		return fmt.Errorf("bootstrap: frame of kind %d from rank 0: %w", k, ErrMalformed)
	}
}

// describe returns the presence of this process, and opens the file of its witness.
func (m *newcomer) describe() (presence, error) {
	p := presence{}
	var err error
	if p.node, err = ThisNode(); err != nil {
		return p, err
	}
	if p.host, err = os.Hostname(); err != nil {
		return p, err
	}
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return p, fmt.Errorf("bootstrap: processors: %w", err)
	}
	for i := range set {
		p.processors[i%len(p.processors)] = uint64(set[i])
	}
	m.probe, p.file, err = NewWitness()
	m.pid = p.file.PID
	return p, err
}

// settle takes the identity of this rank from its place. If this is the first rank of its node, settle makes
// the node memory. Otherwise settle opens the memory that the first rank has made.
func (m *newcomer) settle(p place) error {
	m.job = p.job
	if m.job.Rank != m.rank || m.memory != nil {
		return fmt.Errorf("bootstrap: place of rank %d for rank %d: %w", m.job.Rank, m.rank, ErrMalformed)
	}
	var err error
	if p.memory.PID == 0 {
		if m.memory, m.job.NodeRange, err = NodeMemory(m.job.LocalSize); err != nil {
			return err
		}
		body := binary.LittleEndian.AppendUint64(nil, uint64(m.job.NodeRange))
		return m.send(kindMemory, Witness{PID: m.pid, FD: int(m.memory.Fd())}.append(body))
	}
	fd, err := p.memory.open(unix.O_RDWR)
	if err != nil {
		return fmt.Errorf("bootstrap: node memory of process %d: %w", p.memory.PID, err)
	}
	if m.memory, err = openMemory(fd, m.job); err != nil {
		return errors.Join(err, unix.Close(fd))
	}
	return m.send(kindReady, nil)
}

// parseMemory decodes the body of kindMemory.
func parseMemory(b []byte) (int64, Witness, error) {
	if len(b) != 8+witnessBytes {
		return 0, Witness{}, fmt.Errorf("bootstrap: memory in %d bytes: %w", len(b), ErrMalformed)
	}
	w, err := parseWitness(b[8:])
	return int64(binary.LittleEndian.Uint64(b) & (1<<62 - 1)), w, err
}

func (m *newcomer) send(k kind, body []byte) error {
	_, err := m.conn.Write(appendFrame(nil, k, body))
	return err
}

// buffered is a connection whose reads go through Reader, because Reader may already have read bytes from the
// connection. It hides the file of the connection, so that a session cannot read past Reader (newPassage).
type buffered struct {
	io.Reader
	io.WriteCloser
}
