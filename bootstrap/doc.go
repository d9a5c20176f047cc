// Package bootstrap gives a rank its identity and the addresses of the other ranks.
//
// A node agent (on one machine, gorun itself) starts a rank. The rank inherits its identity in GORUN_*
// environment variables. It also inherits three descriptors: a stream socket to the agent, the sparse memory
// of the node, and the job secret. [Join] first sets close-on-exec on the descriptors. Then it reads the
// secret, and returns a [Session]. A process without an agent is a world of one rank, unless another launcher
// has started it together with others with which it can form one world ([Foreign.Joins]).
//
//	s, err := bootstrap.Join()
//	book, err := s.Exchange(ctx, s.Card()) // every rank's card, in rank order
//	...
//	err = s.Finalize()
//
// The agent's half of the protocol is [Server]: it gathers cards, answers with the book, counts fences and
// passes on notices. It needs only connections, so its tests start no processes. [SharedMemory] and
// [NodeMemory] make the node memory, which all ranks of a node map.
//
// [Server] describes the frames on the socket. A malformed frame causes an error,
// never a panic or a large allocation. This package resolves no host names.
//
// Unstable: any release may change this package, also after v1.
package bootstrap

import (
	_ "github.com/gorun-hpc/gorun/internal/processor" // its build error explains why 32-bit processors are not supported
)
