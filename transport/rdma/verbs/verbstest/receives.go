package verbstest

import "github.com/gorun-hpc/gorun/transport/rdma/verbs/provider"

// sharedReceives is a shared receive queue, in order.
type sharedReceives struct {
	posted  []*provider.Receive
	limit   int
	reached func()
}

func (d *device) NewSharedReceiveQueue(c provider.SharedReceiveConfig) (provider.SharedReceiveQueue, error) {
	return &sharedReceives{reached: c.LimitReached}, nil
}

func (s *sharedReceives) Post(r *provider.Receive) { s.posted = append(s.posted, r) }

func (s *sharedReceives) SetLimit(n int) error {
	s.limit = n
	s.watch()
	return nil
}

func (s *sharedReceives) Close() { s.posted = nil }

// watch says that the limit is passed.
func (s *sharedReceives) watch() {
	if len(s.posted) < s.limit {
		s.limit = 0
		s.reached()
	}
}

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
		defer p.shared.watch()
	}
	r := (*from)[0]
	*from = (*from)[1:]
	return r
}
