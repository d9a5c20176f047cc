package verbstest

import "github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"

// sharedReceives is a shared receive queue, in order.
type sharedReceives struct {
	posted []*provider.Receive
}

func (d *device) NewSharedReceiveQueue(provider.SharedReceiveConfig) (provider.SharedReceiveQueue, error) {
	return &sharedReceives{}, nil
}

func (s *sharedReceives) Post(r *provider.Receive) { s.posted = append(s.posted, r) }

func (s *sharedReceives) Close() { s.posted = nil }

// available returns how many messages find a receive.
func (p *pair) available() int {
	if p.shared != nil {
		return len(p.shared.posted)
	}
	return len(p.posted)
}

// take takes the receive of a message. There is one.
func (p *pair) take() *provider.Receive {
	from := &p.posted
	if p.shared != nil {
		from = &p.shared.posted
	}
	r := (*from)[0]
	*from = (*from)[1:]
	return r
}
