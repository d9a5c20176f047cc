package main

import (
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// stream is one of the two outputs of a rank.
type stream int

const (
	streamOut stream = iota
	streamErr
)

func (s stream) String() string { return [...]string{"out", "err"}[s] }

const (
	// outputBufferBytes is the size of a read from a pipe. It equals the capacity of a pipe.
	outputBufferBytes = 64 << 10
	// escapeDelay is the longest wait for the end of a pipe after the end of all ranks. A process that
	// has escaped the containment may hold the pipe open.
	escapeDelay = 500 * time.Millisecond
	// tailBytesMax is how many bytes of the end of a standard error are kept for a report: that of a rank for the
	// report of its failure, and that of the command that reaches a host (remarks).
	tailBytesMax = 4 << 10
)

// output copies the output of the ranks to its destination. It reads from their pipes, or gets the output from
// the agents that read these pipes. One goroutine copies whole lines for all ranks, so that only lines that are
// too long, or incomplete for too long, mix with others. A slow reader of gorun's output slows down the ranks; no
// output is lost.
type output struct {
	passThrough bool // the only rank inherits gorun's standard output
	layout      layout
	files       *rankLogs  // nil without -output-dir
	broken      chan error // an error of the copying (see fail)

	epoll int
	wake  [2]int // a pipe; a byte in it makes the copying goroutine look at chunks and finished
	done  chan struct{}

	mu       sync.Mutex // guards the fields down to closed
	sources  []*source  // by index in the epoll data; after run, only the copying goroutine uses it
	errors   []*source  // by rank: the source to which the rank's error is added: standard error or, if merged, standard output
	chunks   []chunk    // output from agents, errors of ranks and new sources, in order
	running  bool       // run was called
	finished bool       // no rank is left
	closed   bool       // the copying has ended

	tails []*[]byte // by rank: the last bytes of its standard error; only the copying goroutine uses them before done

	// Only the copying goroutine uses the fields below, after run.
	buf     []byte
	partial []*source // sources with an incomplete line
	writers writers   // the source that has written last, and when
	open    int       // number of sources that are not yet at their end
	fed     int       // number of open sources whose pipes agents read
}

// source is one stream of a rank.
type source struct {
	rank  int
	which stream
	fd    int // the reading end of the pipe, -1 if an agent reads the pipe
	from  origin
	lines *splitter
	ended bool
	// The next two fields are for a source whose pipe an agent reads. room is the number of bytes that the
	// agent may still send. written is called with the number of bytes that were written, so that the agent
	// may send as many again.
	room    *window
	written func(n int)
}

// newOutput returns the output of a job of size ranks.
func newOutput(o *options, size int) (*output, error) {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("epoll_create1: %w", err)
	}
	out := &output{
		layout: newLayout(o, size), epoll: epoll, done: make(chan struct{}),
		broken: make(chan error, 1), tails: make([]*[]byte, size), errors: make([]*source, size),
		buf: make([]byte, outputBufferBytes),
	}
	out.passThrough = size == 1 && len(o.hosts) == 0 && !out.layout.tagged() && o.outputDir == "" && !o.mergeStderr
	if o.outputDir != "" {
		if out.files, err = newRankLogs(o.outputDir, size, o.mergeStderr); err != nil {
			return nil, err
		}
	}
	if err := unix.Pipe2(out.wake[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		return nil, fmt.Errorf("pipe: %w", err)
	}
	return out, out.watch(out.wake[0], -1)
}

func (o *output) watch(fd, index int) error {
	event := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(index)}
	if err := unix.EpollCtl(o.epoll, unix.EPOLL_CTL_ADD, fd, &event); err != nil {
		return fmt.Errorf("epoll_ctl: %w", err)
	}
	return nil
}

// add takes ownership of fd, the nonblocking reading end of a pipe of a rank.
func (o *output) add(r *rank, which stream, fd int) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.introduce(&source{rank: r.number, which: which, fd: fd, from: r.origin()})
	return nil
}

// introduce adds a source. After run, it passes the source on to the copying goroutine. Callers hold mu.
func (o *output) introduce(s *source) {
	if !o.running {
		o.append(s)
		return
	}
	s.lines = newSplitter(o.layout.tag(s.from, s.which), o.holdsLines())
	o.direct(s)
	o.chunks = append(o.chunks, chunk{source: s, late: true})
	o.ring()
}

// adopt begins to copy a source that was added after run. Callers hold mu.
func (o *output) adopt(s *source) {
	o.append(s)
	o.open++
	if s.written != nil {
		o.fed++
		return
	}
	if err := o.watch(s.fd, len(o.sources)-1); err != nil {
		o.fail(err)
		o.end(s)
	}
}

// append adds a source. Callers hold mu.
func (o *output) append(s *source) {
	o.sources = append(o.sources, s)
	o.direct(s)
}

// direct makes s the source to which the error of its rank is added if s is standard error, or if the rank has no
// standard error of its own. If the rank was started again, s belongs to its new process. Callers hold mu.
func (o *output) direct(s *source) {
	if to := o.errors[s.rank]; to == nil || to.which == streamOut || s.which == streamErr {
		o.errors[s.rank] = s
	}
}

// run starts the copying. It is called after the sources of the first process of every rank have been added.
func (o *output) run(ranks []*rank) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.open, o.running = len(o.sources), true
	for i, s := range o.sources {
		s.from = ranks[s.rank].origin()
		s.lines = newSplitter(o.layout.tag(s.from, s.which), o.holdsLines())
		if s.written != nil {
			o.fed++
		} else if err := o.watch(s.fd, i); err != nil {
			return err
		}
	}
	go o.copy()
	return nil
}

// holdsLines reports whether an incomplete line is held back until the rest of the line comes or the line is
// due. It returns false if lines have no tags and do not mix, because the job has only one rank or each rank has
// files of its own.
func (o *output) holdsLines() bool {
	return o.layout.tagged() || (len(o.tails) > 1 && o.files == nil)
}

// finish is called when no rank is left. It returns when all output of the ranks is written.
func (o *output) finish() {
	o.mu.Lock()
	o.finished = true
	o.ring()
	o.mu.Unlock()
	<-o.done
}

// tail returns the last bytes of a rank's standard error. While the copying goroutine runs, tail returns nil. This
// is the case at the end of a job if an interrupt has ended the wait for the output.
func (o *output) tail(rank int) []byte {
	select {
	case <-o.done:
	default:
		return nil
	}
	if t := o.tails[rank]; t != nil {
		return *t
	}
	return nil
}

// copy is the loop of the copying goroutine.
func (o *output) copy() {
	defer close(o.done)
	events := make([]unix.EpollEvent, 64)
	var deadline time.Time // set after finish was called
	for o.open > 0 || deadline.IsZero() {
		n, errno := awaitEvents(o.epoll, events, o.patience(deadline))
		if errno != 0 && errno != unix.EINTR {
			o.fail(fmt.Errorf("epoll_wait: %w", errno))
			break
		}
		woke := time.Now()
		for _, e := range events[:max(n, 0)] {
			if e.Fd < 0 {
				if o.takeChunks() && deadline.IsZero() {
					deadline = time.Now().Add(escapeDelay)
				}
				continue
			}
			o.read(o.sources[e.Fd])
		}
		now := time.Now()
		o.stalled(now.Sub(woke))
		o.flushPartial(now)
		if o.fed == 0 && !deadline.IsZero() && now.After(deadline) {
			for _, s := range o.sources { // an escaped process holds a pipe open, and may write to it for ever
				o.readPresent(s)
			}
			break
		}
	}
	for _, s := range o.sources {
		o.end(s)
	}
	if o.files != nil {
		if err := o.files.close(); err != nil {
			o.fail(err)
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	for _, fd := range [...]int{o.epoll, o.wake[0], o.wake[1]} {
		_ = unix.Close(fd)
	}
}

// patience returns how long to wait for output, in milliseconds, or -1 if the wait has no limit. The wait ends when
// an incomplete line is due or, after finish, at the deadline if no open source is read by an agent.
func (o *output) patience(deadline time.Time) int {
	wait := time.Duration(-1)
	if !deadline.IsZero() && o.fed == 0 {
		wait = max(0, time.Until(deadline))
	}
	for _, s := range o.partial {
		due := max(0, time.Until(s.lines.dueAmong(o.writers.others(s))))
		if wait < 0 || due < wait {
			wait = due
		}
	}
	if wait < 0 {
		return -1
	}
	return int((wait + time.Millisecond - 1) / time.Millisecond)
}

// read reads from a pipe once, passes the bytes to move, and returns their number. It does nothing for a source that
// has ended. The events of one epoll_wait may include an event of a source that has ended meanwhile. The descriptor of
// that source is closed, and the descriptor's number may belong to another file.
func (o *output) read(s *source) int {
	if s.ended {
		return 0
	}
	n, err := unix.Read(s.fd, o.buf)
	switch {
	case err == unix.EINTR || err == unix.EAGAIN:
		return 0
	case err != nil || n == 0:
		o.end(s)
		return 0
	}
	o.move(s, o.buf[:n])
	return n
}

// readPresent reads the bytes that are in the pipe of a source at the time of the call. It ignores later bytes, because
// a process may write to the pipe as fast as readPresent reads. A source without a pipe has no bytes.
func (o *output) readPresent(s *source) {
	if s.ended {
		return
	}
	left, _ := present(s.fd) // 0 after an error
	for n := 1; left > 0 && n > 0; left -= n {
		n = o.read(s)
	}
}

// move passes bytes of a source to its splitter, and writes what the splitter returns.
func (o *output) move(s *source, data []byte) {
	if s.which == streamErr {
		o.keepTail(s.rank, data)
	}
	had, now := s.lines.pending(), time.Now()
	o.writers.wrote(s, now)
	o.write(s, s.lines.feed(data, now))
	if !had && s.lines.pending() && !slices.Contains(o.partial, s) { // o.partial may still have it from an earlier line
		o.partial = append(o.partial, s)
	}
}

// end writes the rest of a source and closes the source. A second call does nothing.
func (o *output) end(s *source) {
	if s.ended {
		return
	}
	s.ended = true
	o.write(s, s.lines.end())
	if s.written != nil {
		o.fed--
	} else {
		_ = unix.Close(s.fd) // this also removes the pipe from the epoll set
	}
	o.open--
}

// flushPartial writes the incomplete lines that have waited long enough.
func (o *output) flushPartial(now time.Time) {
	keep := o.partial[:0]
	for _, s := range o.partial {
		if s.lines.pending() && !s.lines.dueAmong(o.writers.others(s)).After(now) {
			o.write(s, s.lines.flush())
		}
		if s.lines.pending() {
			keep = append(keep, s)
		}
	}
	o.partial = keep
}

func (o *output) keepTail(rank int, data []byte) {
	t := o.tails[rank]
	if t == nil {
		t = new([]byte)
		o.tails[rank] = t
	}
	*t = append(*t, data...)
	if over := len(*t) - tailBytesMax; over > 0 {
		*t = append((*t)[:0], (*t)[over:]...)
	}
}

// write writes bytes of a source to their destination.
func (o *output) write(s *source, data []byte) {
	if len(data) == 0 {
		return
	}
	to := os.Stdout
	if s.which == streamErr {
		to = os.Stderr
	}
	if o.files != nil {
		to = o.files.files[s.rank][s.which]
	}
	if err := writeAll(to, data); err != nil {
		o.fail(err)
	}
}

// fail reports an error of the copying, unless an earlier one has not been received yet. After an error of writing,
// reading continues, so that no rank blocks on a full pipe while the job is being ended.
func (o *output) fail(err error) {
	select {
	case o.broken <- err:
	default:
	}
}

// failure returns the error that fail has reported. It returns nil if there is none, or if the job has already
// received the error from the channel o.broken.
func (o *output) failure() error {
	select {
	case err := <-o.broken:
		return err
	default:
		return nil
	}
}
