package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"

	"github.com/gorun-hpc/gorun/cmd/gorun/internal/link"
	"github.com/gorun-hpc/gorun/cmd/gorun/internal/placement"
)

// radixEnv is the environment variable whose value is the largest number of agents that one process (the
// launcher or an agent) starts. The default is radixDefault.
const (
	radixEnv     = "GORUN_RADIX"
	radixDefault = 32
)

// radix returns the largest number of agents that one process starts.
func radix() (int, error) {
	text, set := os.LookupEnv(radixEnv)
	if !set || text == "" {
		return radixDefault, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%s=%.40s: want the number of hosts that gorun and each agent start agents on, 1 or more", radixEnv, text)
	}
	return n, nil
}

// grow arranges the hosts in a tree if there are more hosts than the largest number of agents that one process
// starts. The launcher itself starts the agents on this machine. It also starts the agents that it reaches by a
// command of a scheduler. The scheduler spreads the load itself, and only the launcher knows the allocation on
// which the command depends.
func (j *job) grow() error {
	most, err := radix()
	if err != nil || j.opts.groups != nil {
		return err
	}
	var away []*host
	for _, h := range j.hosts {
		if !h.here {
			away = append(away, h)
		}
	}
	for i, parent := range placement.Tree(len(away), most) {
		if parent < 0 {
			continue
		}
		h, via := away[i], away[parent]
		h.via, h.number = via, len(via.below)
		via.below = append(via.below, h)
	}
	return nil
}

// nextTo returns the hosts that this process reaches directly, not through another host.
func nextTo(hosts []*host) []*host {
	return slices.DeleteFunc(slices.Clone(hosts), func(h *host) bool { return h.via != nil })
}

// pause tells the agents that the launcher is about to stop and must not count as silent. A frame for a host
// passes the hosts above that host, and these come earlier in the list. For this reason, pause flushes the
// connections from the end of the list.
func (j *job) pause() {
	for _, h := range j.hosts {
		h.conn.Pause()
	}
	for _, h := range slices.Backward(j.hosts) {
		if err := h.conn.Flush(); err != nil {
			j.say("host %s: %v", h.name, err)
		}
	}
}

// silence returns the reason for which a silent host is given up. The frames of a host come through the hosts
// above it. silence waits until each host above has sent a frame, or until one of these hosts is lost. If all
// have sent a frame, the host itself is the cause. If one is lost, the lost host is the cause.
func (h *host) silence() error {
	for up := h.via; up != nil; up = up.via {
		select {
		case <-up.lost():
			return up.took()
		case <-h.lost():
			return h.reason() // the host was given up for another reason meanwhile
		case <-up.conn.Heard():
		}
	}
	return fmt.Errorf("it has been silent for %v: the host or the network is down", link.Silence)
}

// took returns the reason for the loss of a host below the lost host h.
func (h *host) took() error {
	return fmt.Errorf("it was reached through host %s, which is lost: %w", h.name, h.reason())
}

// numbers returns the ranks of a host and of all hosts below it.
func (h *host) numbers() []int {
	var all []int
	for _, r := range h.ranks {
		all = append(all, r.number)
	}
	for _, b := range h.below {
		all = append(all, b.numbers()...)
	}
	return all
}

// greetAll greets the agents of the given hosts. Then it starts the agents below them, and greets these, too.
func (j *job) greetAll(hosts []*host) error {
	errs := make([]error, len(hosts))
	var wait sync.WaitGroup
	for i, h := range hosts {
		wait.Go(func() {
			errs[i] = h.within(j.patience(), (*host).greet)
			if errs[i] != nil || h.reason() != nil || len(h.below) == 0 && h.via == nil {
				return
			}
			for _, b := range h.below {
				errs[i] = errors.Join(errs[i], b.startThere())
			}
			// Several hosts share the link. The goroutine that reads it must not wait for one host, because
			// the frames of the other hosts come later on the same link.
			h.frames = newFrames()
			go h.sort()
			if errs[i] == nil {
				errs[i] = j.greetAll(h.below)
			}
		})
	}
	wait.Wait()
	return errors.Join(errs...)
}

// frames is the queue of the frames of an agent that have arrived and that the launcher has not handled yet.
// While the launcher waits for frames of other agents, it takes no frames from this queue. The windows of the
// protocol bound the queue. In an agent, inbox has such a queue of frames with files.
type frames struct {
	mu   sync.Mutex // guards what follows
	more *sync.Cond
	list []received
}

// received is a frame, or the error after which no frame follows.
type received struct {
	kind link.Kind
	body []byte
	err  error
}

func newFrames() *frames {
	f := &frames{}
	f.more = sync.NewCond(&f.mu)
	return f
}

func (f *frames) put(r received) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = append(f.list, r)
	f.more.Signal()
}

// take waits for a frame. An error means that no frame follows, and stays in the queue.
func (f *frames) take() received {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.list) == 0 {
		f.more.Wait()
	}
	first := f.list[0]
	if first.err == nil {
		f.list[0] = received{}
		f.list = f.list[1:]
	}
	return first
}

// receive returns the next frame of this agent itself, not of a host below it.
func (h *host) receive() (link.Kind, []byte, error) {
	if h.frames == nil {
		return h.conn.Receive()
	}
	f := h.frames.take()
	return f.kind, f.body, f.err
}

// startThere makes the agent of the host above start the command that starts this host's agent.
func (h *host) startThere() error {
	h.open()
	e := link.Exec{Number: h.number, Line: link.Texts(h.line)}
	var err error
	if h.installs {
		if _, e.Gorun, err = packedGorun(); err != nil {
			return fmt.Errorf("gorun cannot be copied: %w", err)
		}
	}
	h.in, h.code = tunnel{h}, -1
	if h.out, h.deliver, err = os.Pipe(); err != nil {
		return err
	}
	h.begun = true
	h.job.say("host %s: from host %s: %q", h.name, h.via.name, h.line)
	h.via.conn.Send(link.KindExec, link.Encode(e))
	return nil
}

// tunnel is the standard input of a command that runs on the host above.
type tunnel struct{ h *host }

// Write sends bytes to the command. When the bytes are frames, p must hold whole frames, because the agent
// above inserts frames of its own between two Writes.
func (t tunnel) Write(p []byte) (int, error) {
	t.h.via.conn.Room()
	t.h.via.conn.Send(link.KindExecInput, link.Numbered(t.h.number), p)
	return len(p), nil
}

// Close ends the standard input of the command.
func (t tunnel) Close() error {
	t.h.via.conn.Send(link.KindExecInput, link.Numbered(t.h.number))
	return nil
}

// sort passes each frame that comes over the link to the host that has sent it. It returns after the agent's
// KindDone, or when the link ends.
func (h *host) sort() {
	ended := make([]bool, len(h.below))
	for {
		k, body, err := h.conn.Receive()
		if err == nil {
			err = h.handOn(k, body, ended)
		}
		if err == nil && k == link.KindDone {
			return // an agent sends KindDone after the commands of the hosts below have ended
		}
		if err == nil {
			continue
		}
		h.giveUp(errors.New(h.ending(err)))
		h.frames.put(received{err: err})
		for i, b := range h.below {
			if b.begun && !ended[i] {
				b.lose(h.took())
				b.finish(-1, "host "+h.name+" is lost")
			}
		}
		return
	}
}

// handOn passes one frame to its host.
func (h *host) handOn(k link.Kind, body []byte, ended []bool) error {
	switch k {
	case link.KindExecOutput, link.KindExecRemark:
		number, rest, err := link.ParseNumbered(body)
		if err != nil || number >= len(ended) || ended[number] {
			return fmt.Errorf("output of command %d: %w", number, errors.Join(err, link.ErrMalformed))
		}
		if k == link.KindExecRemark {
			_, err = h.below[number].errs.Write(rest)
			return err
		}
		// Write fails if the host was given up, because its output is no longer read.
		_, _ = h.below[number].deliver.Write(rest)
		return nil
	case link.KindExecEnd:
		e, err := link.Decode[link.ExecEnd](body)
		if err != nil || e.Number < 0 || e.Number >= len(ended) || ended[e.Number] {
			return fmt.Errorf("end of command %d: %w", e.Number, errors.Join(err, link.ErrMalformed))
		}
		ended[e.Number] = true
		h.below[e.Number].finish(e.Code, e.Text)
		return nil
	default:
		h.frames.put(received{kind: k, body: body})
		return nil
	}
}

// finish ends the streams of a command that has ended on another host, or was lost together with that host.
func (h *host) finish(code int, how string) {
	h.code, h.how = code, how
	h.errs.end()
	close(h.exited)
	_ = h.deliver.Close()
}
