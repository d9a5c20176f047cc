package arena

import (
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/gorun-hpc/gorun/runtime"
)

var (
	// ErrSchema is returned by Recv if the batch does not have the schema that Recv was given.
	ErrSchema = errors.New("record batch has another schema")
	// ErrDictionary is returned by Send if a column has a dictionary.
	ErrDictionary = errors.New("columns with a dictionary are not supported")
	// ErrBatch is returned by Recv if the batch does not agree with its description or with the schema.
	ErrBatch = errors.New("malformed record batch")
)

// batch is the message that describes a record batch. Each buffer that is not empty follows in
// a message of its own.
type batch struct {
	Schema  string
	Rows    int64
	Columns []column
}

// column describes one array, and its children.
type column struct {
	Rows, Nulls, Offset int
	// Buffers are the lengths of the buffers in bytes. The length of a nil buffer is the constant
	// none.
	Buffers  []int
	Children []column
}

// none is the length of a buffer that is nil.
const none = -1

// Send sends a record batch and passes the ownership of its memory to the receiver. Afterwards the caller
// must not use rec, or anything that shares memory with rec, except to call Release. Send copies a buffer
// into the arena if the buffer does not begin at the start of an allocation of this allocator. It also copies
// a buffer if an earlier buffer of the batch begins at the start of the same allocation. A buffer in
// the arena of another rank is copied by runtime.SendBuffer. If the error is ErrDictionary, the caller still owns
// the batch.
func (a *Allocator) Send(c *runtime.Comm, rec arrow.RecordBatch, dest, tag int) error {
	b := batch{Schema: rec.Schema().Fingerprint(), Rows: rec.NumRows()}
	var buffers []*memory.Buffer
	for _, col := range rec.Columns() {
		described, err := describe(col.Data(), &buffers)
		if err != nil {
			return err
		}
		b.Columns = append(b.Columns, described)
	}
	given := make([]*runtime.Buffer, 0, len(buffers))
	defer func() {
		for _, left := range given {
			left.Close()
		}
	}()
	// All buffers are taken or copied before the first one is sent, because two buffers may share
	// memory. As soon as a buffer is sent, the receiver owns its memory.
	for _, buffer := range buffers {
		own, err := a.give(buffer.Bytes())
		if err != nil {
			return err
		}
		given = append(given, own)
	}
	if err := runtime.SendValue(c, b, dest, tag); err != nil {
		return err
	}
	for len(given) > 0 {
		if err := runtime.SendBuffer[byte](c, given[0], dest, tag); err != nil {
			return err
		}
		given = given[1:]
	}
	return nil
}

// describe returns the description of an array. It appends those buffers of the array that are not empty to
// buffers.
func describe(d arrow.ArrayData, buffers *[]*memory.Buffer) (column, error) {
	if d.DataType().ID() == arrow.DICTIONARY {
		return column{}, fmt.Errorf("%w: %v", ErrDictionary, d.DataType())
	}
	col := column{Rows: d.Len(), Nulls: d.NullN(), Offset: d.Offset()}
	for _, b := range d.Buffers() {
		if b == nil {
			col.Buffers = append(col.Buffers, none)
			continue
		}
		if b.Len() > 0 {
			*buffers = append(*buffers, b)
		}
		col.Buffers = append(col.Buffers, b.Len())
	}
	for _, child := range d.Children() {
		described, err := describe(child, buffers)
		if err != nil {
			return column{}, err
		}
		col.Children = append(col.Children, described)
	}
	return col, nil
}

// give returns a Buffer that contains the bytes b of an Arrow buffer. It is the Buffer in which b was
// allocated, or a copy.
func (a *Allocator) give(b []byte) (*runtime.Buffer, error) {
	if owned := a.take(b); owned != nil {
		return owned, nil
	}
	copied, err := runtime.Alloc[byte](a.world, len(b))
	if err != nil {
		return nil, err
	}
	copy(copied.Bytes(), b)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.copied += len(b)
	return copied, nil
}

// Recv receives a record batch that Send has sent. The caller must either send the batch on or release it.
// Release returns the memory of the batch to the arena from which it was allocated. source and tag may be
// runtime.AnySource and runtime.AnyTag. If the error is ErrSchema, Recv has received and discarded the batch,
// so that a later call of Recv receives the next batch.
func (a *Allocator) Recv(c *runtime.Comm, schema *arrow.Schema, source, tag int) (arrow.RecordBatch, error) {
	b, status, err := runtime.RecvValue[batch](c, source, tag)
	if err != nil {
		return nil, err
	}
	r := receipt{a: a, comm: c, source: status.Source, tag: status.Tag}
	if b.Schema != schema.Fingerprint() || len(b.Columns) != schema.NumFields() {
		for _, col := range b.Columns {
			r.drop(col)
		}
		return nil, errors.Join(fmt.Errorf("%w: rank %d sends %s, the receiver wants %s", ErrSchema, status.Source, b.Schema, schema.Fingerprint()), r.err)
	}
	columns := make([]arrow.Array, len(b.Columns))
	for i, col := range b.Columns {
		data := r.array(schema.Field(i).Type, col)
		if r.err == nil {
			columns[i], r.err = made(data, b.Rows)
		}
		if data != nil {
			data.Release()
		}
	}
	if r.err == nil {
		defer release(columns)
		return array.NewRecordBatch(schema, columns, b.Rows), nil
	}
	release(columns)
	return nil, fmt.Errorf("record batch from rank %d: %w", status.Source, r.err)
}

// release releases arrays.
func release(all []arrow.Array) {
	for _, one := range all {
		if one != nil {
			one.Release()
		}
	}
}

// made makes an array of data, which must have the given number of rows. Arrow panics if the buffers do not
// fit the type. made recovers from this panic and returns ErrBatch.
func made(data arrow.ArrayData, rows int64) (one arrow.Array, err error) {
	if int64(data.Len()) != rows {
		return nil, fmt.Errorf("%w: a column of %d rows, not %d", ErrBatch, data.Len(), rows)
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", ErrBatch, p)
		}
	}()
	one = array.MakeFromData(data)
	if v, ok := one.(interface{ ValidateFull() error }); ok {
		if err = v.ValidateFull(); err != nil {
			one.Release()
			return nil, fmt.Errorf("%w: %w", ErrBatch, err)
		}
	}
	return one, nil
}

// receipt is the state of one Recv. After an error, it keeps the error and still receives the remaining
// buffers of the batch. Otherwise, the next Recv would take these buffers for its batch.
type receipt struct {
	a           *Allocator
	comm        *runtime.Comm
	source, tag int
	err         error
}

// array receives an array and its children.
func (r *receipt) array(t arrow.DataType, col column) arrow.ArrayData {
	buffers := make([]*memory.Buffer, len(col.Buffers))
	for i, n := range col.Buffers {
		buffers[i] = r.buffer(n)
	}
	var children []arrow.ArrayData
	nested, ok := t.(arrow.NestedType)
	if n := len(col.Children); n > 0 && (!ok || n != len(nested.Fields())) && r.err == nil {
		r.err = fmt.Errorf("%w: %d children of %v", ErrBatch, n, t)
	}
	for i, child := range col.Children {
		if r.err != nil {
			r.drop(child)
			continue
		}
		children = append(children, r.array(nested.Fields()[i].Type, child))
	}
	data := array.NewData(t, col.Rows, buffers, children, col.Nulls, col.Offset)
	for _, b := range buffers {
		if b != nil {
			b.Release() // data has a reference of its own
		}
	}
	for _, child := range children {
		child.Release()
	}
	return data
}

// buffer receives a buffer of n bytes.
func (r *receipt) buffer(n int) *memory.Buffer {
	switch n {
	case none:
		return nil
	case 0:
		return memory.NewBufferBytes([]byte{})
	}
	m, err := runtime.RecvMessage(r.comm, r.source, r.tag)
	if err != nil {
		r.err = errors.Join(r.err, err)
		return nil
	}
	if n < 0 || n > len(m.Bytes()) {
		m.Close()
		r.err = errors.Join(r.err, fmt.Errorf("%w: a buffer of %d bytes, not %d", ErrBatch, m.Status.Bytes, n))
		return nil
	}
	return memory.NewBufferWithAllocator(r.a.own(m.Buffer())[:n], r.a)
}

// drop receives and releases the buffers of a column that is not used.
func (r *receipt) drop(col column) {
	for _, n := range col.Buffers {
		if b := r.buffer(n); b != nil {
			b.Release()
		}
	}
	for _, child := range col.Children {
		r.drop(child)
	}
}
