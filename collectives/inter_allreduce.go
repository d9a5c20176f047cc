package collectives

import (
	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
	"github.com/gorun-hpc/gorun/runtime"
)

// InterAllReduce combines the slices send of the ranks of each group in recv of every rank of the other
// group. All buffers must have the same length.
func InterAllReduce[T any](t *runtime.Intercomm, send, recv []T, op Op) error {
	return interAllReduceCall(t, send, recv, op).wait()
}

// InterIAllReduce starts an InterAllReduce.
func InterIAllReduce[T any](t *runtime.Intercomm, send, recv []T, op Op) runtime.Request {
	return interAllReduceCall(t, send, recv, op).start()
}

// InterAllReduceInit sets up an InterAllReduce.
func InterAllReduceInit[T any](t *runtime.Intercomm, send, recv []T, op Op) *runtime.Persistent {
	return interAllReduceCall(t, send, recv, op).persist()
}

func interAllReduceCall[T any](t *runtime.Intercomm, send, recv []T, op Op) *interCall {
	k := onInter[T](t, interAllReduce)
	if k.err == nil && len(send) != len(recv) {
		k.err = lengthError("recv", len(recv), len(send))
	}
	interDisjoint(k, send, recv)
	if k.err != nil || !withInter[T](k, op) {
		return k
	}
	k.of(len(kernel.Bytes(send)))
	k.run = func(x *crossing) error {
		all := firstOnly[T](x, len(send))
		if err := x.do(reduce(new(call), x.group, send, all, op, 0)); err != nil {
			return err
		}
		if x.first {
			if err := swap(x, all, recv); err != nil {
				return err
			}
		}
		return x.do(bcast(new(call), x.group, recv, 0))
	}
	return k
}
