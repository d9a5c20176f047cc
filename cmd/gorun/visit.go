package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/gorun-hpc/gorun/bootstrap"
)

// visit is a connection of another pod to the first pod.
type visit struct {
	number int
	conn   *os.File
	host   *host // the pod as a host; nil before the greeting begins
	err    error // the error of greet or prepare
	// replaces is the pod's former host, if the pod was started again while ranks run.
	replaces *host
}

// visits delivers the pods that connect. A nil *visits delivers none.
type visits struct {
	door   *bootstrap.Door
	come   chan visit
	done   chan struct{} // closed when no more visits are taken
	closed chan error    // gets the result of door.Serve
}

// openVisits opens a door (bootstrap.Door) for the given number of pods.
func openVisits(port uint16, secret [32]byte, pods int) (*visits, error) {
	door, err := bootstrap.OpenDoor(port, secret, pods)
	if err != nil {
		return nil, err
	}
	v := &visits{door: door, come: make(chan visit), done: make(chan struct{}), closed: make(chan error, 1)}
	go func() {
		v.closed <- door.Serve(func(number int, conn *os.File) {
			v.deliver(visit{number: number, conn: conn})
		})
	}()
	return v, nil
}

// arrivals returns the channel on which the visits come.
func (v *visits) arrivals() <-chan visit {
	if v == nil {
		return nil
	}
	return v.come
}

// deliver sends a visit to the receiver of arrivals, or ends the visit after close.
func (v *visits) deliver(next visit) {
	select {
	case v.come <- next:
	case <-v.done:
		next.end()
	}
}

// close closes the door. Later visits are ended.
func (v *visits) close() error {
	if v == nil {
		return nil
	}
	close(v.done)
	return v.door.Close()
}

// end closes the connection of a visit that is not used.
func (v visit) end() {
	if v.host != nil && v.host.quit != nil {
		v.host.quit()
	}
	_ = v.conn.Close()
}

// awaitPods waits until the agents of all other pods have sent their Hello. It greets each agent at
// once, because from the time of the connection both sides expect regular beats. If ranks may be started again, pods
// are also accepted later.
func (j *job) awaitPods() error {
	p := j.opts.pods
	if len(j.hosts) < p.Count {
		return fmt.Errorf("-np %d leaves pods without a rank: there are %d pods", len(j.ranks), p.Count)
	}
	secret, err := podSecret(p)
	if err != nil {
		return err
	}
	if j.visits, err = openVisits(p.Port, secret, p.Count); err != nil {
		return err
	}
	err = j.receivePods()
	if err != nil || !j.opts.respawns() {
		err = errors.Join(err, j.visits.close())
		j.visits = nil
	}
	return err
}

// receivePods waits until all pods are there. It greets each pod in a goroutine of its own.
func (j *job) receivePods() error {
	late := time.NewTimer(j.opts.answer)
	defer late.Stop()
	interrupted := make(chan struct{})
	defer j.failures.await(func() { close(interrupted) })()
	for {
		var missing []string
		for _, h := range j.hosts[1:] {
			if h.conn == nil {
				missing = append(missing, h.name)
			}
		}
		if len(missing) == 0 {
			return nil
		}
		select {
		case v := <-j.visits.come:
			switch {
			case v.number == 0: // a second pod with the number of the first pod
				v.end()
			case v.host == nil:
				h := j.hosts[v.number]
				v.host = &host{job: j, name: h.name, here: h.here, ranks: h.ranks, slots: h.slots, spares: h.spares}
				go func(all *visits) { all.deliver(v.greet()) }(j.visits)
			default:
				if err := j.take(v); err != nil {
					return err
				}
			}
		case err := <-j.visits.closed:
			return err
		case <-interrupted:
			return j.failures.interrupted()
		case <-late.C:
			shown := missing[:min(len(missing), shownHostsMax)]
			return fmt.Errorf("%d of %d pods did not come within %v: %s: are they scheduled, and can they resolve and reach %s at port %d? (kubectl get pods; -answer-within)",
				len(missing), len(j.hosts), j.opts.answer, strings.Join(shown, " "), j.opts.pods.Root, j.opts.pods.Port)
		}
	}
}

// greet greets the agent of a pod and waits for its Hello.
func (v visit) greet() visit {
	h := v.host
	h.open()
	close(h.exited) // no command has started the agent
	h.in, h.out, h.begun, h.code = v.conn, v.conn, true, -1
	if v.err = v.conn.SetDeadline(time.Now().Add(podHelloTimeout)); v.err == nil {
		v.err = h.greet()
	}
	if v.err == nil {
		v.err = v.conn.SetDeadline(time.Time{})
	}
	return v
}

// take makes the greeted agent of a pod the agent of its host, in place of an older one. It is not an error if the
// connection of an agent is lost before the Hello: the container is started again, and the agent connects again.
func (j *job) take(v visit) error {
	var gone *noAnswerError
	if v.err != nil {
		v.end()
		if errors.As(v.err, &gone) {
			j.say("%v", v.err)
			return nil
		}
		return v.err
	}
	if old := j.hosts[v.number]; old.conn != nil {
		old.quit()
		_ = old.out.Close()
	}
	j.hosts[v.number] = v.host
	for _, r := range v.host.ranks {
		r.remote = v.host
	}
	j.say("%s has come", v.host.name)
	return nil
}
