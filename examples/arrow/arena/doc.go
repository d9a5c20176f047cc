// Package arena allocates the memory of Apache Arrow in the arena of a rank, so that a record batch
// moves to another rank of the node without a copy. The sender hands over the buffers of the batch. The
// receiver's arrays use the memory in which the sender has built the batch. If the receiver sends the
// batch on, the buffers are copied once, because they are in the arena of another rank.
//
//	a := arena.New(w)
//	builder := array.NewRecordBuilder(a, schema)
//	...
//	err := a.Send(c, builder.NewRecordBatch(), 1, 0)      // at rank 0
//	batch, err := a.Recv(c, schema, 0, 0)                 // at rank 1
//
// The size of the arena limits how much memory Arrow can allocate.
//
// Unstable: any release may change this package, also after v1.
package arena
