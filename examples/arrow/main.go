// Command arrow builds a record batch of Apache Arrow at rank 0, which sends it to rank 1. Each further rank reads the
// batch and passes it on to the next rank. Package arena allocates Arrow's memory in a rank's arena, which all ranks of
// the node can read. For this reason, rank 0 sends to a rank of its node only the offset of the memory, and the batch
// is not copied. A rank that has received the batch in this way copies it to its own arena before it sends it on,
// because the memory belongs to another rank.
//
//	gorun -np 2 . -mib 64
package main

import (
	"flag"
	"fmt"
	goruntime "runtime"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/gorun-hpc/gorun/examples/arrow/arena"
	"github.com/gorun-hpc/gorun/runtime"
)

func main() {
	mib := flag.Int("mib", 64, "`size` of the batch in MiB")
	flag.Parse()
	runtime.Main(func(w *runtime.World) error { return run(w, *mib) })
}

// schema is the schema of the batch: a row has 16 bytes.
var schema = arrow.NewSchema([]arrow.Field{
	{Name: "key", Type: arrow.PrimitiveTypes.Int64},
	{Name: "value", Type: arrow.PrimitiveTypes.Float64},
}, nil)

// run makes the batch at rank 0, and receives it at the other ranks, which print a sum over its rows. Each rank
// sends the batch to the next rank.
func run(w *runtime.World, mib int) error {
	a, c := arena.New(w), w.Comm()
	if c.Rank() == 0 {
		batch := build(a, max(mib, 1)<<16)
		defer batch.Release()
		return a.Send(c, batch, next(c), 0)
	}
	before := allocated()
	batch, err := a.Recv(c, schema, c.Rank()-1, 0)
	if err != nil {
		return err
	}
	defer batch.Release()
	keys, values := batch.Column(0).(*array.Int64), batch.Column(1).(*array.Float64)
	sum := 0.0
	for i, k := range keys.Int64Values() {
		sum += float64(k) * values.Value(i)
	}
	fmt.Printf("rank %d: %d rows, sum %g, %d KiB allocated\n", c.Rank(), batch.NumRows(), sum, (allocated()-before)>>10)
	return a.Send(c, batch, next(c), 0)
}

// next returns the next rank, or runtime.ProcNull at the last rank.
func next(c *runtime.Comm) int {
	if c.Rank() == c.Size()-1 {
		return runtime.ProcNull
	}
	return c.Rank() + 1
}

// build makes a batch of n rows in memory that a allocates.
func build(a *arena.Allocator, n int) arrow.RecordBatch {
	b := array.NewRecordBuilder(a, schema)
	defer b.Release()
	b.Reserve(n)
	keys, values := b.Field(0).(*array.Int64Builder), b.Field(1).(*array.Float64Builder)
	for i := range n {
		keys.UnsafeAppend(int64(i))
		values.UnsafeAppend(0.5)
	}
	return b.NewRecordBatch()
}

// allocated returns how many bytes have been allocated on Go's heap since the program began.
func allocated() uint64 {
	var m goruntime.MemStats
	goruntime.ReadMemStats(&m)
	return m.TotalAlloc
}
