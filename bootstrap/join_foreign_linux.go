//go:build !portable

package bootstrap

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net/netip"
	"os"
	goruntime "runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gorun-hpc/gorun/bootstrap/internal/pmi"
)

// EnvAnswer is the variable with the time within which the ranks that another launcher has started must meet. Rank 0
// waits for the others, and every other rank tries to reach rank 0, for this time from its own call of Join.
// The value is a duration such as 90s. If the variable is unset, the time is answerDefault.
const EnvAnswer = "GORUN_ANSWER_WITHIN"

const answerDefault = time.Minute

// exchange passes a point, the place to meet, from rank 0 to the other ranks.
type exchange interface {
	// Rank 0 calls publish once. Each other rank calls find repeatedly, until find returns a point at which
	// the rank reaches rank 0.
	publish(p point) error
	find() (point, error)
	// over removes the published point. Rank 0 calls over when all ranks have met or the meeting has failed.
	over() error
}

// joinForeign makes this process a rank of a job that another launcher has started.
func joinForeign(f Foreign) (*Session, error) {
	patience := answerDefault
	if text := os.Getenv(EnvAnswer); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil || d <= 0 {
			return nil, fmt.Errorf("bootstrap: %s=%q: want a duration such as 90s", EnvAnswer, clip(text, 80))
		}
		patience = d
	}
	until := time.Now().Add(patience)
	away := &abroad{}
	var by exchange
	var err error
	if f.pmi {
		err = connectPMI(&f, away, until)
		by = &store{client: away.launcher}
	} else {
		away.openParent()
		by, err = newMeetingFile(f.job)
	}
	if err != nil {
		return nil, foreignError(f, err)
	}
	if f.Size == 1 {
		return f.alone(away)
	}
	s, err := f.meet(by, until, away)
	if err != nil {
		return nil, foreignError(f, err)
	}
	go s.listen()
	return s, f.hide()
}

// alone joins a world of one rank, because the launcher has started only this process.
func (f Foreign) alone(away *abroad) (*Session, error) {
	if err := errors.Join(away.finalize(), f.hide()); err != nil {
		return nil, foreignError(f, err)
	}
	return joinAlone()
}

// hide changes the environment that child processes of this rank inherit, so that these processes do not try
// to join the launcher's job.
func (f Foreign) hide() error {
	var err error
	if f.pmi {
		for _, name := range [...]string{"PMI_FD", "PMI_PORT", "PMI_ID", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"} {
			err = errors.Join(err, os.Unsetenv(name))
		}
		f, _ = FindForeign(os.Getenv) // the variables of a Slurm step are still set
	}
	return errors.Join(err, os.Setenv(EnvJoined, f.job))
}

// foreignError returns an error that also names the launcher that has started this process, and the rank of
// the process.
func foreignError(f Foreign, err error) error {
	if f.Size == 0 {
		return fmt.Errorf("%w (%s has started this process, and has not told its rank)", err, f.Launcher)
	}
	return fmt.Errorf("%w (this is rank %d of %d that %s has started; gorun -np %d starts them, too)", err, f.Rank, f.Size, f.Launcher, f.Size)
}

// meet connects this rank to rank 0, where all ranks meet, and returns when the job begins. The caller starts
// listen of the session.
func (f Foreign) meet(by exchange, until time.Time, away *abroad) (*Session, error) {
	m := &newcomer{rank: f.Rank}
	var p point
	var err error
	if f.Rank == 0 {
		p, m.conn, err = f.convene(by, until, away)
	} else {
		m.conn, p, err = reach(f.Rank, until, by.find)
	}
	if err != nil {
		return nil, err
	}
	if err := m.attend(); err != nil {
		return nil, errors.Join(err, m.conn.Close())
	}
	if err := away.met(); err != nil {
		return nil, errors.Join(err, m.conn.Close())
	}
	if os.Getenv("GOMAXPROCS") == "" {
		share := max(1, m.job.Processors/m.job.LocalSize)
		goruntime.GOMAXPROCS(min(share, goruntime.GOMAXPROCS(0)))
	}
	s := newSession(m.job, buffered{m.in, m.conn}, m.memory, p.secret)
	s.away = away
	return s, nil
}

// convene starts the meeting in rank 0 and publishes the place to meet. It returns that place, and the
// connection of rank 0 itself to the meeting.
func (f Foreign) convene(by exchange, until time.Time, away *abroad) (point, *os.File, error) {
	p := point{secret: NewSecret()}
	all, err := ownAddresses()
	if err != nil {
		return p, nil, err
	}
	ips, err := meetingAddresses(all, os.Getenv(EnvNet), f.Local == f.Size)
	if err != nil {
		return p, nil, err
	}
	l, err := listenAt(ips)
	if err != nil {
		return p, nil, err
	}
	for _, ip := range ips {
		p.addresses = append(p.addresses, Address{IP: ip.As16(), Port: l.port})
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return p, nil, errors.Join(fmt.Errorf("bootstrap: socketpair: %w", err), l.file.Close())
	}
	own := [...]*os.File{os.NewFile(uintptr(pair[0]), "gorun-meeting"), os.NewFile(uintptr(pair[1]), "gorun-rank")}
	policy := OnFailureKill
	if os.Getenv(EnvOnFailure) == OnFailureContinue {
		policy = OnFailureContinue
	}
	door := newDoor(l, p.secret, f.Size)
	g := &meeting{until: until, onFailure: policy, over: by.over, ranks: make([]*visitor, f.Size)}
	var salt [4]byte
	_, _ = rand.Read(salt[:]) // never fails
	g.id = fmt.Sprintf("%s-%d-%x", f.Launcher, os.Getpid(), salt)
	away.ready = make(chan struct{})
	go func() {
		if g.gather(door, own[1]) == nil { // if gather fails, it sends the error to the ranks that have arrived
			away.host = newHost(g)
		}
		close(away.ready)
	}()
	if err := by.publish(p); err != nil {
		return p, nil, errors.Join(err, door.Close(), own[0].Close())
	}
	var nonce [nonceBytes]byte
	return p, own[0], introduce(own[0], p.secret, 0, nonce)
}

// listenAt listens at ips[0] if that is the only address. Otherwise it listens at all addresses of this
// machine, including addresses that are not in ips. The listener is open only until the ranks have met.
func listenAt(ips []netip.Addr) (*listener, error) {
	if len(ips) == 1 {
		return listen(Address{IP: ips[0].As16()})
	}
	l, err := listen(Address{}) // an IPv6 socket, which also takes IPv4
	if err != nil {
		l, err = listen(Address{IP: netip.IPv4Unspecified().As16()})
	}
	return l, err
}

// pmiKey is the key of the place to meet in a launcher's store.
const pmiKey = "gorun-meeting"

// errUnpublished ends the attempts to find rank 0. A retry is not possible, because a launcher does not
// answer if this rank calls the barrier a second time.
var errUnpublished = errors.New("the launcher does not pass on where rank 0 is")

// store is the exchange through the key-value store of a launcher with PMI-1.
type store struct {
	client *pmi.Client
	got    *point // the result of find, nil before the first call
}

func (s *store) publish(p point) error {
	return errors.Join(s.client.Put(pmiKey, p.encode()), s.barrier())
}

// barrier returns when all ranks have called it. If a rank has not called it at the deadline of the connection,
// the error says so.
func (s *store) barrier() error {
	err := s.client.Barrier()
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("bootstrap: not all ranks have come to the launcher's barrier in time (%s): was each of them started? %w", EnvAnswer, err)
	}
	return err
}

func (s *store) find() (point, error) {
	if s.got == nil {
		if err := s.barrier(); err != nil {
			return point{}, fmt.Errorf("%w: %w", errUnpublished, err)
		}
		text, err := s.client.Get(pmiKey)
		if err != nil {
			return point{}, fmt.Errorf("%w: %w", errUnpublished, err)
		}
		p, err := parsePoint(text)
		if err != nil {
			return point{}, fmt.Errorf("%w: %w", errUnpublished, err)
		}
		s.got = &p
	}
	return *s.got, nil
}

func (s *store) over() error { return nil }

// connectPMI connects to the launcher. until is the deadline for all answers of the launcher before the ranks
// have met.
func connectPMI(f *Foreign, away *abroad, until time.Time) error {
	var conn *os.File
	var err error
	text := os.Getenv("PMI_FD")
	if text != "" {
		conn, err = inherited(text)
	} else if conn, err = dialPMI(os.Getenv("PMI_PORT"), until); err != nil {
		err = fmt.Errorf("bootstrap: PMI_PORT=%q: %w", clip(os.Getenv("PMI_PORT"), 80), err)
	}
	if err != nil {
		return err
	}
	if err := conn.SetDeadline(until); err != nil {
		return fmt.Errorf("bootstrap: PMI: %w", err)
	}
	c := pmi.New(conn)
	away.launcher, away.stream = c, conn
	if text == "" {
		if f.Rank, f.Size, err = c.Identify(os.Getenv("PMI_ID")); err != nil {
			return err
		}
	}
	return c.Init()
}

// inherited returns the inherited connection to the launcher, whose descriptor number is text.
func inherited(text string) (*os.File, error) {
	fd, err := strconv.Atoi(text)
	var st unix.Stat_t
	if err == nil && fd >= 0 {
		err = unix.Fstat(fd, &st)
	}
	if err != nil || st.Mode&unix.S_IFMT != unix.S_IFSOCK {
		return nil, fmt.Errorf("bootstrap: PMI_FD=%q: it is no socket: it did not reach this process (a wrapper closed it, or the process is the child of another rank)", clip(text, 20))
	}
	unix.CloseOnExec(fd)
	if err := unix.SetNonblock(fd, true); err != nil {
		return nil, fmt.Errorf("bootstrap: PMI_FD: %w", err)
	}
	return os.NewFile(uintptr(fd), "PMI"), nil
}

// dialPMI connects to "host:port". The host is an IP address or the name of this machine. For the name of
// this machine, dialPMI connects to 127.0.0.1, because launchers listen at that address for the processes of
// the machine. dialPMI resolves no names.
func dialPMI(text string, until time.Time) (*os.File, error) {
	at, err := netip.ParseAddrPort(text)
	if err != nil {
		own, e := os.Hostname()
		if e != nil || len(text) <= len(own) || text[:len(own)+1] != own+":" {
			return nil, errors.New("want an address and a port, or the name of this machine and a port")
		}
		if at, err = netip.ParseAddrPort("127.0.0.1" + text[len(own):]); err != nil {
			return nil, err
		}
	}
	return dial(Address{IP: at.Addr().As16(), Port: at.Port()}, until)
}
