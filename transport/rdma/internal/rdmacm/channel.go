package rdmacm

import (
	"errors"
	"sync"

	"golang.org/x/sys/unix"
)

// Channel is where the events of its ids arrive (struct rdma_event_channel). It is safe
// for concurrent use.
type Channel struct {
	driver Driver

	// reading guards answer.
	reading sync.Mutex
	answer  [eventSize]byte

	// mu guards the variables below it.
	mu   sync.Mutex
	ids  map[uint64]*ID
	last uint64 // uid; 0 is none, and the kernel reports no events of an id with uid 0
}

// New makes a channel of a driver, which it owns.
func New(d Driver) *Channel {
	return &Channel{driver: d, ids: map[uint64]*ID{}}
}

// Descriptor is readable (POLLIN) while Next has something to return. It is valid until
// Close.
func (c *Channel) Descriptor() int { return c.driver.Descriptor() }

// Create makes an id for a connection or a listener (rdma_create_id(3)). The context is
// what ID.Context is.
func (c *Channel) Create(context any) (*ID, error) {
	id := c.register(context)
	body := words(make([]byte, createSize))
	body.put64(createUID, id.uid)
	body.put16(createSpace, spaceTCP)
	body[createType] = queuePairRC
	answer := words(make([]byte, createdSize))
	err := c.driver.Do(&Command{Number: commandCreate, Body: body, Memory: answer, Pointer: createResponse, Answers: true})
	if err != nil {
		c.forget(id)
		return nil, &Error{Op: "create", Err: err}
	}
	id.number = answer.at32(createdID)
	return id, nil
}

// register makes an ID with a uid of its own.
func (c *Channel) register(context any) *ID {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last++
	id := &ID{Context: context, channel: c, uid: c.last}
	c.ids[id.uid] = id
	return id
}

// forget makes the events of an ID be dropped.
func (c *Channel) forget(id *ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.ids, id.uid)
}

// find returns the ID of an event, or nil.
func (c *Channel) find(uid uint64) *ID {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ids[uid]
}

// Next returns the next event (rdma_get_cm_event(3)), or false if there is none. It does
// not wait, and costs one system call when there is none.
func (c *Channel) Next(e *Event) (bool, error) {
	c.reading.Lock()
	defer c.reading.Unlock()
	if !c.driver.Ready() {
		return false, nil
	}
	var body [nextSize]byte
	for {
		clear(c.answer[:])
		err := c.driver.Do(&Command{Number: commandEvent, Body: body[:], Memory: c.answer[:], Pointer: nextResponse, Answers: true})
		switch {
		case errors.Is(err, unix.EAGAIN):
			return false, nil
		case err != nil:
			return false, &Error{Op: "get event", Err: err}
		}
		answer := words(c.answer[:])
		e.decode(answer)
		id := c.find(answer.at64(eventUID))
		if e.Kind == ConnectRequest {
			e.Request = c.register(nil)
			e.Request.number = answer.at32(eventID)
			if id == nil {
				_, _ = e.Request.Destroy() // nobody is there to tell
			}
		}
		if id != nil {
			e.ID = id
			return true, nil
		}
	}
}

// Close ends every id of the channel: connections break, listeners close.
func (c *Channel) Close() error {
	c.mu.Lock()
	clear(c.ids)
	c.mu.Unlock()
	if err := c.driver.Close(); err != nil {
		return &Error{Op: "close", Err: err}
	}
	return nil
}
