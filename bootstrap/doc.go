// Package bootstrap gives a rank its identity and the addresses of the others.
//
// A rank is started by a node agent (gorun on one machine). It inherits its
// identity in GORUN_* environment variables and three descriptors: a stream
// socket to the agent, the sparse memory of the node, and the job secret.
// [Join] reads them, sets close-on-exec on every one before anything else,
// and returns a [Session]. A process started without an agent joins a world
// of one rank.
//
//	s, err := bootstrap.Join()
//	book, err := s.Exchange(ctx, s.Card()) // every rank's card, in rank order
//	...
//	err = s.Finalize()
//
// The agent's half is [Server]: it gathers cards, answers with the book,
// counts fences, passes on notices, and is driven by connections alone, so
// that it is tested without processes. [NodeMemory] makes the descriptor that
// all ranks of a node map.
//
// Frames on the socket are described at [Server]. A malformed frame is an error,
// never a panic or a large allocation. No host name is ever resolved.
//
// Unstable: any release may change this package, also after v1.
package bootstrap

import (
	_ "github.com/gorun-hpc/gorun/internal/processor" // says what 32-bit processors lack
)
