package collectives

import (
	"github.com/gorun-hpc/gorun/collectives/internal/kernel"
	"github.com/gorun-hpc/gorun/runtime"
)

// InterReduce combines the slices send of the ranks of the other group, and stores the result in recv of
// the root. If op does not commute, the operands are in the order of the ranks. The ranks of the
// root's group do not use send, and only the root uses recv.
func InterReduce[T any](t *runtime.Intercomm, send, recv []T, op Op, root int) error {
	return interReduceCall(t, send, recv, op, root).wait()
}

// InterIReduce starts an InterReduce.
func InterIReduce[T any](t *runtime.Intercomm, send, recv []T, op Op, root int) runtime.Request {
	return interReduceCall(t, send, recv, op, root).start()
}

// InterReduceInit sets up an InterReduce.
func InterReduceInit[T any](t *runtime.Intercomm, send, recv []T, op Op, root int) *runtime.Persistent {
	return interReduceCall(t, send, recv, op, root).persist()
}

func interReduceCall[T any](t *runtime.Intercomm, send, recv []T, op Op, root int) *interCall {
	k := onInter[T](t, interReduce)
	if !k.from(root) || !withInter[T](k, op) {
		return k
	}
	used := send
	if root == Root {
		used = recv
	}
	k.of(len(kernel.Bytes(used)))
	k.run = func(x *crossing) error {
		if root == Root {
			return take(x, recv, 0)
		}
		all := firstOnly[T](x, len(send))
		if err := x.do(reduce(new(call), x.group, send, all, op, 0)); err != nil || !x.first {
			return err
		}
		return pass(x, all, root)
	}
	return k
}
