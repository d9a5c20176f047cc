package collectives

import (
	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
	"github.com/gorun-hpc/gorun/runtime"
)

// InterAllToAll sends block i of send to rank i of the other group. Block i of recv receives the block
// that rank i of the other group sends to this rank. send and recv each have one block for each rank of
// the other group. The blocks of a buffer have the same length.
//
// Algorithm: one message in each direction for each pair of ranks. In step i, rank r sends to rank r +
// i of the other group, modulo the size of the larger group. Cost: max(p, q) (alpha + n beta) for
// groups of p and q ranks and blocks of n bytes. alpha is the time per message, and beta is the time
// per byte.
func InterAllToAll[T any](t *runtime.Intercomm, send, recv []T) error {
	return interAllToAllCall(t, send, recv).wait()
}

// InterIAllToAll starts an InterAllToAll.
func InterIAllToAll[T any](t *runtime.Intercomm, send, recv []T) runtime.Request {
	return interAllToAllCall(t, send, recv).start()
}

// InterAllToAllInit sets up an InterAllToAll.
func InterAllToAllInit[T any](t *runtime.Intercomm, send, recv []T) *runtime.Persistent {
	return interAllToAllCall(t, send, recv).persist()
}

func interAllToAllCall[T any](t *runtime.Intercomm, send, recv []T) *interCall {
	k := onInter[T](t, interAllToAll)
	if k.err != nil {
		return k
	}
	out, in := len(interBlock(k, "send", send)), len(interBlock(k, "recv", recv))
	interDisjoint(k, send, recv)
	k.ofBlocks(out*kernel.SizeOf[T](), in*kernel.SizeOf[T]())
	k.run = func(x *crossing) error {
		others := x.size
		steps := max(others, x.group.Size())
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
			if err := exchange(x, sent, to, got, from); err != nil {
				return err
			}
		}
		return nil
	}
	return k
}
