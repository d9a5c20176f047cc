package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/gorun-hpc/gorun/bootstrap"
	"github.com/gorun-hpc/gorun/cmd/gorun/internal/link"
)

// follow starts the ranks of a plan, and reports the result.
func (a *agent) follow(p link.Plan) {
	if err := scarce(a.start(p), len(p.Ranks)); err != nil {
		err = errors.Join(err, a.kill())
		a.conn.Send(link.KindFailed, link.Encode(link.Failed{Code: exitCode(err), Text: err.Error()}))
		return
	}
	var started link.Started
	for _, r := range a.node.ranks {
		started.Ranks = append(started.Ranks, link.Process{PID: r.pid, Processors: r.cpus})
	}
	a.conn.Send(link.KindStarted, link.Encode(started))
	close(a.started) // from here on frames about the ranks may be sent
	a.out.run()
	if a.feed != nil {
		a.feed.deliver()
	}
	a.node.beginReaping()
	go a.report()
	for program, n := range p.Spares {
		for range n {
			a.addSpare(program)
		}
	}
}

// start starts the ranks of a plan. If it returns an error, some of the ranks may have been
// started.
func (a *agent) start(p link.Plan) error {
	ranks, numbers, err := a.planned(p)
	a.node.assign(ranks, p.Bind)
	a.relay = bootstrap.NewRelay(p.Size, numbers, func(rank int, frame []byte) error {
		<-a.started
		if a.up.spend(len(frame)) {
			a.conn.Send(link.KindUp, link.Target{Rank: rank}.Append(nil), frame)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if p.Input != link.InputNone {
		a.feed = newFeed(p.Input == link.InputAll, p.InputRank)
		a.feed.used = a.wantInput
	}
	common := bootstrap.Job{
		Size: p.Size, NodeRank: p.NodeRank, Nodes: p.Nodes, ID: p.Job, Node: p.Node, Host: p.Host, OnFailure: p.OnFailure,
	}
	environ := append(rankEnviron(os.Environ()), link.Strings(p.Env)...)
	w := &wiring{input: a.inputOf, merge: p.Merge, output: a.out.add, serve: a.serve}
	secret, err := secretOf(p)
	if err != nil {
		return err
	}
	s, err := newSpawner(a.node, common, p.Generations, secret, environ, w)
	if err != nil {
		return err
	}
	a.relay.Shelve(s.shelf)
	if p.OnFailure != bootstrap.OnFailureRespawn {
		return errors.Join(s.start(), s.close())
	}
	a.spawner, a.place, a.out.lasting = s, p.Place, true
	a.relay.OnRenewal(a.renew)
	err = errors.Join(s.start(), s.unshare())
	w.input = inputAgain
	return err
}

// planned makes the ranks of a plan without starting them, and returns the ranks and their numbers. It returns
// an error if a working directory does not exist on this machine. Without this check, exec would report a
// missing program.
func (a *agent) planned(p link.Plan) (ranks []*rank, numbers []int, err error) {
	for _, g := range p.Programs {
		args := link.Strings(g.Args)
		dir := string(g.Dir)
		if dir == "" {
			dir = string(p.Dir)
		}
		a.programs = append(a.programs, &app{program: args[0], args: args[1:], env: link.Strings(g.Env), wdir: dir})
		a.paths = append(a.paths, a.inbox.local(string(g.Path)))
		if st, e := os.Stat(dir); e != nil || !st.IsDir() {
			err = fmt.Errorf("there is no directory %s on this host: -wdir names another one", dir)
		}
	}
	for _, r := range p.Ranks {
		ranks = append(ranks, a.newRank(r, p.Host))
		numbers = append(numbers, r.Number)
	}
	return ranks, numbers, err
}

// newRank makes a rank of a plan without starting it.
func (a *agent) newRank(r link.Rank, host string) *rank {
	return &rank{number: r.Number, app: a.programs[r.Program], host: host, path: a.paths[r.Program]}
}
