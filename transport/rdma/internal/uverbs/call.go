package uverbs

import "fmt"

// call carries out the command q and stores its answer in a. The argument tell is the input for the
// kernel's driver; call appends it to the command. The kernel's driver appends its own part to the
// answer, and call stores this part in the argument driver, which has the length of the part.
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

// setHeader writes the header of a command, whose bytes are in the argument in. The argument out is
// the length of the answer in bytes.
func setHeader(in []byte, number uint32, out int) {
	*at[header](in, 0) = header{command: number, inWords: uint16(len(in) / 4), outWords: uint16(out / 4)}
}

// err wraps the error of an operation. It returns nil for nil.
func (c *Context) err(op string, err error) error {
	if err == nil {
		return nil
	}
	return &Error{Op: op, Device: c.Device.Name, Err: err}
}

// nonsense returns an ErrAnswer with the reason.
func nonsense(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrAnswer}, args...)...)
}
