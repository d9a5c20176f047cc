package bootstrap_test

import (
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/gorun-hpc/gorun/bootstrap"
)

// simulated is a job that goes on after losses, in virtual time. Server, Relay and Session are the real
// types. The simulation replaces their callers:
//
//	rank:      exchanges cards, agrees and fences; at ErrRenewed it leaves its World after a while and calls Renew
//	agent:     reports the end of a rank after all that the rank has sent; begins a generation and starts ranks
//	launcher:  calls Renew for ranks that have ended, or Gone if the job cannot go on; one end at a time
type simulated struct {
	line    *timeline
	server  *bootstrap.Server
	links   []*bootstrap.Link // by node-1, because the first node has the server itself and no link
	ups     []*lane
	downs   []*lane
	relays  []*bootstrap.Relay
	ended   chan ending
	running sync.WaitGroup

	mu         sync.Mutex // guards the fields below
	ranks      []*process
	down       []bool // by node: whether it is down
	known      []bool // by node: whether the launcher knows that the node is down
	plans      []plan
	finished   map[int]int // generation at the end, by rank
	errs       []error
	killing    []int // events at which a rank is killed
	wholeHosts bool
}

// plan is the plan of a generation: the ranks that are lost, the ranks of each node, and the number of
// earlier starts of each rank.
type plan struct {
	lost   []int
	places [][]int
	starts []int
}

// ending is the end of a process, or of a node with all its processes.
type ending struct {
	process *process
	node    int // the node that has ended, if process is nil
}

// newSimulated starts a job of random size on a random number of nodes.
func newSimulated(seed uint64, kills []int, wholeHosts bool) *simulated {
	random := rand.New(rand.NewPCG(seed, 1))
	size, nodes := 3+random.IntN(4), 1+random.IntN(3)
	s := &simulated{
		line: &timeline{random: rand.New(rand.NewPCG(seed, 2))}, ended: make(chan ending, 1024), ranks: make([]*process, size),
		down: make([]bool, nodes), known: make([]bool, nodes), finished: map[int]int{}, killing: kills, wholeHosts: wholeHosts,
	}
	s.line.happen = s.happen
	s.server = bootstrap.NewServer(size, func(bootstrap.Event) {})
	first := plan{places: make([][]int, nodes), starts: make([]int, size)}
	for rank := range size {
		first.places[rank%nodes] = append(first.places[rank%nodes], rank)
	}
	s.plans = []plan{first}
	for node := 1; node < nodes; node++ {
		s.connect(node)
	}
	for rank := range size {
		s.start(rank, 0)
	}
	return s
}

// connect makes the links between the launcher and a node, and the node's relay.
func (s *simulated) connect(node int) {
	up, down := newLane(s.line), newLane(s.line)
	relay := bootstrap.NewRelay(len(s.ranks), s.plans[0].places[node], func(rank int, frame []byte) error {
		up.put(parcelOfTime{act: func() {
			if !s.isDown(node) {
				s.note(s.server.Take(rank, frame))
			}
		}})
		return nil
	})
	relay.OnRenewal(func(number []byte) error {
		generation := int(number[0])
		p := s.plan(generation)
		if err := relay.Renew(s.next(generation), p.places[node]); err != nil {
			return err
		}
		for _, rank := range p.lost {
			if slices.Contains(p.places[node], rank) {
				s.start(rank, generation)
			}
		}
		return nil
	})
	s.relays, s.ups, s.downs = append(s.relays, relay), append(s.ups, up), append(s.downs, down)
	s.links = append(s.links, s.server.Link(s.plans[0].places[node], writer(func(frame []byte) {
		for _, one := range wholeFrames(frame) {
			down.put(parcelOfTime{act: func() {
				if !s.isDown(node) {
					s.note(relay.Tell(one))
				}
			}})
		}
	})))
	go up.run()
	go down.run()
}

// start starts a rank in a generation, in a process that begins to run after a random time.
func (s *simulated) start(rank, generation int) {
	mine, theirs := newConnection(s.line)
	p := s.plan(generation)
	proc := &process{rank: rank, start: p.starts[rank], conn: theirs, dead: make(chan struct{})}
	proc.node = slices.IndexFunc(p.places, func(ranks []int) bool { return slices.Contains(ranks, rank) })
	s.mu.Lock()
	s.ranks[rank] = proc
	gone := s.down[proc.node]
	s.mu.Unlock()
	if gone {
		return
	}
	next := s.next(generation)
	job := next.Describe(rank)
	served := make(chan struct{})
	serve := s.server.Serve
	if proc.node > 0 {
		serve = s.relays[proc.node-1].Serve
	}
	go func() {
		defer close(served)
		if err := serve(rank, mine); err != nil && !isOver(proc) {
			s.note(err)
		}
	}()
	s.running.Go(func() {
		s.think()
		s.live(proc, job)
		_ = theirs.Close()
	})
	go s.reap(proc, mine, served)
}

// reap reports that a process has ended, after everything that the process has sent has been
// processed.
func (s *simulated) reap(p *process, conn *simulatedConn, served chan struct{}) {
	<-served
	_ = conn.Close()
	s.think()
	if p.node == 0 {
		s.ended <- ending{process: p}
		return
	}
	if s.isDown(p.node) {
		return
	}
	s.relays[p.node-1].Gone(p.rank)
	s.ups[p.node-1].put(parcelOfTime{act: func() {
		if !s.isDown(p.node) {
			s.ended <- ending{process: p}
		}
	}})
}

// launch simulates gorun. It handles the ends of processes and nodes until all ranks have finished or are
// lost for good.
func (s *simulated) launch() {
	lost := map[int]bool{}
	for size := len(s.ranks); len(lost) < size; {
		e := <-s.ended
		ranks := s.lostWith(e, lost)
		if len(ranks) == 0 {
			continue
		}
		if s.renew(ranks) {
			continue
		}
		for _, rank := range ranks {
			lost[rank] = true
			s.server.Gone(rank, "was killed")
		}
	}
}

// lostWith returns the ranks that are lost with a process or a node. It leaves out ranks that were already
// started again.
func (s *simulated) lostWith(e ending, lost map[int]bool) (ranks []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.plans[len(s.plans)-1]
	if e.process == nil {
		s.known[e.node] = true
		for _, rank := range last.places[e.node] {
			if !lost[rank] {
				ranks = append(ranks, rank)
			}
		}
		return ranks
	}
	if p := e.process; last.starts[p.rank] == p.start && slices.Contains(last.places[p.node], p.rank) && !lost[p.rank] {
		return []int{p.rank}
	}
	return nil
}

// renew begins the next generation, in which the lost ranks start again. They start on their node, or on the
// first node if their node is down. renew reports whether the server has begun the generation.
func (s *simulated) renew(lost []int) bool {
	s.mu.Lock()
	old := s.plans[len(s.plans)-1]
	p := plan{lost: lost, places: make([][]int, len(old.places)), starts: slices.Clone(old.starts)}
	for node, ranks := range old.places {
		for _, rank := range ranks {
			if s.known[node] {
				node = 0
			}
			p.places[node] = append(p.places[node], rank)
		}
	}
	for node := range p.places {
		slices.Sort(p.places[node])
	}
	for _, rank := range lost {
		p.starts[rank]++
	}
	s.plans = append(s.plans, p)
	generation := len(s.plans) - 1
	next := s.nextOf(generation)
	next.Plan, next.Links = []byte{byte(generation)}, map[*bootstrap.Link][]int{}
	for i, l := range s.links {
		if !s.known[i+1] {
			next.Links[l] = p.places[i+1]
		}
	}
	s.mu.Unlock()
	begun, err := s.server.Renew(next)
	s.note(err)
	if !begun {
		s.mu.Lock()
		s.plans = s.plans[:generation]
		s.mu.Unlock()
		return false
	}
	for _, rank := range lost {
		if slices.Contains(p.places[0], rank) {
			s.start(rank, generation)
		}
	}
	return true
}

// next returns a generation in the form that the server and the relays take.
func (s *simulated) next(generation int) bootstrap.Next {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.nextOf(generation)
}

// nextOf does the same as next. The caller holds s.mu.
func (s *simulated) nextOf(number int) bootstrap.Next {
	p := s.plans[number]
	places := slices.DeleteFunc(slices.Clone(p.places), func(ranks []int) bool { return len(ranks) == 0 })
	g := &generation{number: number, lost: p.lost, places: places}
	return g.next(len(p.starts))
}

func (s *simulated) plan(generation int) plan {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.plans[generation]
}

// note records an error.
func (s *simulated) note(err error) {
	if err == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.errs = append(s.errs, err)
}

// writer makes an io.Writer of a function, which gets a copy of the bytes.
type writer func([]byte)

func (w writer) Write(b []byte) (int, error) { w(append([]byte(nil), b...)); return len(b), nil }

// wholeFrames splits the bytes that are written to a link into frames.
func wholeFrames(b []byte) (frames [][]byte) {
	for len(b) >= 4 {
		n := 4 + int(uint32(b[0])|uint32(b[1])<<8|uint32(b[2])<<16|uint32(b[3])<<24)
		frames = append(frames, b[:n])
		b = b[n:]
	}
	return frames
}
