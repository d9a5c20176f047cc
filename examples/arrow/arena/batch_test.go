package arena_test

import (
	"fmt"
	goruntime "runtime"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/examples/arrow/arena"
	"github.com/gorun-hpc/gorun/runtime"
)

// numbers is a schema with one column that has eight bytes per row.
var numbers = arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}}, nil)

// of builds a batch with n rows of the schema numbers.
func of(a memory.Allocator, n int) arrow.RecordBatch {
	b := array.NewRecordBuilder(a, numbers)
	defer b.Release()
	b.Reserve(n)
	for i := range n {
		b.Field(0).(*array.Int64Builder).Append(int64(i))
	}
	return b.NewRecordBatch()
}

// TestBatchIsNotCopied checks that the receiver reads the numbers at the address at which the
// sender wrote them, and that neither rank allocates memory for them. After the release, the
// receiver's allocator must have no Buffer left.
func TestBatchIsNotCopied(t *testing.T) {
	const rows = 64 << 20 / 8
	addresses := make(chan string, 1)
	var before, after goruntime.MemStats
	require.NoError(t, runtime.Local(2, func(w *runtime.World) error {
		a, c := arena.New(w), w.Comm()
		if c.Rank() == 0 {
			batch := of(a, rows)
			addresses <- fmt.Sprintf("%p", batch.Column(0).(*array.Int64).Int64Values())
			goruntime.ReadMemStats(&before)
			if err := a.Send(c, batch, 1, 0); err != nil {
				return err
			}
			batch.Release()
			if a.Owned() != 0 || a.Copied() != 0 {
				return fmt.Errorf("%d pieces left, %d bytes copied", a.Owned(), a.Copied())
			}
			_, err := runtime.Recv(c, make([]byte, 1), 1, 1)
			return err
		}
		batch, err := a.Recv(c, numbers, 0, 0)
		if err != nil {
			return err
		}
		goruntime.ReadMemStats(&after)
		values := batch.Column(0).(*array.Int64).Int64Values()
		if want, got := <-addresses, fmt.Sprintf("%p", values); got != want || len(values) != rows || values[rows-1] != rows-1 {
			return fmt.Errorf("%d values at %s, not %d at %s", len(values), got, rows, want)
		}
		batch.Release()
		if a.Owned() != 0 {
			return fmt.Errorf("%d pieces are left", a.Owned())
		}
		return runtime.Send(c, []byte{1}, 0, 1)
	}))
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(32<<20), "a copy takes 64 MiB")
}

// rich returns a schema with columns of several layouts (bits, text, lists and structs), which may contain nulls.
func rich() *arrow.Schema {
	return arrow.NewSchema([]arrow.Field{
		{Name: "flag", Type: arrow.FixedWidthTypes.Boolean, Nullable: true},
		{Name: "text", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "list", Type: arrow.ListOf(arrow.PrimitiveTypes.Int32), Nullable: true},
		{Name: "pair", Type: arrow.StructOf(arrow.Field{Name: "a", Type: arrow.PrimitiveTypes.Float32}, arrow.Field{Name: "b", Type: arrow.BinaryTypes.String}), Nullable: true},
	}, nil)
}

func richBatch(a memory.Allocator, rows int) arrow.RecordBatch {
	b := array.NewRecordBuilder(a, rich())
	defer b.Release()
	for i := range rows {
		if i%5 == 4 {
			for _, f := range b.Fields() {
				f.AppendNull()
			}
			continue
		}
		b.Field(0).(*array.BooleanBuilder).Append(i%2 == 0)
		b.Field(1).(*array.StringBuilder).Append(fmt.Sprint("row ", i))
		list := b.Field(2).(*array.ListBuilder)
		list.Append(true)
		for k := range i % 3 {
			list.ValueBuilder().(*array.Int32Builder).Append(int32(k))
		}
		pair := b.Field(3).(*array.StructBuilder)
		pair.Append(true)
		pair.FieldBuilder(0).(*array.Float32Builder).Append(float32(i))
		pair.FieldBuilder(1).(*array.StringBuilder).Append("b")
	}
	return b.NewRecordBatch()
}

// TestBatchesGoRound checks that slices of batches with columns of several layouts, in arena memory and in Go's
// memory, arrive unchanged over each transport and can be sent on. All memory must be returned.
func TestBatchesGoRound(t *testing.T) {
	for _, transport := range []string{"shm", "rdma"} {
		for _, rows := range []int{0, 1, 9, 1000} {
			t.Run(fmt.Sprintf("%d by %s", rows, transport), func(t *testing.T) {
				t.Setenv("GORUN_TRANSPORT", transport)
				require.NoError(t, runtime.Local(3, func(w *runtime.World) error { return goRound(w, rows) }))
			})
		}
	}
}

func goRound(w *runtime.World, rows int) error {
	a, c := arena.New(w), w.Comm()
	for _, from := range []memory.Allocator{a, memory.DefaultAllocator} {
		want := richBatch(memory.DefaultAllocator, rows)
		sliced := want.NewSlice(int64(rows/3), int64(rows))
		if c.Rank() == 0 {
			batch := richBatch(from, rows)
			part := batch.NewSlice(int64(rows/3), int64(rows))
			if err := a.Send(c, part, 1, 0); err != nil {
				return err
			}
			part.Release()
			batch.Release()
			batch, err := a.Recv(c, rich(), 2, 0)
			if err != nil {
				return err
			}
			if !array.RecordEqual(sliced, batch) {
				return fmt.Errorf("sent %v, came back as %v", sliced, batch)
			}
			batch.Release()
		} else {
			batch, err := a.Recv(c, rich(), runtime.AnySource, runtime.AnyTag)
			if err != nil {
				return err
			}
			if !array.RecordEqual(sliced, batch) {
				return fmt.Errorf("sent %v, received %v", sliced, batch)
			}
			if err := a.Send(c, batch, (c.Rank()+1)%3, 0); err != nil {
				return err
			}
			batch.Release()
		}
		if a.Owned() != 0 {
			return fmt.Errorf("rank %d has %d pieces left", c.Rank(), a.Owned())
		}
	}
	return nil
}

// TestColumnsThatShareMemory checks that columns that share memory arrive unchanged, whatever the
// receiver does with the first of them.
func TestColumnsThatShareMemory(t *testing.T) {
	const rows = 10_000
	require.NoError(t, runtime.Local(2, func(w *runtime.World) error {
		a, c := arena.New(w), w.Comm()
		one := of(a, rows)
		column := one.Column(0)
		schema := arrow.NewSchema([]arrow.Field{{Name: "a", Type: column.DataType()}, {Name: "b", Type: column.DataType()}}, nil)
		twice := array.NewRecordBatch(schema, []arrow.Array{column, column}, rows)
		defer one.Release()
		if c.Rank() == 0 {
			err := a.Send(c, twice, 1, 0)
			twice.Release()
			require.NoError(t, err)
			require.GreaterOrEqual(t, a.Copied(), 8*rows)
			require.Less(t, a.Copied(), 16*rows, "one of the two is handed over")
			return nil
		}
		defer twice.Release()
		got, err := a.Recv(c, schema, 0, 0)
		require.NoError(t, err)
		first := got.Column(0).(*array.Int64).Int64Values()
		clear(first)
		require.True(t, array.Equal(column, got.Column(1)))
		got.Release()
		return nil
	}))
}

// TestBatchOfAnotherSchema checks that a batch of another schema is refused as a whole, and that the next
// batch arrives. Send must refuse a batch with a dictionary.
func TestBatchOfAnotherSchema(t *testing.T) {
	require.NoError(t, runtime.Local(2, func(w *runtime.World) error {
		a, c := arena.New(w), w.Comm()
		if c.Rank() == 0 {
			words := array.NewDictionaryBuilder(a, &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String})
			defer words.Release()
			column := words.NewArray()
			defer column.Release()
			schema := arrow.NewSchema([]arrow.Field{{Name: "word", Type: column.DataType()}}, nil)
			if err := a.Send(c, array.NewRecordBatch(schema, []arrow.Array{column}, 0), 1, 0); err == nil {
				return fmt.Errorf("a dictionary was sent")
			}
			if err := a.Send(c, richBatch(a, 10), 1, 0); err != nil {
				return err
			}
			return a.Send(c, of(a, 3), 1, 0)
		}
		_, err := a.Recv(c, numbers, 0, 0)
		require.ErrorIs(t, err, arena.ErrSchema)
		require.ErrorContains(t, err, "rank 0")
		batch, err := a.Recv(c, numbers, 0, 0)
		require.NoError(t, err)
		require.EqualValues(t, 3, batch.NumRows())
		batch.Release()
		require.Zero(t, a.Owned())
		return nil
	}))
}

// TestAllocator checks that memory that grows keeps its contents, that Free ignores memory that the allocator does not
// own, and that Allocate panics if the arena is too small.
func TestAllocator(t *testing.T) {
	require.NoError(t, runtime.Local(1, func(w *runtime.World) error {
		a := arena.New(w)
		b := a.Allocate(100)
		require.Len(t, b, 100)
		copy(b, "hello")
		b = a.Reallocate(10_000, b)
		require.Equal(t, "hello", string(b[:5]))
		require.Equal(t, make([]byte, 100), b[5:105])
		require.Len(t, a.Reallocate(50, b), 50)
		require.Equal(t, 1, a.Owned())
		a.Free(b)
		a.Free(b)
		a.Free([]byte("not its own"))
		a.Free(a.Reallocate(7, a.Allocate(0)))
		require.Zero(t, a.Owned())
		require.PanicsWithError(t, "x", func() {
			defer func() {
				require.ErrorContains(t, recover().(error), "arrow: allocate")
				panic(fmt.Errorf("x"))
			}()
			a.Allocate(1 << 50)
		})
		return nil
	}))
}
