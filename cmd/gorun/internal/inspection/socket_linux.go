package inspection

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// answerMost is how long a client waits for a report.
const answerMost = 10 * time.Second

// socketMode are the permissions of a socket.
const socketMode = 0o600

// ErrNoJob says that no job of that name runs here.
var ErrNoJob = errors.New("no such job")

// ErrUser says that a process of another user than the directory's has answered.
var ErrUser = errors.New("a process of another user has answered")

// listenTries is how often a socket is made before it fails: another gorun that ends removes the directory
// when that is empty.
const listenTries = 10

// Server answers the clients of one job until Close.
type Server struct {
	listener  *net.UnixListener
	directory *directory
	name      string
	user      int
	report    func(rank int) *Report
}

// Listen makes a job known. report is called by a goroutine for each request; rank is that whose
// Log is wanted, -1 for none. It returns nil when the job has ended. The error is ErrDirectory
// if the directory of the sockets is not safe.
func Listen(job string, report func(rank int) *Report) (*Server, error) {
	path := Directories()[0]
	for tries := 1; ; tries++ {
		s, err := listenIn(path, job, report)
		if err == nil {
			go s.accept()
			return s, nil
		}
		if !errors.Is(err, unix.ENOENT) || tries == listenTries {
			return nil, fmt.Errorf("socket of job %s: %w", job, err)
		}
	}
}

// listenIn makes a server with a socket in a directory, from which it removes those of jobs that were killed.
func listenIn(path, job string, report func(rank int) *Report) (*Server, error) {
	d, err := makeDirectory(path)
	if err != nil {
		return nil, err
	}
	s := &Server{directory: d, name: job + suffix(), user: os.Geteuid(), report: report}
	_, _, _ = d.jobs() // what cannot be removed does no harm
	if err = s.listen(); err != nil {
		return nil, errors.Join(err, d.leave())
	}
	return s, nil
}

// listen makes the socket.
func (s *Server) listen() error {
	fd := int(s.directory.file.Fd())
	if unix.Flock(fd, unix.LOCK_SH|unix.LOCK_NB) == nil { // else another one removes what is stale
		defer func() { _ = unix.Flock(fd, unix.LOCK_UN) }()
	}
	var config net.ListenConfig
	config.Control = func(_, _ string, raw syscall.RawConn) error { // before bind, which takes the mode from the socket
		var failed error
		err := raw.Control(func(fd uintptr) { failed = unix.Fchmod(int(fd), socketMode) })
		return errors.Join(err, failed)
	}
	l, err := config.Listen(context.Background(), "unix", s.directory.address(s.name).Name)
	if err != nil {
		return err
	}
	s.listener = l.(*net.UnixListener) //nolint:forcetypeassert // of network unix
	s.listener.SetUnlinkOnClose(false)
	var st unix.Stat_t
	if err := unix.Fstatat(fd, s.name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return errors.Join(err, s.listener.Close()) // it was removed as stale before it listened
	}
	return nil
}

// Close ends the server. Clients get no more answers.
func (s *Server) Close() error {
	return errors.Join(s.directory.remove(s.name), s.listener.Close(), s.directory.leave())
}

func (s *Server) accept() {
	for {
		conn, err := s.listener.AcceptUnix()
		if err != nil {
			return
		}
		go func() {
			defer func() { _ = conn.Close() }()
			if user, err := userOf(conn); err != nil || user != s.user && user != 0 {
				return
			}
			for lines := bufio.NewScanner(conn); lines.Scan(); {
				rank, err := strconv.Atoi(lines.Text())
				if err != nil || rank < 0 {
					rank = -1
				}
				r := s.report(rank)
				if r == nil || json.NewEncoder(conn).Encode(r) != nil {
					return
				}
			}
		}()
	}
}

// Client is a connection to the gorun of a job.
type Client struct {
	conn   *net.UnixConn
	answer *json.Decoder
}

// Dial connects to a job.
func Dial(job string) (*Client, error) {
	d, err := find(job)
	if err != nil {
		return nil, fmt.Errorf("job %s: %w", job, err)
	}
	conn, err := d.dial(job + suffix())
	err = errors.Join(err, d.close())
	switch {
	case errors.Is(err, ErrUser):
		return nil, fmt.Errorf("job %s: %w", job, err)
	case err != nil:
		return nil, fmt.Errorf("job %s: %w", job, ErrNoJob)
	}
	return &Client{conn, json.NewDecoder(conn)}, nil
}

// Report returns what the job is doing, with the Log of a rank unless that is -1. The error is ErrNoJob when
// the job has ended.
func (c *Client) Report(rank int) (*Report, error) {
	if err := c.conn.SetDeadline(time.Now().Add(answerMost)); err != nil {
		return nil, err
	}
	if _, err := fmt.Fprintln(c.conn, rank); err != nil {
		return nil, fmt.Errorf("%w: it has ended", ErrNoJob)
	}
	var r Report
	switch err := c.answer.Decode(&r); {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, fmt.Errorf("no answer within %v: is gorun stopped? %w", answerMost, err)
	case err != nil:
		return nil, fmt.Errorf("%w: it has ended", ErrNoJob)
	}
	return &r, nil
}

// Close ends the connection.
func (c *Client) Close() error { return c.conn.Close() }

// userOf returns the user at the other end.
func userOf(conn *net.UnixConn) (int, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	var peer *unix.Ucred
	var failed error
	if err := raw.Control(func(fd uintptr) { peer, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); err != nil || failed != nil {
		return 0, errors.Join(err, failed)
	}
	return int(peer.Uid), nil
}
