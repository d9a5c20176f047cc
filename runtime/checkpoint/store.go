package checkpoint

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/internal/packing"
	"github.com/gorun-hpc/gorun/internal/toggle"
	"github.com/gorun-hpc/gorun/runtime"
)

// Config describes a Store.
type Config struct {
	// Directory is the directory of the files to which each rank also writes its own copies. "" means
	// that copies are only in memory. The directory must exist, and a rank that is started again
	// must find the same directory. If a rank may be started again on another machine, the
	// directory must be in a shared file system.
	Directory string
	// Compression selects whether the copies at keepers on other nodes and in files are compressed.
	// With GORUN_COMPRESS=0 in the environment, the copies at keepers on other nodes are never
	// compressed.
	Compression Compression
}

// Compression selects whether copies are compressed. Save compresses neither a rank's own copy in memory nor a copy
// that goes to a keeper on the same node.
type Compression int

const (
	// CompressAuto compresses copies if compression makes Save faster, according to the measured
	// rates of the connection to the keeper and of the disk. It also compresses files if they become
	// at least four times shorter.
	CompressAuto = Compression(packing.Auto)
	// CompressNever sends and writes copies without compression.
	CompressNever = Compression(packing.Never)
	// CompressAlways compresses each block of at least 1 KiB that becomes shorter by an eighth or more,
	// even if compression takes longer than sending or writing the bytes. This setting saves memory of
	// the keepers and space in files.
	CompressAlways = Compression(packing.Always)
)

// Store keeps the checkpoints of one rank. Save and Restore are collective operations of all members of
// the communicator. The communicator is World.Comm, or has all ranks of the World in the same order.
// Calls of Save and Restore on one Store run one after the other.
type Store struct {
	config Config

	// sent compresses the copies that are sent to a keeper on another node. filed compresses the
	// copies that are written to files.
	sent, filed packer

	mu   sync.Mutex          // held during Save and Restore
	own  [generations]copied // this rank's own copies
	kept [generations]copied // the copies of the rank whose keeper this rank is
	way  way
	// disk is the rate, in bytes per second, at which the last file was written. It is 0 if no file
	// was written yet.
	disk  float64
	rooms rooms
}

// envCompress is an environment variable. The value 0 disables the compression of copies that are
// sent to other nodes. The value 0 serves secrecy: without compression, the length of a message on
// the network does not depend on its content (docs/security.md).
const envCompress = "GORUN_COMPRESS"

// generations is the number of checkpoints of which a Store has copies at the same time.
const generations = 2

// copied is a copy of a rank's parts.
type copied struct {
	rank int
	step int // the constant none while the copy is absent or incomplete
	// image is the image of the parts. The image can be packed only if it came from another node, from a
	// keeper that has it in packed form, or from a file. The method read unpacks the image of this rank's parts.
	image []byte
	// committed is true if this rank knows that all ranks have stored their copies of this step.
	committed bool
}

// none is the step of a copied that holds no copy.
const none = -1

// New returns an empty Store. It returns an error if the directory does not exist, if
// Config.Compression is not CompressAuto, CompressNever or CompressAlways, or if the value of
// GORUN_COMPRESS is neither true nor false.
func New(c Config) (*Store, error) {
	s := &Store{config: c}
	mode := packing.Mode(c.Compression)
	s.filed.Decider, s.filed.look = packing.New(mode, fileLimits), func() packing.Pace { return packing.Pace{Rate: s.disk, Bound: s.disk > 0} }
	compress, err := toggle.Of(envCompress, true)
	if !compress {
		mode = packing.Never
	}
	s.sent.Decider, s.sent.look = packing.New(mode, wayLimits), s.way.pace
	for i := range generations {
		s.own[i].step, s.kept[i].step = none, none
	}
	return s, errors.Join(err, c.check())
}

// Tags of the messages of Save and Restore. Each call uses a communicator of its own, made by Comm.Dup.
const (
	tagHead = iota
	tagImage
)

// Save stores a copy of the parts of each member as that member's state at a step. The parts of different
// members may have different lengths. step must be the same at all members, not negative, and above
// the step of the last completed Save or, if Restore was called later, above the restored step. The caller
// may change the parts after Save has returned. If Save fails at one member, it fails at all members, and
// the previous checkpoint is still available. There is one exception: if a rank is lost at the end of Save,
// Save may fail at some members and return nil at others. The end of the context.Context of c ends Save and
// Restore.
func (s *Store) Save(c *runtime.Comm, step int, parts ...Part) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	own, err := c.Dup()
	if err == nil {
		err = errors.Join(s.save(own.WithContext(c.Context()), step, parts), own.Close())
	}
	if err != nil {
		return fmt.Errorf("checkpoint: save step %d: %w", step, err)
	}
	return nil
}

func (s *Store) save(own *runtime.Comm, step int, parts []Part) error {
	s.introduce(own)
	mine, theirs := s.oldest(&s.own), s.oldest(&s.kept)
	err := s.mayFollow(step, parts)
	if err == nil && !mine.committed {
		err = s.remove(s.file(mine, own.Rank()))
	}
	if err := agree(own, step, err); err != nil {
		return err
	}
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
	// If agree returns nil, all members have stored their copies. Otherwise this member does not mark the
	// step as committed.
	if err := agree(own, step, err); err != nil {
		return err
	}
	mine.committed, theirs.committed = true, true
	return nil
}

// mayFollow validates the arguments of Save at this member: the parts must be valid, and the step
// must not be negative and must be above the last committed step.
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

// oldest returns the copy that the next copy replaces. The last committed copy is never replaced. A copy that is not
// committed is always replaced, because load takes the earlier of two copies for committed.
func (s *Store) oldest(of *[generations]copied) *copied {
	a, b := &of[0], &of[1]
	switch {
	case a.committed && (!b.committed || b.step < a.step), !a.committed && !b.committed && b.step != none:
		return b
	default:
		return a
	}
}

// exchange sends this rank's copy to its keeper, and receives into theirs the copy of its ward (see ring).
func (s *Store) exchange(c *runtime.Comm, r *ring, mine, theirs *copied, step int) error {
	if c.Size() == 1 {
		return nil
	}
	sent := s.hand(c, r, mine.image, step)
	err := theirs.obtain(c, r.ward, r.ward, step)
	return cmp.Or(err, sent())
}

// hand starts to send this rank's image to its keeper. It returns a function that waits until the image is sent.
func (s *Store) hand(c *runtime.Comm, r *ring, image []byte, step int) func() error {
	if !r.far {
		requests := send(c, r.keeper, image)
		return func() error { return runtime.WaitAll(requests) }
	}
	ended := make(chan error, 1)
	go func() { ended <- s.deliver(c, r.keeper, image, step) }()
	return func() error { return <-ended }
}

// verify validates the received image of d as the copy of a rank at a step. If it is valid, verify sets the rank
// and the step of d, which completes the copy.
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

// ring names the two members with which a member exchanges copies. keeper keeps the copies of this member, and
// this member keeps the copies of ward.
type ring struct {
	keeper, ward int
	far          bool // the keeper is on another node
}

// newRing determines the keeper and the ward of this member. The members form a ring in which they
// are ordered by node. The distance from a member to its keeper in the ring is the number of members
// on the largest node. So the keeper is on another node if no node has more than half of the members.
// If there is only one node, the distance is 1.
func newRing(c *runtime.Comm) (*ring, error) {
	nodes := make([]int, c.Size())
	if err := collectives.AllGather(c, []int{c.World().NodeRank()}, nodes); err != nil {
		return nil, err
	}
	return ringOf(nodes, c.Rank()), nil
}

// ringOf returns the ring of a rank. nodes has the node of each member, by rank.
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
