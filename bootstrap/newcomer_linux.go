//go:build !portable

package bootstrap

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// newcomer is a rank that another launcher has started, on its way into the job.
type newcomer struct {
	rank   int
	conn   *os.File // to rank 0
	in     *bufio.Reader
	probe  *os.File // what presence.file names
	pid    int      // of this process, below /proc
	job    Job
	memory *os.File
}

// retryDelay is the time between two attempts to reach rank 0, which may not have begun.
const retryDelay = 50 * time.Millisecond

// reach connects to rank 0 before a point in time. find returns where it is, which may become
// another place.
func reach(rank int, until time.Time, find func() (point, error)) (*os.File, point, error) {
	var failure error
	for {
		p, err := find()
		if errors.Is(err, errUnpublished) {
			return nil, point{}, fmt.Errorf("bootstrap: rank %d: %w", rank, err)
		}
		for _, a := range p.addresses {
			conn, e := knock(a, rank, p.secret, until)
			if e == nil {
				return conn, p, nil
			}
			err = errors.Join(err, fmt.Errorf("%v: %w", a, e))
		}
		if err != nil {
			failure = err
		}
		if time.Until(until) < retryDelay {
			return nil, point{}, fmt.Errorf("bootstrap: rank %d does not reach rank 0 (%s; %s names the network of both): %w", rank, EnvAnswer, EnvNet, failure)
		}
		time.Sleep(retryDelay) // nothing announces that rank 0 listens
	}
}

// knock connects to an address at which rank 0 may be.
func knock(a Address, rank int, secret [32]byte, until time.Time) (*os.File, error) {
	if late := time.Now().Add(proofTimeout); late.Before(until) {
		until = late
	}
	conn, err := dial(a, until)
	if err != nil {
		return nil, err
	}
	var nonce [nonceBytes]byte
	_, _ = rand.Read(nonce[:]) // never fails
	if err := errors.Join(conn.SetDeadline(until), introduce(conn, secret, rank, nonce)); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// attend tells rank 0 about this process and follows what it says until the job begins.
func (m *newcomer) attend(until time.Time) error {
	m.in = bufio.NewReaderSize(m.conn, 512)
	self, err := m.describe()
	if err != nil {
		return err
	}
	defer func() { _ = m.probe.Close() }()
	// Rank 0 has the time of all, and says what is missing.
	if err := m.conn.SetDeadline(until.Add(2 * proofTimeout)); err != nil {
		return err
	}
	if err := m.send(kindPresence, self.encode()); err != nil {
		return m.lost(err)
	}
	for {
		k, body, err := readFrame(m.in, agentFrameMax)
		if err != nil {
			return m.lost(err)
		}
		if k == kindStart {
			return m.conn.SetDeadline(time.Time{})
		}
		if err := m.follow(k, body); err != nil {
			return err
		}
	}
}

// lost makes the error about the end of the connection.
func (m *newcomer) lost(err error) error {
	return fmt.Errorf("bootstrap: rank %d: rank 0 was lost before the job began: %w", m.rank, err)
}

// follow acts on a frame of rank 0.
func (m *newcomer) follow(k kind, body []byte) error {
	switch k {
	case kindProbe:
		f, err := parseForeignFile(body)
		if err != nil {
			return err
		}
		return m.send(kindProbed, []byte(f.find()))
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

// describe makes the presence of this process.
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
	// The ID of this process in the PID namespace in which /proc was mounted.
	self, err := os.Readlink("/proc/self")
	if err == nil {
		_, err = fmt.Sscan(self, &m.pid)
	}
	if err != nil {
		return p, fmt.Errorf("bootstrap: /proc/self: %w", err)
	}
	p.file = foreignFile{user: os.Geteuid(), pid: m.pid}
	_, _ = rand.Read(p.file.nonce[:]) // never fails
	m.probe, err = sealed("gorun-probe", unix.F_SEAL_WRITE, func(f *os.File) error {
		_, err := f.WriteAt(p.file.nonce[:], 0)
		return err
	})
	if err == nil {
		p.file.fd = int(m.probe.Fd())
	}
	return p, err
}

// open opens the file of the other process.
func (f foreignFile) open(flags int) (int, error) {
	// If the process is another one and it is a pipe, opening it must not wait.
	return unix.Open(fmt.Sprintf("/proc/%d/fd/%d", f.pid, f.fd), flags|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
}

// find says why the process of the file is not on this node, "" if it is.
func (f foreignFile) find() string {
	if own := os.Geteuid(); own != f.user {
		return fmt.Sprintf("process %d is of user %d, this one of user %d", f.pid, f.user, own)
	}
	fd, err := f.open(unix.O_RDONLY)
	if err != nil {
		return fmt.Sprintf("process %d: %v", f.pid, err)
	}
	defer func() { _ = unix.Close(fd) }()
	var nonce [nonceBytes]byte
	n, err := unix.Pread(fd, nonce[:], 0)
	if err != nil || !bytes.Equal(nonce[:n], f.nonce[:]) {
		return fmt.Sprintf("process %d is another one's", f.pid)
	}
	// Ranks of a node read each other's memory by their process numbers.
	var theirs, ours unix.Stat_t
	err = errors.Join(unix.Stat(fmt.Sprintf("/proc/%d/ns/pid", f.pid), &theirs), unix.Stat("/proc/self/ns/pid", &ours))
	if err != nil || theirs.Ino != ours.Ino {
		return fmt.Sprintf("process %d is in another PID namespace", f.pid)
	}
	return ""
}

// settle takes the place of this process: it makes the memory of the node, or opens it.
func (m *newcomer) settle(p place) error {
	m.job = p.job
	if m.job.Rank != m.rank || m.memory != nil {
		return fmt.Errorf("bootstrap: place of rank %d for rank %d: %w", m.job.Rank, m.rank, ErrMalformed)
	}
	var err error
	if p.memory.pid == 0 {
		if m.memory, m.job.NodeRange, err = NodeMemory(m.job.LocalSize); err != nil {
			return err
		}
		body := binary.LittleEndian.AppendUint64(nil, uint64(m.job.NodeRange))
		return m.send(kindMemory, foreignFile{user: os.Geteuid(), pid: m.pid, fd: int(m.memory.Fd())}.append(body))
	}
	fd, err := p.memory.open(unix.O_RDWR)
	if err != nil {
		return fmt.Errorf("bootstrap: node memory of process %d: %w", p.memory.pid, err)
	}
	if m.memory, err = openMemory(fd, m.job); err != nil {
		return errors.Join(err, unix.Close(fd))
	}
	return m.send(kindReady, nil)
}

// parseMemory decodes the body of kindMemory.
func parseMemory(b []byte) (int64, foreignFile, error) {
	if len(b) != 8+foreignFileBytes {
		return 0, foreignFile{}, fmt.Errorf("bootstrap: memory in %d bytes: %w", len(b), ErrMalformed)
	}
	f, err := parseForeignFile(b[8:])
	return int64(binary.LittleEndian.Uint64(b) & (1<<62 - 1)), f, err
}

func (m *newcomer) send(k kind, body []byte) error {
	_, err := m.conn.Write(appendFrame(nil, k, body))
	return err
}

// buffered is a connection of which some bytes have been read ahead.
type buffered struct {
	io.Reader
	*os.File
}

// Read implements io.Reader.
func (b buffered) Read(p []byte) (int, error) { return b.Reader.Read(p) }
