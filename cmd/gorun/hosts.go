package main

import (
	"errors"
	"fmt"
	"os"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gorun-hpc/gorun/bootstrap"
	"github.com/gorun-hpc/gorun/cmd/gorun/internal/link"
)

// place assigns a host to every rank. It drops hosts without ranks if ranks are never started again.
func (j *job) place() {
	byIndex := map[int]*host{}
	for number, i := range j.opts.dealt {
		h := byIndex[i]
		if h == nil {
			h = &host{job: j, name: j.opts.hosts[i].name, slots: j.opts.hosts[i].slots}
			byIndex[i] = h
			j.hosts = append(j.hosts, h)
		}
		r := j.ranks[number]
		r.host, r.remote = h.name, h
		h.ranks = append(h.ranks, r)
	}
	for i, named := range j.opts.hosts {
		if j.opts.respawns() && byIndex[i] == nil { // keep it: it has room for ranks of lost hosts
			j.hosts = append(j.hosts, &host{job: j, name: named.name, slots: named.slots})
		}
	}
}

// patience is how long a host may take to answer.
func (j *job) patience() time.Duration {
	if j.opts.answer == 0 {
		return answerDefault
	}
	return j.opts.answer
}

// findHosts starts the agents and returns one host for each node.
func (j *job) findHosts() ([]*host, error) {
	j.files = j.newFiles()
	if err := j.startAgents(); err != nil {
		return nil, err
	}
	if err := j.greetAll(nextTo(j.hosts)); err != nil {
		return nil, err
	}
	kept, err := j.neighbours()
	if err == nil {
		err = j.compare(kept)
	}
	return kept, err
}

// startHosts starts the agents, and the ranks through these agents.
func (j *job) startHosts(secret [32]byte) error {
	kept, err := j.findHosts()
	if err != nil {
		return err
	}
	used := slices.DeleteFunc(slices.Clone(kept), func(h *host) bool { return len(h.ranks) == 0 })
	if len(used) > 1 && j.opts.transport == transportShm {
		return fmt.Errorf("-transport shm: hosts %s and %s are different nodes and share no memory", used[0].name, used[1].name)
	}
	plan, err := j.plan(secret)
	if err != nil {
		return err
	}
	if j.opts.copies {
		if err := j.copyFiles(kept); err != nil {
			return err
		}
	}
	j.kept, j.orders = kept, plan
	j.wireHosts(kept)
	return j.each(j.patience(), func(h *host) error {
		if at := slices.Index(kept, h); at >= 0 {
			return h.order(plan, at, len(used))
		}
		return nil
	})
}

// startAgents waits for the agents of pods, and starts the other agents that the launcher itself has to start.
func (j *job) startAgents() error {
	if err := j.writeLines(); err != nil {
		return err
	}
	if err := j.grow(); err != nil {
		return err
	}
	if j.opts.pods != nil {
		if err := j.awaitPods(); err != nil {
			return err
		}
	}
	result := make(chan error)
	go func() {
		// The thread must live as long as gorun, because the commands get their death signal when the thread
		// that started them ends.
		goruntime.LockOSThread()
		var err error
		for _, h := range nextTo(j.hosts) {
			if h.begun {
				continue // a pod
			}
			if err = h.start(); err != nil {
				break
			}
		}
		result <- err
		select {}
	}()
	return <-result
}

// writeLines decides which command starts the agent of each host.
func (j *job) writeLines() error {
	path := j.opts.agentPath
	if path == "" {
		var err error
		if path, err = os.Executable(); err != nil {
			return err
		}
	}
	for i, h := range j.hosts {
		switch {
		case j.opts.pods != nil:
			h.here = true // as if the host were this machine: no other host can start its agent
			if i == 0 {
				h.line = []string{path, agentCommand}
			}
		case j.opts.rsh == nil && isThisMachine(h.name):
			h.line, h.here = []string{path, agentCommand}, true
		case j.opts.copies:
			h.line, h.installs = append(j.opts.rshLine(h.name), "sh"), true
		default:
			h.line = append(j.opts.rshLine(h.name), shellWord(path), agentCommand)
		}
	}
	return nil
}

// each runs f for all hosts concurrently. It gives up a host that takes longer than patience.
func (j *job) each(patience time.Duration, f func(h *host) error) error {
	errs := make([]error, len(j.hosts))
	var wait sync.WaitGroup
	for i, h := range j.hosts {
		wait.Go(func() { errs[i] = h.within(patience, f) })
	}
	wait.Wait()
	return errors.Join(errs...)
}

// within runs f for a host, and gives the host up if f takes longer than patience. If f fails for another host,
// the job will not run. In this case, within gives up this host, too, when failureDelay has passed, and returns
// nil. After a call of failures.interrupt, within gives up this host at once and returns the cause.
func (h *host) within(patience time.Duration, f func(h *host) error) error {
	timer := time.AfterFunc(patience, func() { h.giveUp(fmt.Errorf("no answer within %v", patience)) })
	defer timer.Stop()
	leave := h.job.failures.await(func() { h.giveUp(errNoJob) })
	defer leave()
	err := f(h)
	switch {
	case err == nil:
	case errors.Is(h.reason(), errNoJob):
		return h.job.failures.interrupted() // or nil: the error of the host that has failed is reported
	default:
		h.job.failures.first()
	}
	return err
}

// neighbours finds hosts that are the same node under several names. The first agent of a node runs all ranks
// of the node. neighbours returns the hosts with these agents. If the processes of two agents on one machine
// cannot see each other, the agents are on different nodes.
func (j *job) neighbours() ([]*host, error) {
	first := map[bootstrap.NodeID]*host{}
	var kept []*host
	for i, h := range j.hosts {
		f := first[h.node]
		if f == nil {
			first[h.node] = h
			kept = append(kept, h)
			continue
		}
		why := ""
		if err := h.within(j.patience(), func(h *host) (err error) {
			why, err = h.probe(f)
			return err
		}); err != nil {
			return nil, err
		}
		if why != "" {
			j.say("hosts %s and %s look like one node, but are not: %s", f.name, h.name, why)
			h.node[0] ^= byte(i)
			h.node[1] ^= byte(i >> 8)
			kept = append(kept, h)
			continue
		}
		j.say("host %s is host %s: one agent runs the ranks of both", h.name, f.name)
		for _, r := range h.ranks {
			r.remote = f
		}
		f.slots += h.slots
		for a, n := range h.spares {
			f.count(a, n)
		}
		f.ranks = append(f.ranks, h.ranks...)
		slices.SortFunc(f.ranks, func(a, b *rank) int { return a.number - b.number })
		h.ranks, h.slots, h.spares = nil, 0, nil
	}
	return kept, nil
}

// plan makes the part that the plans of all hosts have in common.
func (j *job) plan(secret [32]byte) (link.Plan, error) {
	dir, err := os.Getwd()
	if err != nil {
		return link.Plan{}, err
	}
	environ := portable(rankEnviron(os.Environ()))
	if j.opts.pods != nil {
		environ, secret = nil, j.salt // each container has its own environment, and derives the secret itself
	}
	p := link.Plan{
		Job: j.id, Size: len(j.ranks), OnFailure: j.opts.onFailure, Secret: secret[:], Dir: link.Text(dir),
		Env:  link.Texts(append(environ, j.opts.environ()...)),
		Bind: j.opts.bindTo, Merge: j.opts.mergeStderr, Salted: j.opts.pods != nil, Generations: j.generations(),
	}
	for i, r := range j.ranks {
		if i > 0 && j.ranks[i-1].app == r.app {
			continue
		}
		g := link.Program{Path: link.Text(r.path), Args: link.Texts(append([]string{r.app.program}, r.app.args...)), Env: link.Texts(r.app.env)}
		if r.app.wdir != "" {
			g.Dir = link.Text(absolute(dir, r.app.wdir))
		}
		p.Programs = append(p.Programs, g)
	}
	return p, nil
}

// generations returns how many generations the job may have. A restart that waits for a pod takes two
// generations.
func (j *job) generations() int {
	if j.opts.pods != nil {
		return 1 + 2*j.opts.restarts
	}
	return 1 + j.opts.restarts
}

// absolute returns an absolute path. A relative path is relative to dir.
func absolute(dir, path string) string {
	if strings.HasPrefix(path, "/") {
		return path
	}
	return strings.TrimSuffix(dir, "/") + "/" + path
}

// wireHosts prepares the handling of frames of the agents. It is called before any rank runs.
func (j *job) wireHosts(kept []*host) {
	for _, h := range kept {
		for i, r := range h.ranks {
			r.local, r.served = i, make(chan struct{})
			j.wireOutput(h, r)
		}
	}
	for _, h := range nextTo(j.hosts) {
		if numbers := h.numbers(); len(numbers) > 0 || j.opts.respawns() {
			h.way = j.server.Link(numbers, down{h.conn})
		}
	}
	j.inputThere(kept)
}

// wireOutput prepares the output of a rank on a host.
func (j *job) wireOutput(h *host, r *rank) {
	j.out.addRemote(r, j.opts.mergeStderr, func(which stream, n int) {
		h.conn.Send(link.KindCredit, link.Target{Rank: r.number, Stream: linkStream(which)}.Append(nil), link.Amount(n))
	})
}

// programs returns the numbers that the programs have in the plans.
func (j *job) programs() map[*app]int {
	program := map[*app]int{}
	for i, r := range j.ranks {
		if i == 0 || j.ranks[i-1].app != r.app {
			program[r.app] = len(program)
		}
	}
	return program
}

// down sends frames of the bootstrap server through a host's agent to the ranks.
type down struct{ conn *link.Conn }

// Write implements io.Writer.
func (d down) Write(p []byte) (int, error) {
	d.conn.Send(link.KindDown, p)
	return len(p), nil
}

// order sends the host its plan, and waits until its ranks run.
func (h *host) order(p link.Plan, at, nodes int) error {
	p.Host, p.Node, p.Place, p.NodeRank, p.Nodes, p.Spares = h.name, h.node, at, at, nodes, h.job.stock(h)
	if len(h.ranks) == 0 {
		p.NodeRank = 0
	}
	p.Input, p.InputRank = h.inputMode(), max(0, h.job.opts.inputRank())
	if namesUser(h.job.opts.rsh, h.name) || h.hello.User != os.Geteuid() {
		p.Env = slices.DeleteFunc(slices.Clone(p.Env), func(v link.Text) bool { return ofLogin(string(v)) })
	}
	program := h.job.programs()
	for _, r := range h.ranks {
		p.Ranks = append(p.Ranks, link.Rank{Number: r.number, Program: program[r.app]})
	}
	h.conn.Send(link.KindPlan, link.Encode(p))
	k, body, err := h.receive()
	switch {
	case err != nil:
		return fmt.Errorf("host %s: the ranks were not started: %s", h.name, h.ending(err))
	case k == link.KindFailed:
		return h.failed(body)
	case k != link.KindStarted:
		return fmt.Errorf("host %s: frame of kind %d in answer to the plan: %w", h.name, k, link.ErrMalformed)
	}
	s, err := link.Decode[link.Started](body)
	if err != nil || len(s.Ranks) != len(h.ranks) {
		return fmt.Errorf("host %s: %d of %d ranks were started (%w)", h.name, len(s.Ranks), len(h.ranks), errors.Join(err, link.ErrMalformed))
	}
	for i, r := range h.ranks {
		r.pid, r.cpus, r.started = s.Ranks[i].PID, s.Ranks[i].Processors, time.Now()
	}
	return nil
}

// dismissDelay is how long an agent may take to exit when its work is done. An agent takes
// longer only if it is blocked in the kernel or its network is down.
const dismissDelay = 5 * time.Second

// dismiss ends the connections and returns when the commands have ended. If patient is true, the agents have
// been told to end, and dismiss first waits for their ends, but at most dismissDelay.
func (j *job) dismiss(patient bool) error {
	errs := make([]error, len(j.hosts))
	var wait sync.WaitGroup
	for i, h := range j.hosts {
		if h.begun {
			wait.Go(func() { errs[i] = h.dismiss(patient) })
		}
	}
	wait.Wait()
	return errors.Join(errs...)
}

func (h *host) dismiss(patient bool) error {
	defer func() { _ = h.out.Close() }()
	late := time.NewTimer(dismissDelay)
	defer late.Stop()
	if patient {
		select {
		case <-h.readDone:
		case <-late.C:
		}
	}
	if h.quit != nil {
		h.quit()
	}
	_ = h.in.Close() // an agent that is still running ends now
	late.Reset(dismissDelay)
	select {
	case <-h.exited:
		return nil
	case <-late.C:
	}
	h.giveUp(errors.New("the agent did not exit"))
	<-h.exited
	return fmt.Errorf("host %s: the agent did not exit within %v: check the host for processes of the job", h.name, dismissDelay)
}
