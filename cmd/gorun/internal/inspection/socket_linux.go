package inspection

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// namePrefix begins the abstract names of the sockets; the job's follows.
const namePrefix = "gorun/"

// socketsFile lists the sockets of the network namespace (proc_net(5)).
const socketsFile = "/proc/self/net/unix"

// answerMost is how long a client waits for a report.
const answerMost = 10 * time.Second

// ErrNoJob says that no job of that name runs here.
var ErrNoJob = errors.New("no such job")

// ErrUser says that the job is another user's.
var ErrUser = errors.New("the job belongs to another user")

// address is the socket of a job.
func address(job string) *net.UnixAddr {
	return &net.UnixAddr{Name: "@" + namePrefix + job, Net: "unix"}
}

// Server answers the clients of one job until Close.
type Server struct {
	listener *net.UnixListener
	report   func(rank int) *Report
}

// Listen makes a job known. report is called by a goroutine for each request; rank is that whose
// Log is wanted, -1 for none. It returns nil when the job has ended.
func Listen(job string, report func(rank int) *Report) (*Server, error) {
	l, err := net.ListenUnix("unix", address(job))
	if err != nil {
		return nil, err
	}
	s := &Server{listener: l, report: report}
	go s.accept()
	return s, nil
}

// Close ends the server. Clients get no more answers.
func (s *Server) Close() error { return s.listener.Close() }

func (s *Server) accept() {
	for {
		conn, err := s.listener.AcceptUnix()
		if err != nil {
			return
		}
		go func() {
			defer func() { _ = conn.Close() }()
			if sameUser(conn) != nil {
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
	conn, err := net.DialUnix("unix", nil, address(job))
	if err != nil {
		return nil, fmt.Errorf("job %s: %w", job, ErrNoJob)
	}
	if err := sameUser(conn); err != nil {
		return nil, fmt.Errorf("job %s: %w", job, errors.Join(err, conn.Close()))
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

// sameUser returns ErrUser unless the other end belongs to this user, or one of both to root.
func sameUser(conn *net.UnixConn) error {
	user, err := userOf(conn)
	if me := os.Geteuid(); err == nil && me != 0 && user != 0 && user != me {
		err = ErrUser
	}
	return err
}

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

// mine reports whether a job is this user's. The list of sockets does not tell.
func mine(job string) bool {
	conn, err := net.DialUnix("unix", nil, address(job))
	if err != nil {
		return false
	}
	defer func() { _ = conn.Close() }()
	user, err := userOf(conn)
	return err == nil && user == os.Geteuid()
}

// Jobs lists the jobs of this user whose gorun runs in this network namespace.
func Jobs() ([]string, error) {
	text, err := os.ReadFile(socketsFile)
	if err != nil {
		return nil, err
	}
	var jobs []string
	for line := range strings.SplitSeq(string(text), "\n") {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		if job, ours := strings.CutPrefix(fields[len(fields)-1], "@"+namePrefix); ours && !slices.Contains(jobs, job) && mine(job) {
			jobs = append(jobs, job)
		}
	}
	slices.Sort(jobs)
	return jobs, nil
}
