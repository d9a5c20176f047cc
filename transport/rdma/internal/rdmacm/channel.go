package rdmacm

import (
	"errors"
	"sync"

	"golang.org/x/sys/unix"
)

// Channel is the queue of the events of its ids (struct rdma_event_channel). It is safe for
// concurrent use.
type Channel struct {
	driver Driver

	// reading guards answer.
	reading sync.Mutex
	answer  [eventSize]byte

	// mu guards the variables below it.
	mu   sync.Mutex
	ids  map[uint64]*ID
	last uint64 // the last uid (see ID.uid); no uid is 0, because the kernel reports no events of an id with uid 0
}

// New makes a channel on a driver. The channel owns the driver: Close closes it.
func New(d Driver) *Channel {
	return &Channel{driver: d, ids: map[uint64]*ID{}}
}

// Descriptor returns a file descriptor that is readable (POLLIN) while Next has an event to
// return. It is valid until Close.
func (c *Channel) Descriptor() int { return c.driver.Descriptor() }

// Create makes an id for a connection or a listener (rdma_create_id(3)). It stores context in
// ID.Context.
func (c *Channel) Create(context any) (*ID, error) {
	id := c.register(context)
	body := words(make([]byte, createSize))
	body.put64(createUID, id.uid)
	body.put16(createSpace, spaceTCP)
	body[createType] = queuePairRC
	answer := words(make([]byte, createdSize))
	err := c.driver.Do(&Command{Number: commandCreate, Body: body, Memory: answer, Pointer: createResponse})
	if err != nil {
		c.forget(id)
		return nil, &Error{Op: "create", Err: err}
	}
	id.number = answer.at32(createdID)
	return id, nil
}

// register makes an ID with a new uid, and adds it to the channel's ids.
func (c *Channel) register(context any) *ID {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last++
	id := &ID{Context: context, channel: c, uid: c.last}
	c.ids[id.uid] = id
	return id
}

// forget removes an ID from the channel's ids. From then on Next drops its events.
func (c *Channel) forget(id *ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.ids, id.uid)
}

// find returns the ID with the given uid, or nil if there is no such ID.
func (c *Channel) find(uid uint64) *ID {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ids[uid]
}

// Next stores the next event in e (rdma_get_cm_event(3)) and returns true. It returns false if
// there is no event. Next does not block. If there is no event, Next costs one system call.
func (c *Channel) Next(e *Event) (bool, error) {
	c.reading.Lock()
	defer c.reading.Unlock()
	if !c.driver.Ready() {
		return false, nil
	}
	var body [nextSize]byte
	for {
		clear(c.answer[:])
		err := c.driver.Do(&Command{Number: commandEvent, Body: body[:], Memory: c.answer[:], Pointer: nextResponse})
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
				_ = e.Request.Destroy() // no caller waits for the error
			}
		}
		if id != nil {
			e.ID = id
			return true, nil
		}
	}
}

// Close ends every id of the channel: the connections break, and the listeners close.
func (c *Channel) Close() error {
	c.mu.Lock()
	clear(c.ids)
	c.mu.Unlock()
	if err := c.driver.Close(); err != nil {
		return &Error{Op: "close", Err: err}
	}
	return nil
}
