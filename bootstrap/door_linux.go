//go:build !portable

package bootstrap

import (
	"crypto/rand"
	"errors"
	"net/netip"
	"os"
	"slices"
	"sync"
	"time"
)

const (
	// proofTimeout is how long a connection may take to prove that it knows the secret.
	proofTimeout = 5 * time.Second
	// strangersMax is how many connections may wait for that beyond one for each that is
	// expected.
	strangersMax = 64
)

// Door is where processes of a job that nobody has connected reach the one that leads it: the
// ranks of another launcher rank 0, gorun's agents in containers gorun. Both sides prove to
// each other that they know the job's secret, with fresh nonces, before anything else is read.
type Door struct {
	l      *listener
	secret [32]byte
	size   int
	proof  time.Duration // proofTimeout

	mu      sync.Mutex // guards waiting
	waiting []*os.File // the connections without proof, the oldest first
}

// OpenDoor listens at a port of all addresses for processes with the numbers below size.
func OpenDoor(port uint16, secret [32]byte, size int) (*Door, error) {
	l, err := listen(Address{Port: port}) // of IPv6, which takes IPv4 as well
	if err != nil {
		any4 := netip.IPv4Unspecified().As16()
		l, err = listen(Address{IP: any4, Port: port})
	}
	if err != nil {
		return nil, err
	}
	return newDoor(l, secret, size), nil
}

func newDoor(l *listener, secret [32]byte, size int) *Door {
	return &Door{l: l, secret: secret, size: size, proof: proofTimeout}
}

// Port returns the port at which the door is.
func (d *Door) Port() uint16 { return d.l.port }

// Close closes the door. Connections that wait for their proof have its time, and go.
func (d *Door) Close() error { return d.l.file.Close() }

// Serve calls arrive for each connection that has proved that it knows the secret, from a
// goroutine of its own, with the number that its process says it has. Two may say the same:
// one that has lost its connection comes again. A connection belongs to arrive, with the
// deadline of the proof. Serve returns when the door is closed.
func (d *Door) Serve(arrive func(number int, conn *os.File)) error {
	for {
		conn, err := d.l.accept()
		if err != nil {
			return err
		}
		d.enter(conn)
		go func() {
			number, err := d.prove(conn, time.Now().Add(d.proof))
			if left := d.leave(conn); err == nil {
				err = left
			}
			if err == nil {
				err = welcome(conn)
			}
			if err != nil {
				_ = conn.Close()
				return
			}
			arrive(number, conn)
		}()
	}
}

// enter lets a connection wait for its proof. If too many do, the oldest goes: so strangers
// that come and say nothing keep nobody out, and those who belong here come again.
func (d *Door) enter(conn *os.File) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.waiting) >= d.size+strangersMax {
		_ = d.waiting[0].Close()
		d.waiting = slices.Delete(d.waiting, 0, 1)
	}
	d.waiting = append(d.waiting, conn)
}

// errMadeRoom is the error about a connection that had to go for another one.
var errMadeRoom = errors.New("too many connections without proof")

// leave says that a connection does not wait any more, unless it has had to go.
func (d *Door) leave(conn *os.File) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	i := slices.Index(d.waiting, conn)
	if i < 0 {
		return errMadeRoom
	}
	d.waiting = slices.Delete(d.waiting, i, i+1)
	return nil
}

// prove lets a connection prove before a point in time that it knows the secret, and returns
// the number of its process.
func (d *Door) prove(conn *os.File, until time.Time) (int, error) {
	if err := conn.SetDeadline(until); err != nil {
		return 0, err
	}
	var nonce [nonceBytes]byte
	_, _ = rand.Read(nonce[:]) // never fails
	return examine(conn, d.secret, d.size, nonce)
}

// Knock connects to a door before a point in time. number is that of this process. The
// connection keeps the deadline of the proof.
func Knock(a Address, number int, secret [32]byte, until time.Time) (*os.File, error) {
	if late := time.Now().Add(proofTimeout); late.Before(until) {
		until = late
	}
	conn, err := dial(a, until)
	if err != nil {
		return nil, err
	}
	var nonce [nonceBytes]byte
	_, _ = rand.Read(nonce[:]) // never fails
	if err := errors.Join(conn.SetDeadline(until), introduce(conn, secret, number, nonce)); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}
