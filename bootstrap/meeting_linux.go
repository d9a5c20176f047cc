//go:build !portable

package bootstrap

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"
)

// Kinds of the frames between rank 0 and the other ranks before the job begins, with their bodies. The
// comments of presence, witnessBytes and place describe the encodings. When the job has begun, the ranks use
// the frames that the comment of Server lists.
const (
	kindPresence kind = 32 // from a rank: presence
	kindProbe    kind = 33 // to a rank: Witness of another rank that may be on the same node
	kindProbed   kind = 34 // from a rank: why the witness's rank is on another node; empty if it is on this node
	kindPlace    kind = 35 // to a rank: place
	kindMemory   kind = 36 // from the first rank of a node, which has made the node memory: 8 bytes range, Witness
	kindReady    kind = 37 // from the other ranks of a node, which have opened the node memory: empty
	kindStart    kind = 38 // to all ranks, when the job begins: empty
	kindRefused  kind = 39 // to the ranks that have arrived, if the job does not begin: 4 bytes 0, reason
)

// visitor is rank 0's end of the connection to a rank.
type visitor struct {
	in       *bufio.Reader
	conn     *os.File
	presence presence
}

// Read reads bytes that the rank has sent.
func (v *visitor) Read(b []byte) (int, error) { return v.in.Read(b) }

// Write sends bytes to the rank.
func (v *visitor) Write(b []byte) (int, error) { return v.conn.Write(b) }

// send sends a frame to the rank.
func (v *visitor) send(k kind, body []byte) error {
	_, err := v.conn.Write(appendFrame(nil, k, body))
	return err
}

// expect reads a frame and returns its body. A frame of another kind than want is an error.
func (v *visitor) expect(want kind) ([]byte, error) {
	k, body, err := readFrame(v.in, rankFrameMax)
	if err == nil && k != want {
		err = fmt.Errorf("bootstrap: frame of kind %d in place of %d: %w", k, want, ErrMalformed)
	}
	return body, err
}

// meeting gathers the ranks of a job at rank 0.
type meeting struct {
	until     time.Time
	onFailure string
	id        string
	over      func() error // removes the published place to meet, see exchange
	ranks     []*visitor   // by rank; nil for a rank that has not arrived
	jobs      []Job
}

// gather waits for all ranks, gives each rank its identity, and tells all ranks that the job begins. own is the
// connection of rank 0 to itself. The other ranks connect to the door. If gather fails, it sends the reason to
// the ranks that have arrived and closes their connections.
func (m *meeting) gather(d *Door, own *os.File) error {
	err := errors.Join(m.await(d, own), d.Close())
	_ = m.over() // an error is harmless: no other job uses the secret in the file that remains
	if err == nil {
		err = m.settle()
	}
	if err == nil {
		m.start()
	} else {
		for _, v := range slices.Backward(m.ranks) { // rank 0 is last: this process may end after that frame
			if v != nil {
				_ = v.send(kindRefused, numbered(0, err.Error())) // errors are ignored: the job does not begin
				_ = v.conn.Close()
			}
		}
	}
	return err
}

// await returns when all ranks have arrived. It returns an error at the deadline m.until.
func (m *meeting) await(d *Door, own *os.File) error {
	arrivals, done := make(chan arrival), make(chan struct{})
	defer close(done)
	deliver := func(a arrival) {
		select {
		case arrivals <- a:
		case <-done:
			if a.visitor != nil {
				_ = a.visitor.conn.Close()
			}
		}
	}
	// Rank 0 itself sends its proof when publish has returned. If the launcher's store needs a barrier,
	// publish returns only when the last rank has called the barrier. For this reason, the deadline for the
	// proof of rank 0 is m.until.
	go func() {
		rank, err := d.prove(own, m.until)
		if err == nil {
			err = welcome(own)
		}
		if err != nil {
			_ = own.Close()
			return
		}
		deliver(m.admit(rank, own, m.until))
	}()
	go func() {
		deliver(arrival{fatal: d.Serve(func(rank int, conn *os.File) { deliver(m.admit(rank, conn, time.Now().Add(proofTimeout))) })})
	}()
	late := time.NewTimer(time.Until(m.until))
	defer late.Stop()
	for missing := len(m.ranks); missing > 0; {
		select {
		case a := <-arrivals:
			switch {
			case a.fatal != nil:
				return a.fatal
			case a.visitor == nil:
				continue // the connection ended before the rank had sent its presence
			case m.ranks[a.rank] == nil:
				missing--
			default: // the rank has given up its first connection, and has connected again
				_ = m.ranks[a.rank].conn.Close()
			}
			m.ranks[a.rank] = a.visitor
		case <-late.C:
			return fmt.Errorf("bootstrap: %s of %d did not connect to rank 0 in time (%s sets the time, %s the network of all ranks): check that every rank was started and can reach the host of rank 0",
				NameRanks(m.absent()), len(m.ranks), EnvAnswer, EnvNet)
		}
	}
	return nil
}

// absent returns the ranks that have not arrived.
func (m *meeting) absent() []int {
	var ranks []int
	for rank, v := range m.ranks {
		if v == nil {
			ranks = append(ranks, rank)
		}
	}
	return ranks
}

// arrival reports that a rank has arrived, that its connection has failed, or that the door has ended.
type arrival struct {
	rank    int
	visitor *visitor // nil if the connection of the rank has failed
	fatal   error    // why the door accepts no more connections, else nil
}

// admit reads the presence of a rank. The parameter until is the deadline. If the read fails, admit closes the
// connection.
func (m *meeting) admit(rank int, conn *os.File, until time.Time) arrival {
	v := &visitor{in: bufio.NewReaderSize(conn, 512), conn: conn}
	err := conn.SetDeadline(until)
	var body []byte
	if err == nil {
		body, err = v.expect(kindPresence)
	}
	if err == nil {
		v.presence, err = parsePresence(body)
	}
	if err == nil {
		err = conn.SetDeadline(m.until.Add(proofTimeout))
	}
	if err != nil {
		_ = conn.Close()
		return arrival{}
	}
	return arrival{rank: rank, visitor: v}
}

// settle determines which ranks share a node, and gives each rank its identity and its node memory.
func (m *meeting) settle() error {
	all := make([]presence, len(m.ranks))
	for rank, v := range m.ranks {
		all[rank] = v.presence
	}
	var asked []int
	for _, ranks := range company(all) {
		for _, rank := range ranks[1:] {
			if err := m.ranks[rank].send(kindProbe, all[ranks[0]].file.append(nil)); err != nil {
				return m.lost(rank, err)
			}
			asked = append(asked, rank)
		}
	}
	for _, rank := range asked {
		why, err := m.ranks[rank].expect(kindProbed)
		if err != nil {
			return m.lost(rank, err)
		}
		if len(why) > 0 {
			all[rank].alone(rank)
		}
	}
	m.jobs = assign(all, m.id, m.onFailure)
	return m.equip(company(all))
}

// equip sends the first rank of each node its place, and this rank makes the node memory. Then equip sends the
// other ranks of the node their places, and these ranks open the memory.
func (m *meeting) equip(nodes [][]int) error {
	for _, ranks := range nodes {
		if err := m.ranks[ranks[0]].send(kindPlace, place{job: m.jobs[ranks[0]]}.encode()); err != nil {
			return m.lost(ranks[0], err)
		}
	}
	for _, ranks := range nodes {
		body, err := m.ranks[ranks[0]].expect(kindMemory)
		if err != nil {
			return m.lost(ranks[0], err)
		}
		size, memory, err := parseMemory(body)
		if err != nil {
			return m.lost(ranks[0], err)
		}
		for _, rank := range ranks[1:] {
			m.jobs[rank].NodeRange = size
			if err := m.ranks[rank].send(kindPlace, place{job: m.jobs[rank], memory: memory}.encode()); err != nil {
				return m.lost(rank, err)
			}
		}
	}
	for _, ranks := range nodes {
		for _, rank := range ranks[1:] {
			if _, err := m.ranks[rank].expect(kindReady); err != nil {
				return m.lost(rank, err)
			}
		}
	}
	return nil
}

// start tells all ranks that the job begins. It ignores errors: if a rank is lost, the others have begun, and the
// host tells them of the loss.
func (m *meeting) start() {
	for _, v := range m.ranks {
		_ = v.conn.SetDeadline(time.Time{})
		_ = v.send(kindStart, nil)
	}
}

// lost returns the error about a rank whose connection has failed before the job began.
func (m *meeting) lost(rank int, err error) error {
	p := m.ranks[rank].presence
	return fmt.Errorf("bootstrap: rank %d (host %s, pid %d) was lost before the job began: %w", rank, p.host, p.file.PID, err)
}
