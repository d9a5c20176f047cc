package shm

import "github.com/gorun-hpc/gorun/transport"

type serveJob struct{}

func (t *Transport) moveServes(left *int) int { return 0 }

func (t *Transport) stepStaged(op *bulkOp, left *int) { op.fail(transport.ErrNotSupported) }

func (t *Transport) serve(slot int, h transport.Header) bool { return false }

func (t *Transport) assist(slot int, h transport.Header) bool { return false }

func (b *bulk) restless() bool { return len(b.ops) > 0 || len(b.serves) > 0 }

func (b *bulk) moved() bool { return false }
