package uverbs

import "fmt"

// call carries out a command with an answer, to which the driver adds a part of its own:
// driver is for that part, and for what the driver is told.
func call[Q, A any](c *Context, op string, number uint32, q *Q, a *A, tell, driver []byte) error {
	size := sizeOf[A]()
	in := append(append(make([]byte, 0, sizeOf[Q]()+len(tell)), bytesOf(q)...), tell...)
	out := make([]byte, size+len(driver))
	setHeader(in, number, len(out))
	if err := c.kernel.command(in, out); err != nil {
		return c.err(op, err)
	}
	copy(bytesOf(a), out)
	copy(driver, out[size:])
	return nil
}

// tellKernel carries out a command without an answer.
func tellKernel[Q any](c *Context, op string, number uint32, q *Q) error {
	in := append([]byte(nil), bytesOf(q)...)
	setHeader(in, number, 0)
	if err := c.kernel.command(in, nil); err != nil {
		return c.err(op, err)
	}
	return nil
}

// setHeader fills in the header of a command.
func setHeader(in []byte, number uint32, out int) {
	*at[header](in, 0) = header{command: number, inWords: uint16(len(in) / 4), outWords: uint16(out / 4)}
}

// err is an error of an operation, nil for none.
func (c *Context) err(op string, err error) error {
	if err == nil {
		return nil
	}
	return &Error{Op: op, Device: c.Device.Name, Err: err}
}

// nonsense is an ErrAnswer with the reason.
func nonsense(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrAnswer}, args...)...)
}
