package checkpoint

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/internal/packing"
	"github.com/gorun-hpc/gorun/runtime"
)

// Config describes a Store.
type Config struct {
	// Directory is where each rank keeps its own copy in files, too; "" for memory alone. It
	// exists, and is the same directory at each start of a rank: on another machine it must be
	// of a shared file system.
	Directory string
	// Compression says whether the copies on other nodes and in files are compressed. With
	// GORUN_COMPRESS=0 in the environment those on other nodes are not.
	Compression Compression
}

// Compression says whether copies are compressed. A rank's own copy, and that of a rank of the same node,
// never are.
type Compression int

const (
	// CompressAuto compresses what Save takes less time by, as measured on the way to the keeper and
	// to the disk, and files also where they get four times shorter.
	CompressAuto = Compression(packing.Auto)
	// CompressNever sends and writes copies as they are.
	CompressNever = Compression(packing.Never)
	// CompressAlways compresses what gets shorter by an eighth or more, whatever time it takes: it saves memory
	// of the keepers, and space in files.
	CompressAlways = Compression(packing.Always)
)

// Store keeps the checkpoints of one rank. Its methods are collective operations of all members
// of the communicator, which is that of the World, or one of all its ranks in the same order. One
// of them runs at a time.
type Store struct {
	config Config

	// sent is for the copies that go to a keeper on another node, filed for those in files.
	sent, filed packer

	mu   sync.Mutex // held during Save and Restore
	own  [generations]copied
	kept [generations]copied
	way  way
	// disk is the rate in bytes per second of the last file, 0 for none.
	disk  float64
	rooms rooms
}

// envCompress set to 0 is for secrecy: lengths of what goes through a network do not depend on its content.
// See docs/security.md.
const envCompress = "GORUN_COMPRESS"

// generations is how many copies of each rank there are.
const generations = 2

// copied is a copy of a rank's parts.
type copied struct {
	rank int
	step int // none while it is not whole
	// image is packed if it is another rank's, of another node, or was read from a file.
	image []byte
	// committed says that all ranks had theirs.
	committed bool
}

// none is the step of no copy.
const none = -1

// New returns an empty store. A directory that does not exist is an error, and so is a Compression that there
// is not.
func New(c Config) (*Store, error) {
	s := &Store{config: c}
	mode := packing.Mode(c.Compression)
	s.filed.Decider, s.filed.look = packing.New(mode, fileLimits), func() packing.Pace { return packing.Pace{Rate: s.disk, Bound: s.disk > 0} }
	if os.Getenv(envCompress) == "0" {
		mode = packing.Never
	}
	s.sent.Decider, s.sent.look = packing.New(mode, wayLimits), s.way.pace
	for i := range generations {
		s.own[i].step, s.kept[i].step = none, none
	}
	return s, c.check()
}

// Tags of the messages of a Save or Restore, on a communicator of its own.
const (
	tagHead = iota
	tagImage
)

// Save copies the parts of every member, which may be of different lengths, as its state at a
// step, which is the same at all members, not negative and above that of the last Save. The
// parts may be changed when it returns. An error at one member is an error at all; the
// last checkpoint is there then.
func (s *Store) Save(c *runtime.Comm, step int, parts ...Part) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	own, err := c.Dup()
	if err == nil {
		err = errors.Join(s.save(own, step, parts), own.Close())
	}
	if err != nil {
		return fmt.Errorf("checkpoint: save step %d: %w", step, err)
	}
	return nil
}

func (s *Store) save(own *runtime.Comm, step int, parts []Part) error {
	if err := s.introduce(own); err != nil {
		return err
	}
	if err := agree(own, step, s.mayFollow(step, parts)); err != nil {
		return err
	}
	mine, theirs := s.oldest(&s.own), s.oldest(&s.kept)
	mine.step, mine.committed, theirs.step, theirs.committed = none, false, none, false
	mine.image = writeImage(mine.image, step, own.Size(), own.Rank(), parts)
	ring, err := newRing(own)
	if err == nil {
		err = s.exchange(own, ring, mine, theirs, step)
	}
	if err == nil {
		mine.rank, mine.step, mine.committed = own.Rank(), step, false
		err = s.write(mine, own.Size())
	}
	// After it, all members have stored theirs, or none counts it.
	if err := agree(own, step, err); err != nil {
		return err
	}
	mine.committed, theirs.committed = true, true
	return nil
}

// mayFollow checks the arguments of Save at this member.
func (s *Store) mayFollow(step int, parts []Part) error {
	for _, p := range parts {
		if p.err != nil {
			return p.err
		}
	}
	last := none
	for i := range s.own {
		if s.own[i].committed {
			last = max(last, s.own[i].step)
		}
	}
	if step < 0 || step <= last {
		return fmt.Errorf("%w: %d after %d", ErrStep, step, last)
	}
	return nil
}

// oldest returns the copy to be replaced: never the last that all ranks have.
func (s *Store) oldest(of *[generations]copied) *copied {
	switch {
	case of[0].committed != of[1].committed && of[0].committed, of[0].committed == of[1].committed && of[1].step < of[0].step:
		return &of[1]
	default:
		return &of[0]
	}
}

// exchange sends this rank's copy to its keeper, and takes that of the rank that it keeps.
func (s *Store) exchange(c *runtime.Comm, r *ring, mine, theirs *copied, step int) error {
	if c.Size() == 1 {
		return nil
	}
	sent := s.hand(c, r, mine.image, step)
	err := theirs.receive(c, r.ward, r.ward, step)
	return cmpOr(err, sent())
}

// hand begins to send this rank's image to its keeper, and returns a function that waits for the end of it.
func (s *Store) hand(c *runtime.Comm, r *ring, image []byte, step int) func() error {
	if !r.far {
		requests := send(c, r.keeper, image)
		return func() error { return runtime.WaitAll(requests) }
	}
	ended := make(chan error, 1)
	go func() { ended <- s.deliver(c, r.keeper, image, step) }()
	return func() error { return <-ended }
}

// verify makes a copy whole that was received as that of a rank at a step.
func (d *copied) verify(size, rank, step int) error {
	saved, err := checkImage(d.image, size, rank)
	if err == nil && saved != step {
		err = fmt.Errorf("%w: it is of step %d, not %d", ErrCorrupt, saved, step)
	}
	if err == nil {
		d.rank, d.step, d.committed = rank, step, false
	}
	return err
}

// ring says where the copies of a communicator's members are.
type ring struct {
	keeper, ward int
	far          bool // the keeper is on another node
}

// newRing finds this member's keeper, and whose keeper it is: with the members ordered by node,
// one that is as far as the largest node is long. That is on another node, unless one node has more
// than half of the members.
func newRing(c *runtime.Comm) (*ring, error) {
	nodes := make([]int, c.Size())
	if err := collectives.AllGather(c, []int{c.World().NodeRank()}, nodes); err != nil {
		return nil, err
	}
	return ringOf(nodes, c.Rank()), nil
}

// ringOf is newRing for members on these nodes.
func ringOf(nodes []int, rank int) *ring {
	order, count, largest := make([]int, len(nodes)), map[int]int{}, 0
	for i, n := range nodes {
		order[i] = i
		count[n]++
		largest = max(largest, count[n])
	}
	slices.SortStableFunc(order, func(a, b int) int { return nodes[a] - nodes[b] })
	if largest == len(nodes) {
		largest = 1
	}
	at := slices.Index(order, rank)
	r := &ring{keeper: order[(at+largest)%len(order)], ward: order[(at+len(order)-largest)%len(order)]}
	r.far = nodes[rank] != nodes[r.keeper]
	return r
}
