package collectives

import (
	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
	"github.com/gorun-hpc/gorun/runtime"
)

// InterGather concatenates the slices send of the ranks of the other group, in the order of their ranks, in
// recv of the root.
func InterGather[T any](t *runtime.Intercomm, send, recv []T, root int) error {
	return interGatherCall(t, send, recv, root).wait()
}

// InterIGather starts an InterGather.
func InterIGather[T any](t *runtime.Intercomm, send, recv []T, root int) runtime.Request {
	return interGatherCall(t, send, recv, root).start()
}

// InterGatherInit sets up an InterGather.
func InterGatherInit[T any](t *runtime.Intercomm, send, recv []T, root int) *runtime.Persistent {
	return interGatherCall(t, send, recv, root).persist()
}

func interGatherCall[T any](t *runtime.Intercomm, send, recv []T, root int) *interCall {
	k := onInter[T](t, interGather)
	if !k.from(root) {
		return k
	}
	block := send
	if root == Root {
		block = interBlock(k, "recv", recv)
	}
	k.of(len(kernel.Bytes(block)))
	k.run = func(x *crossing) error {
		if root == Root {
			return take(x, recv, 0)
		}
		all := firstOnly[T](x, len(send)*x.group.Size())
		if err := x.do(gather(new(call), x.group, send, all, 0)); err != nil || !x.first {
			return err
		}
		return pass(x, all, root)
	}
	return k
}
