package collectives_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

// If GORUN_EXPLAIN is 1, Choices returns the algorithms that were chosen on all communicators of the
// World. The list has one line for each rule that operations have used. Otherwise Choices returns nothing.
func TestChoices(t *testing.T) {
	for _, asked := range []string{"1", ""} {
		t.Setenv("GORUN_EXPLAIN", asked)
		world(t, 2, func(c *runtime.Comm) error {
			dup, err := c.Dup()
			if err != nil {
				return err
			}
			for _, c := range []*runtime.Comm{c, dup, c} {
				err = errors.Join(err, collectives.Bcast(c, make([]int64, 2), 0), collectives.Barrier(c))
			}
			_, broken := collectives.IBcast(c, make([]int64, 3), 0).Wait()
			told, bad := collectives.Choices(dup)
			if err := errors.Join(err, collectives.Bcast(c, make([]int64, 1), 0), broken, bad); err != nil || asked == "" {
				assert.Empty(t, told)
				return err
			}
			if assert.Len(t, told, 3) {
				assert.Regexp(t, `^collectives: 3 x barrier of 0 bytes: node-\w+ \(one `, told[0])
				assert.Equal(t, "collectives: 3 x bcast of 16 bytes: node-small (data and flag are in one cache line)", told[1])
				assert.Equal(t, "collectives: 1 x bcast of 24 bytes: k-nomial (short and few ranks: root sends to every rank)", told[2])
			}
			told, err = collectives.Choices(c)
			assert.Contains(t, told, "collectives: 4 x bcast of 8 to 16 bytes: node-small (data and flag are in one cache line)")
			return err
		})
	}
}

// If GORUN_EXPLAIN is 1 and the communicator of the World, which keeps the choices, is broken, operations on other
// communicators succeed, whether these were used before the break or not.
func TestChoicesWithoutTheWorld(t *testing.T) {
	t.Setenv("GORUN_EXPLAIN", "1")
	world(t, 2, func(c *runtime.Comm) error {
		before, err := c.Dup()
		if err != nil {
			return err
		}
		after, err := c.Dup()
		if err = errors.Join(err, collectives.Barrier(before)); err != nil {
			return err
		}
		c.Break(errors.New("broken by the test"))
		return errors.Join(collectives.Barrier(after), collectives.Barrier(before))
	})
}
