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

// Frames between rank 0 and the ranks until a job begins; afterwards they are those of
// Server. Bodies are described at their types.
const (
	kindPresence kind = 32 // from a rank: presence
	kindProbe    kind = 33 // to a rank: Witness of a rank that may be on its node
	kindProbed   kind = 34 // from a rank: why it is not, nothing if it is
	kindPlace    kind = 35 // to a rank: place
	kindMemory   kind = 36 // from the rank that has made the node's memory: 8 bytes range, Witness
	kindReady    kind = 37 // from the others of the node: they have the memory
	kindStart    kind = 38 // to all ranks
	kindRefused  kind = 39 // to all ranks: why there is no job
)

// visitor is the connection of a rank at rank 0.
type visitor struct {
	in       *bufio.Reader
	conn     *os.File
	presence presence
}

// Read reads what the rank sends.
func (v *visitor) Read(b []byte) (int, error) { return v.in.Read(b) }

// Write sends to the rank.
func (v *visitor) Write(b []byte) (int, error) { return v.conn.Write(b) }

// send writes a frame.
func (v *visitor) send(k kind, body []byte) error {
	_, err := v.conn.Write(appendFrame(nil, k, body))
	return err
}

// expect reads a frame of one kind.
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
	over      func() error // removes the place to meet, when nobody is waited for any more
	ranks     []*visitor   // nil for those that are to come
	jobs      []Job
}

// gather waits for all ranks, of which rank 0 is at the other end of own, gives each its
// identity and starts them. If that fails, it tells those that are there why.
func (m *meeting) gather(d *Door, own *os.File) error {
	err := errors.Join(m.await(d, own), d.Close())
	_ = m.over() // a file that stays is harmless: nobody else takes the secret that it has
	if err == nil {
		err = m.settle()
	}
	if err == nil {
		err = m.start()
	}
	if err != nil {
		for _, v := range slices.Backward(m.ranks) { // this process last, which may end then
			if v != nil {
				_ = v.send(kindRefused, numbered(0, err.Error())) // it may be gone: so is the job
				_ = v.conn.Close()
			}
		}
	}
	return err
}

// await returns when all ranks are there.
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
	// This process proves itself when it has published the place, for which a launcher may
	// have to wait until the last rank comes.
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
				continue // it went
			case m.ranks[a.rank] == nil:
				missing--
			default: // it did not get its proof in time, and tried again
				_ = m.ranks[a.rank].conn.Close()
			}
			m.ranks[a.rank] = a.visitor
		case <-late.C:
			return fmt.Errorf("bootstrap: rank %s of %d did not arrive in time (%s): was it started, and can it reach rank 0? %s names the network of all",
				FormatRanks(m.absent()), len(m.ranks), EnvAnswer, EnvNet)
		}
	}
	return nil
}

// absent returns the ranks that are to come.
func (m *meeting) absent() []int {
	var ranks []int
	for rank, v := range m.ranks {
		if v == nil {
			ranks = append(ranks, rank)
		}
	}
	return ranks
}

// arrival is a connection that has shown whose it is, without a visitor if it went again, or
// the end of the door.
type arrival struct {
	rank    int
	visitor *visitor
	fatal   error
}

// admit lets a rank say before a point in time where it is.
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

// settle finds out which ranks share a node, and gives each its identity and memory.
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

// equip lets the first rank of each node make its memory, and the others open it.
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

// start lets all ranks begin.
func (m *meeting) start() error {
	for rank, v := range m.ranks {
		err := v.conn.SetDeadline(time.Time{})
		if err == nil {
			err = v.send(kindStart, nil)
		}
		if err != nil {
			return m.lost(rank, err)
		}
	}
	return nil
}

// lost makes the error about a rank that went while the job began.
func (m *meeting) lost(rank int, err error) error {
	p := m.ranks[rank].presence
	return fmt.Errorf("bootstrap: rank %d (host %s, pid %d) was lost before the job began: %w", rank, p.host, p.file.PID, err)
}
