package pmi

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// Client is the connection of one process to its launcher. Its methods are called from one goroutine at a
// time, except that Abort may be called during Wait.
type Client struct {
	conn io.ReadWriteCloser
	in   *bufio.Reader
	kvs  string // name of the job's key-value store
}

// ValueBytesMax is the largest length of a value in bytes. MPICH's mpiexec truncates longer values without an
// error.
const ValueBytesMax = 1000

// New returns the client of a stream. The client owns the stream.
func New(conn io.ReadWriteCloser) *Client {
	return &Client{conn: conn, in: bufio.NewReaderSize(conn, lineBytesMax)}
}

// Identify tells the launcher the ID of this process, and returns the rank and the size of the job from the
// launcher's answer. Identify is necessary only if the process did not inherit the stream from the launcher,
// but opened it.
func (c *Client) Identify(id string) (rank, size int, err error) {
	m, err := c.ask("initack", "initack", "pmiid", id)
	for err == nil && m.fields["debug"] == "" {
		if v := m.fields["size"]; v != "" {
			size, err = strconv.Atoi(v)
		} else if v := m.fields["rank"]; v != "" {
			rank, err = strconv.Atoi(v)
		}
		if err == nil {
			m, err = c.receive()
		}
	}
	if err == nil && (size < 1 || rank < 0 || rank >= size) {
		err = fmt.Errorf("PMI: rank %d of %d: %w", rank, size, ErrMalformed)
	}
	return rank, size, err
}

// Init agrees with the launcher on version 1.1 of the protocol and gets the name of the key-value store.
func (c *Client) Init() error {
	m, err := c.ask("init", "response_to_init", "pmi_version", "1", "pmi_subversion", "1")
	if err == nil && m.fields["rc"] != "0" {
		err = fmt.Errorf("PMI: the launcher refuses version 1.1: it speaks %s.%s", m.fields["pmi_version"], m.fields["pmi_subversion"])
	}
	if err == nil {
		m, err = c.ask("get_my_kvsname", "my_kvsname")
	}
	if err == nil && m.fields["kvsname"] == "" {
		err = fmt.Errorf("PMI: the store has no name: %w", ErrMalformed)
	}
	c.kvs = m.fields["kvsname"]
	return err
}

// Put stores a value, which other processes can get after the next Barrier.
func (c *Client) Put(key, value string) error {
	if len(value) > ValueBytesMax {
		return fmt.Errorf("PMI: value of %d bytes: at most %d", len(value), ValueBytesMax)
	}
	m, err := c.ask("put", "put_result", "kvsname", c.kvs, "key", key, "value", value)
	return outcome(m, err)
}

// Barrier returns when all processes have called it.
func (c *Client) Barrier() error {
	m, err := c.ask("barrier_in", "barrier_out")
	return outcome(m, err)
}

// Get returns the value that a process has stored under a key.
func (c *Client) Get(key string) (string, error) {
	m, err := c.ask("get", "get_result", "kvsname", c.kvs, "key", key)
	return m.fields["value"], outcome(m, err)
}

// Finalize leaves the job and closes the stream. If a process ends without Finalize, the launcher treats the
// end as a failure.
func (c *Client) Finalize() error {
	_, err := c.ask("finalize", "finalize_ack")
	return errors.Join(err, c.conn.Close())
}

// Wait waits for the launcher. If the launcher ends the connection, Wait returns the error. If the launcher
// sends bytes without a request, Wait returns nil. Until Wait returns, only Abort may be called.
func (c *Client) Wait() error {
	_, err := c.in.Peek(1)
	return err
}

// Abort asks the launcher to end all processes. The launcher does not answer.
func (c *Client) Abort(code int) error {
	line, err := format("abort", "exitcode", strconv.Itoa(code))
	if err == nil {
		_, err = io.WriteString(c.conn, line)
	}
	return err
}

// outcome returns err if it is not nil. Otherwise, if the answer has a result code other than 0, outcome
// returns an error with that code.
func outcome(m message, err error) error {
	if rc := m.fields["rc"]; err == nil && rc != "" && rc != "0" {
		return fmt.Errorf("PMI: %s: code %s: %s", m.command, rc, m.fields["msg"])
	}
	return err
}

// ask sends a request and receives its answer. The command of the answer must be the value of the parameter
// answer. fields are alternately names and values.
func (c *Client) ask(command, answer string, fields ...string) (message, error) {
	line, err := format(command, fields...)
	if err != nil {
		return message{}, err
	}
	if _, err := io.WriteString(c.conn, line); err != nil {
		return message{}, fmt.Errorf("PMI: %s: %w", command, err)
	}
	m, err := c.receive()
	if err != nil {
		return m, fmt.Errorf("%s: %w", command, err)
	}
	if m.command != answer {
		return m, fmt.Errorf("PMI: answer %q to %s: %w", m.command, command, ErrMalformed)
	}
	return m, nil
}

// receive reads and parses a line.
func (c *Client) receive() (message, error) {
	line, err := c.in.ReadSlice('\n')
	if errors.Is(err, io.EOF) && len(line) > 0 {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return message{}, fmt.Errorf("PMI: the launcher's answer: %w", err)
	}
	return parse(string(line[:len(line)-1]))
}
