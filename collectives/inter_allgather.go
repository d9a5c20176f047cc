package collectives

import (
	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
	"github.com/gorun-hpc/gorun/runtime"
)

// InterAllGather concatenates the slices send of the ranks of each group in recv of every rank of
// the other group. recv must be as long as the slices send of all ranks of the other group together.
func InterAllGather[T any](t *runtime.Intercomm, send, recv []T) error {
	return interAllGatherCall(t, send, recv).wait()
}

// InterIAllGather starts an InterAllGather.
func InterIAllGather[T any](t *runtime.Intercomm, send, recv []T) runtime.Request {
	return interAllGatherCall(t, send, recv).start()
}

// InterAllGatherInit sets up an InterAllGather.
func InterAllGatherInit[T any](t *runtime.Intercomm, send, recv []T) *runtime.Persistent {
	return interAllGatherCall(t, send, recv).persist()
}

func interAllGatherCall[T any](t *runtime.Intercomm, send, recv []T) *interCall {
	k := onInter[T](t, interAllGather)
	if k.err != nil {
		return k
	}
	k.ofBlocks(len(kernel.Bytes(send)), len(kernel.Bytes(interBlock(k, "recv", recv))))
	interDisjoint(k, send, recv)
	k.run = func(x *crossing) error {
		all := firstOnly[T](x, len(send)*x.group.Size())
		if err := x.do(gather(new(call), x.group, send, all, 0)); err != nil {
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
