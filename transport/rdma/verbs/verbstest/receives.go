package verbstest

import "github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"

// sharedReceives is a shared receive queue. Messages consume its receives in the order of posting.
type sharedReceives struct {
	posted []*provider.Receive
}

func (d *device) NewSharedReceiveQueue(provider.SharedReceiveConfig) (provider.SharedReceiveQueue, error) {
	return &sharedReceives{}, nil
}

func (s *sharedReceives) Post(r *provider.Receive) { s.posted = append(s.posted, r) }

func (s *sharedReceives) Close() { s.posted = nil }

// available returns the number of receives that messages of the pair can consume.
func (p *pair) available() int {
	if p.shared != nil {
		return len(p.shared.posted)
	}
	return len(p.posted)
}

// take removes and returns the receive for the next message. A receive must be available.
func (p *pair) take() *provider.Receive {
	from := &p.posted
	if p.shared != nil {
		from = &p.shared.posted
	}
	r := (*from)[0]
	*from = (*from)[1:]
	return r
}
