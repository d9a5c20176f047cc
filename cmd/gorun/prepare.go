package main

import (
	"fmt"

	"github.com/gorun-hpc/gorun/cmd/gorun/internal/link"
)

// prepare handles a frame that arrives before a link.Plan, or the plan itself. An agent may never get a plan (see
// neighbours).
func (a *agent) prepare(k link.Kind, body []byte) error {
	if !a.greeted && k != link.KindGreet {
		return fmt.Errorf("frame of kind %d before the greeting: %w", k, link.ErrMalformed)
	}
	switch k {
	case link.KindGreet:
		g, err := link.Decode[link.Greet](body)
		if err == nil && a.greeted {
			err = fmt.Errorf("second greeting: %w", link.ErrMalformed)
		}
		if err == nil {
			a.greet(g)
		}
		return err
	case link.KindProbe:
		p, err := link.Decode[link.Probe](body)
		if err == nil {
			a.conn.Send(link.KindProbed, link.Encode(link.Probed{Why: find(p)}))
		}
		return err
	case link.KindShare:
		return a.inbox.share(body)
	case link.KindFile, link.KindFileData:
		return a.inbox.take(k, body)
	case link.KindPlan:
		p, err := link.Decode[link.Plan](body)
		if err == nil {
			a.inbox.close()
			a.follow(p)
		}
		return err
	case link.KindDown: // for the agents below: another agent on this machine runs this host's ranks
		a.below.tell(body)
		return nil
	case link.KindKill: // another agent on this machine runs this host's ranks, and kills them
		return nil
	default:
		return fmt.Errorf("frame of kind %d before the plan: %w", k, link.ErrMalformed)
	}
}

// greet handles the greeting and answers with Hello.
func (a *agent) greet(g link.Greet) {
	a.greeted, a.inbox.paths = true, link.Strings(g.Programs)
	for _, path := range a.inbox.paths {
		a.hello.Programs = append(a.hello.Programs, digest(path, g.Whole))
	}
	a.hello.Gorun = ownDigest(g.Whole)
	a.conn.Send(link.KindHello, link.Encode(a.hello))
}
