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
	// proofTimeout is the time within which the peer of a new connection must prove that it knows the secret.
	proofTimeout = 5 * time.Second
	// strangersMax is the number of connections without proof that a door keeps in addition to one connection
	// for each expected process.
	strangersMax = 64
)

// Door accepts connections from processes of a job that have inherited no connection. Ranks that a launcher
// other than gorun has started connect to the door of rank 0. gorun's agents in containers connect to the
// door of the launcher. Before either side reads anything else, both sides prove to each other with fresh
// nonces that they know the job's secret.
type Door struct {
	l      *listener
	secret [32]byte
	size   int
	proof  time.Duration // proofTimeout

	mu      sync.Mutex // guards waiting
	waiting []*os.File // the connections without proof, oldest first
}

// OpenDoor listens at a port of all addresses of this machine for processes with numbers below size.
func OpenDoor(port uint16, secret [32]byte, size int) (*Door, error) {
	l, err := listen(Address{Port: port}) // an IPv6 socket, which also takes IPv4
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

// Close closes the door, which then accepts no more connections. The peer of a connection without proof may
// still send its proof within proofTimeout. If the peer does not send a proof in this time, the connection is
// closed.
func (d *Door) Close() error { return d.l.file.Close() }

// Serve calls arrive for each connection whose peer has proved that it knows the secret. Each call is in a
// goroutine of its own. number is the number that the process claims. Two connections may have the same
// number, because a process that has lost its connection connects again. arrive owns the connection. The
// deadline for the proof is still set on the connection. Serve returns when the door is closed.
func (d *Door) Serve(arrive func(number int, conn *os.File)) error {
	for {
		conn, err := d.l.accept()
		if err != nil {
			return err
		}
		d.enter(conn)
		go func() {
			number, err := d.prove(conn, time.Now().Add(d.proof))
			d.leave(conn)
			if err == nil {
				err = welcome(conn) // fails if enter has closed the connection
			}
			if err != nil {
				_ = conn.Close()
				return
			}
			arrive(number, conn)
		}()
	}
}

// enter adds a connection to the connections without proof. If there are too many such connections, enter
// closes the oldest one, so that strangers that connect and send nothing cannot block the door. If the closed
// connection belonged to a process of the job, that process connects again.
func (d *Door) enter(conn *os.File) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.waiting) >= d.size+strangersMax {
		_ = d.waiting[0].Close()
		d.waiting = slices.Delete(d.waiting, 0, 1)
	}
	d.waiting = append(d.waiting, conn)
}

// leave removes a connection from the connections without proof. If enter has closed the connection, it is not among
// them.
func (d *Door) leave(conn *os.File) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.waiting = slices.DeleteFunc(d.waiting, func(other *os.File) bool { return other == conn })
}

// prove waits until the peer of a connection has proved that it knows the secret. The parameter until is the
// deadline. prove returns the number of the process.
func (d *Door) prove(conn *os.File, until time.Time) (int, error) {
	if err := conn.SetDeadline(until); err != nil {
		return 0, err
	}
	var nonce [nonceBytes]byte
	_, _ = rand.Read(nonce[:]) // never fails
	return examine(conn, d.secret, d.size, nonce)
}

// Knock connects to a door as the process with this number. The deadline is the time in the parameter until,
// but at most proofTimeout from now. This deadline is still set on the connection that Knock returns.
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
