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

// answerMost is the time for which a client waits for a report.
const answerMost = 10 * time.Second

// socketMode is the mode of a socket.
const socketMode = 0o600

// ErrNoJob is the error if no job of a given name runs on this machine.
var ErrNoJob = errors.New("no such job")

// ErrUser is the error if the process that listens to a socket does not belong to the directory's owner.
var ErrUser = errors.New("a process of another user has answered")

// listenTries bounds the attempts to create a socket. An attempt fails if another gorun ends meanwhile
// and removes the directory because it is empty.
const listenTries = 10

// acceptPause is the time between two attempts to accept a client while the kernel lacks resources.
const acceptPause = 50 * time.Millisecond

// Server answers the clients of one job until Close.
type Server struct {
	listener  *net.UnixListener
	directory *directory
	name      string
	user      int
	report    func(rank int) *Report
}

// Listen creates the socket of a job and serves requests in the background. For each request a goroutine of
// the connection calls report. The argument of report is the rank whose Log the client wants, or -1. report
// returns nil when the job has ended. Listen returns ErrDirectory if another user could have created sockets
// in the directory.
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

// listenIn returns a server with a socket in a directory. It removes from the directory the sockets of
// jobs whose launcher was killed.
func listenIn(path, job string, report func(rank int) *Report) (*Server, error) {
	d, err := makeDirectory(path)
	if err != nil {
		return nil, err
	}
	s := &Server{directory: d, name: job + suffix(), user: os.Geteuid(), report: report}
	_, _, _ = d.jobs() // a socket that cannot be removed does no harm
	if err = s.listen(); err != nil {
		return nil, errors.Join(err, d.leave())
	}
	return s, nil
}

// listen creates the socket and listens to it. It returns ENOENT if the socket or the directory was
// removed meanwhile.
func (s *Server) listen() error {
	fd := int(s.directory.file.Fd())
	if unix.Flock(fd, unix.LOCK_SH|unix.LOCK_NB) == nil { // otherwise another process is in removeStale
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
		return errors.Join(err, s.listener.Close()) // another process has removed it as stale between bind and listen
	}
	return nil
}

// Close removes the socket and stops accepting clients. A connected client still gets answers, until report
// returns nil.
func (s *Server) Close() error {
	return errors.Join(s.directory.remove(s.name), s.listener.Close(), s.directory.leave())
}

func (s *Server) accept() {
	for {
		conn, err := s.listener.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // such as a limit of open files
			time.Sleep(acceptPause) // no event reports that the kernel has resources again
			continue
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

// Client is a connection to the launcher of a job.
type Client struct {
	conn   *net.UnixConn
	answer *json.Decoder
}

// Dial connects to the launcher of a job. The error is ErrNoJob, or ErrUser.
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

// Report requests a report of the job. If rank is not -1, the report also has the Log of this rank. The error
// is ErrNoJob if the job has ended.
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

// userOf returns the user ID of the process at the other end of a connection.
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
