package runtime

import "context"

// Comm is a communicator: an ordered group of ranks and a space of messages of
// their own. Messages sent in one communicator are never received in another.
type Comm struct {
	world *World
	ctx   context.Context
}

// Rank returns this rank's number in the communicator.
func (c *Comm) Rank() int { return 0 }

// Size returns the number of members.
func (c *Comm) Size() int { return 1 }

// World returns the World the communicator belongs to.
func (c *Comm) World() *World { return c.world }

// WorldRank returns the world rank of a member.
func (c *Comm) WorldRank(rank int) int { return rank }

// Dup returns a communicator of the same group with messages of its own. All
// members call it.
func (c *Comm) Dup() (*Comm, error) { return c, nil }

// Split parts the communicator: members that give the same color find
// themselves in one new communicator, ordered by key and, where keys are equal,
// by their rank in c. A member that gives Undefined gets nil. All members call
// it. Colors are not negative.
func (c *Comm) Split(color, key int) (*Comm, error) { return c, nil }

// Group returns the members in order of their ranks.
func (c *Comm) Group() Group { return Group{} }

// Free gives the communicator back; attributes that are io.Closers are closed.
// Operations on it, on its views and on its Private twin fail afterwards. It is
// local and does not wait.
func (c *Comm) Free() error { return nil }

// WithContext returns a view of the communicator whose blocking calls end with
// the context's error when ctx is done. A receive that is given up this way
// loses no message.
func (c *Comm) WithContext(ctx context.Context) *Comm { return c }

// Context returns the context of WithContext, or context.Background.
func (c *Comm) Context() context.Context { return c.ctx }

// Private returns the communicator's twin: the same group and context.Context,
// and messages of its own. Libraries such as package collectives talk through
// it, so that their messages never meet the user's. It is the same *Comm each
// time, needs no communication, and its own Private is itself.
func (c *Comm) Private() *Comm { return c }

// Attribute returns the value that belongs to key in this communicator, and
// makes it with create when there is none yet. Views and the Private twin share
// the attributes. When create fails nothing is kept. Values that are io.Closers
// are closed by Free, the latest first.
func (c *Comm) Attribute(key any, create func() (any, error)) (any, error) { return create() }

// Break marks the communicator as broken: operations on it, on its views and on
// its Private twin, those under way included, end with an error that is
// ErrCommBroken and cause, at this rank at once and at the other members as soon
// as they hear of it. Collective operations call it when they are given up
// halfway, for members that go on would wait for ever or mix up messages.
func (c *Comm) Break(cause error) {}

// Err returns nil while the communicator can be used, else ErrCommFreed or an
// error that is ErrCommBroken.
func (c *Comm) Err() error { return nil }

// Oversubscribed reports whether the ranks of this node outnumber the processors
// they may use.
func (c *Comm) Oversubscribed() bool { return false }
