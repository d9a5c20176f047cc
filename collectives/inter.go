package collectives

import (
	"errors"
	"fmt"

	"github.com/gorun-hpc/gorun/internal/callsite"
	"github.com/gorun-hpc/gorun/runtime"
)

// Root is the root that the root of an operation on an Intercomm gives; the other ranks of its
// group give runtime.ProcNull, those of the other group its rank.
const Root = -3

// The operations on an Intercomm move data from each group to the other one. The first rank of
// a group gathers or combines what its group contributes, with the operations of the group's own
// communicator, exchanges it with the first rank of the other group or with the root, and
// distributes what it got. All ranks of both groups call them in the same order, one at a time.
// A failure breaks the Intercomm for both groups.

// InterBarrier returns when all ranks of the other group have called it.
func InterBarrier(t *runtime.Intercomm) error {
	return inter(t, "InterBarrier", nil, func(x *crossing) error {
		if err := Barrier(x.local); err != nil {
			return err
		}
		if x.first {
			if err := swap(x, []byte(nil), nil); err != nil {
				return err
			}
		}
		return Barrier(x.local)
	})
}

// InterBcast copies buf of the root to buf of every rank of the other group. The other ranks of
// the root's group do not use buf.
func InterBcast[T any](t *runtime.Intercomm, buf []T, root int) error {
	return inter(t, "InterBcast", checkInter[T](t, root), func(x *crossing) error {
		switch {
		case root == Root:
			return pass(x, buf, 0)
		case root == runtime.ProcNull:
			return nil
		case x.first:
			if err := take(x, buf, root); err != nil {
				return err
			}
		}
		return Bcast(x.local, buf, 0)
	})
}

// InterReduce combines send of the ranks of the other group in recv of the root, in the order of
// their ranks if op does not commute. The root's group does not use send, the other one not
// recv.
func InterReduce[T any](t *runtime.Intercomm, send, recv []T, op Op, root int) error {
	return inter(t, "InterReduce", checkInter[T](t, root), func(x *crossing) error {
		switch root {
		case Root:
			return take(x, recv, 0)
		case runtime.ProcNull:
			return nil
		}
		all := firstOnly[T](x, len(send))
		if err := Reduce(x.local, send, all, op, 0); err != nil || !x.first {
			return err
		}
		return pass(x, all, root)
	})
}

// InterAllReduce combines send of the ranks of one group in recv of every rank of the other
// one. All buffers have the same length.
func InterAllReduce[T any](t *runtime.Intercomm, send, recv []T, op Op) error {
	bad := runtime.Element[T]()
	if len(send) != len(recv) {
		bad = lengthError("recv", len(recv), len(send))
	}
	return inter(t, "InterAllReduce", bad, func(x *crossing) error {
		all := firstOnly[T](x, len(send))
		if err := Reduce(x.local, send, all, op, 0); err != nil {
			return err
		}
		if x.first {
			if err := swap(x, all, recv); err != nil {
				return err
			}
		}
		return Bcast(x.local, recv, 0)
	})
}

// InterGather concatenates send of the ranks of the other group in recv of the root, in the
// order of their ranks.
func InterGather[T any](t *runtime.Intercomm, send, recv []T, root int) error {
	return inter(t, "InterGather", checkInter[T](t, root), func(x *crossing) error {
		switch root {
		case Root:
			return take(x, recv, 0)
		case runtime.ProcNull:
			return nil
		}
		all := firstOnly[T](x, len(send)*x.local.Size())
		if err := Gather(x.local, send, all, 0); err != nil || !x.first {
			return err
		}
		return pass(x, all, root)
	})
}

// InterScatter gives the blocks of send of the root, one after the other, to recv of the ranks
// of the other group.
func InterScatter[T any](t *runtime.Intercomm, send, recv []T, root int) error {
	return inter(t, "InterScatter", checkInter[T](t, root), func(x *crossing) error {
		switch root {
		case Root:
			return pass(x, send, 0)
		case runtime.ProcNull:
			return nil
		}
		all := firstOnly[T](x, len(recv)*x.local.Size())
		if x.first {
			if err := take(x, all, root); err != nil {
				return err
			}
		}
		return Scatter(x.local, all, recv, 0)
	})
}

// InterAllGather concatenates send of the ranks of one group in recv of every rank of the other
// one. recv has the length of what the other group sends.
func InterAllGather[T any](t *runtime.Intercomm, send, recv []T) error {
	return inter(t, "InterAllGather", runtime.Element[T](), func(x *crossing) error {
		all := firstOnly[T](x, len(send)*x.local.Size())
		if err := Gather(x.local, send, all, 0); err != nil {
			return err
		}
		if x.first {
			if err := swap(x, all, recv); err != nil {
				return err
			}
		}
		return Bcast(x.local, recv, 0)
	})
}

// InterAllToAll sends block i of send to rank i of the other group, and receives its block for
// this rank in block i of recv. Blocks are as long as the number of ranks of the other group
// divides the buffers.
//
// Algorithm: one message for each pair of ranks; in step i, rank r sends to r + i. Cost:
// max(p, q) (alpha + n beta) for groups of p and q ranks and blocks of n bytes.
func InterAllToAll[T any](t *runtime.Intercomm, send, recv []T) error {
	return inter(t, "InterAllToAll", errors.Join(runtime.Element[T](), checkInterBlocks(t, len(send), len(recv))), func(x *crossing) error {
		others := x.across.Size()
		out, in := len(send)/others, len(recv)/others
		steps := max(others, x.local.Size())
		for step := range steps {
			to, from := (x.rank+step)%steps, (x.rank-step+steps)%steps
			var sent, got []T
			if to < others {
				sent = send[to*out:][:out]
			} else {
				to = runtime.ProcNull
			}
			if from < others {
				got = recv[from*in:][:in]
			} else {
				from = runtime.ProcNull
			}
			st, err := runtime.SendRecv(x.across, sent, to, tagInter, got, from, tagInter)
			if err = receivedAcross(st, len(got), err); err != nil {
				return err
			}
		}
		return nil
	})
}

// crossing is one rank's part in an operation on an Intercomm.
type crossing struct {
	local *runtime.Comm
	// across has the ranks of the other group.
	across *runtime.Comm
	rank   int
	first  bool // of its group
}

// tagInter is that of messages between the groups.
const tagInter = 0

// inter runs an operation whose arguments were checked with this result.
func inter(t *runtime.Intercomm, name string, bad error, run func(*crossing) error) error {
	if t == nil {
		bad = runtime.ErrComm
	}
	if bad == nil {
		bad = t.Err()
	}
	if bad != nil {
		return callsite.At(fmt.Errorf("collectives: %s: %w", name, bad))
	}
	rank := t.Rank()
	if err := run(&crossing{t.Local(), t.Private(), rank, rank == 0}); err != nil {
		t.Break(err)
		return callsite.At(fmt.Errorf("collectives: %s: %w", name, lostWithin(t.Comm, err)))
	}
	return nil
}

// checkInter refuses a root that is none, and elements that cannot be sent.
func checkInter[T any](t *runtime.Intercomm, root int) error {
	if t == nil || root == Root || root == runtime.ProcNull || root >= 0 && root < t.RemoteSize() {
		return runtime.Element[T]()
	}
	return rootError(root, t.RemoteSize())
}

// checkInterBlocks refuses buffers that are not blocks of the same length.
func checkInterBlocks(t *runtime.Intercomm, send, recv int) error {
	if t == nil {
		return nil
	}
	n := t.RemoteSize()
	var err error
	if send%n != 0 {
		err = lengthError("send", send, send/n*n)
	}
	if recv%n != 0 {
		err = errors.Join(err, lengthError("recv", recv, recv/n*n))
	}
	return err
}

// firstOnly allocates a buffer at the first rank of a group.
func firstOnly[T any](x *crossing, n int) []T {
	if !x.first {
		return nil
	}
	return make([]T, n)
}

// pass sends to a rank of the other group, take receives from one, swap does both with the
// first one.
func pass[T any](x *crossing, buf []T, to int) error {
	return runtime.Send(x.across, buf, to, tagInter)
}

func take[T any](x *crossing, buf []T, from int) error {
	st, err := runtime.Recv(x.across, buf, from, tagInter)
	return receivedAcross(st, len(buf), err)
}

func swap[T any](x *crossing, out, in []T) error {
	st, err := runtime.SendRecv(x.across, out, 0, tagInter, in, 0, tagInter)
	return receivedAcross(st, len(in), err)
}

// receivedAcross checks the number of elements.
func receivedAcross(st runtime.Status, want int, err error) error {
	if err == nil && st.Count() != want {
		err = fmt.Errorf("%w: rank %d of the other group sent %d elements, not %d", ErrLength, st.Source, st.Count(), want)
	}
	return err
}
