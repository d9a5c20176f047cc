package collectives_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

// measured is a table with ranges, numbers, a comment, and an algorithm that cannot serve the call.
const measured = `
# operation ranks per node bytes algorithm
allreduce  3    *    64   recursive-doubling
allreduce  2-4  1-3  128  ring   # up to 128
allreduce  4-*  *    *    ring
bcast      *    *    *    two-level
bcast      *    *    *    chain
`

func parsed(t *testing.T, text string) *collectives.Table {
	t.Helper()
	table, err := collectives.ParseTable(strings.NewReader(text))
	require.NoError(t, err)
	return table
}

// A table given to Tune chooses the algorithm of the first line that matches the call. GORUN_COLL has
// priority over the table. Without a table or a matching line, the built-in choice applies.
func TestTuneChooses(t *testing.T) {
	table := parsed(t, strings.Replace(measured, "4-*", "4-99", 1))
	then := collectives.Func(compose, false)
	world(t, 3, func(c *runtime.Comm) error {
		check := func(op string, bytes int, want string) error {
			if got, err := collectives.Choice(c, op, bytes); err != nil || got != want {
				return fmt.Errorf("%s of %d bytes is %q, not %s: %w", op, bytes, got, want, err)
			}
			return nil
		}
		builtIn, err := collectives.Choice(c, "allreduce", 64)
		if err != nil {
			return err
		}
		if err := collectives.Tune(c, table); err != nil {
			return err
		}
		for bytes, want := range map[int]string{64: "recursive-doubling", 65: "ring", 128: "ring", 129: builtIn} {
			if err := check("allreduce", bytes, want); err != nil {
				return err
			}
		}
		// The ranks share a node, so that the algorithm two-level of the first matching line cannot
		// serve the call. The next line of the table is not tried.
		if got, err := collectives.Choice(c, "bcast", 8); err != nil || got == "two-level" || got == "chain" {
			return fmt.Errorf("bcast is %q: %w", got, err)
		}
		if got := collectives.Explain(c, "allreduce", 64); !strings.Contains(got, "recursive-doubling (the fastest in the table") {
			return fmt.Errorf("%q", got)
		}
		if err := rootless(c, 7, then); err != nil {
			return err
		}
		if err := collectives.Override(c, "allreduce=rabenseifner"); err != nil {
			return err
		}
		if err := check("allreduce", 64, "rabenseifner"); err != nil {
			return err
		}
		if err := collectives.Override(c, ""); err != nil {
			return err
		}
		if err := collectives.Tune(c, nil); err != nil {
			return err
		}
		return check("allreduce", 64, builtIn)
	})
}

// A table applies from the next call on, even if that call has the same arguments as the call before. The operator is
// not associative, so that each algorithm gives another result.
func TestTuneCountsAtOnce(t *testing.T) {
	odd := collectives.Func(func(a, b uint64) uint64 { return 3*a + 5*b + 1 }, true)
	world(t, 5, func(c *runtime.Comm) error {
		var results [2][2][7]uint64 // on one communicator, and on a new one for each table
		for i, name := range []string{"recursive-doubling", "ring"} {
			table := parsed(t, "allreduce * * * "+name)
			fresh, err := c.Dup()
			if err != nil {
				return err
			}
			for k, on := range []*runtime.Comm{c, fresh} {
				send, recv := [7]uint64{uint64(c.Rank())}, results[i][k][:]
				if err := errors.Join(collectives.Tune(on, table), collectives.AllReduce(on, send[:], recv, odd)); err != nil {
					return err
				}
			}
		}
		assert.NotEqual(t, results[0][1], results[1][1])
		assert.Equal(t, results[0][1], results[0][0])
		assert.Equal(t, results[1][1], results[1][0])
		return nil
	})
}

// A nonblocking operation uses the table of its start, although Tune sets another table before the
// operation ends.
func TestTuneBesideAStartedOperation(t *testing.T) {
	tables := [2]*collectives.Table{parsed(t, "allreduce * * * recursive-doubling"), parsed(t, "allreduce * * * ring")}
	t.Setenv("GORUN_EXPLAIN", "1")
	world(t, 3, func(c *runtime.Comm) error {
		for i := range 200 {
			send, recv := make([]int64, 1+i%2), make([]int64, 1+i%2)
			err := collectives.Tune(c, tables[i%2])
			r := collectives.IAllReduce(c, send, recv, collectives.Sum)
			if err := errors.Join(err, collectives.Tune(c, tables[1-i%2]), waited(r)); err != nil {
				return err
			}
		}
		told, err := collectives.Choices(c)
		if assert.Len(t, told, 2) {
			assert.Contains(t, told[0], "collectives: 100 x allreduce of 8 bytes: recursive-doubling")
			assert.Contains(t, told[1], "collectives: 100 x allreduce of 16 bytes: ring")
		}
		return err
	})
}

// Any goroutine may call Explain and Choice while another goroutine is in Tune, or in the first operations. In these
// operations the members find out where they are and which copies are faster. The race detector would report a race.
func TestExplainBesideOperations(t *testing.T) {
	table := parsed(t, "bcast * * * chain")
	for _, size := range []int{2, 4} {
		world(t, size, func(c *runtime.Comm) error {
			if err := collectives.InDomains(c, []int{0, 0, 1, 1}[:size]); err != nil {
				return err
			}
			done, ended := make(chan bool), make(chan error)
			go func() {
				for {
					select {
					case <-done:
						ended <- nil
						return
					default:
					}
					_, err := collectives.Choice(c, "bcast", 1<<20)
					if told := collectives.Explain(c, "bcast", 1<<20); err != nil || !strings.HasPrefix(told, "bcast of ") {
						ended <- fmt.Errorf("%q: %w", told, err)
						return
					}
				}
			}()
			err := errors.Join(collectives.Barrier(c), collectives.Bcast(c, make([]byte, 1<<20), 0),
				collectives.Tune(c, table), collectives.Barrier(c))
			close(done)
			return errors.Join(err, <-ended)
		})
	}
}

// In a table, the number of ranks is the size of the communicator. The number of ranks per node is the
// largest number of members on one node.
func TestTuneByRanksOfANode(t *testing.T) {
	table := parsed(t, "barrier 5 2 * k-nomial\nbarrier 5 3 * dissemination\nbarrier * * * two-level")
	world(t, 5, func(c *runtime.Comm) error {
		for _, x := range []struct {
			nodes []int
			want  string
		}{{[]int{0, 0, 1, 1, 2}, "k-nomial"}, {[]int{0, 1, 1, 1, 0}, "dissemination"}, {[]int{0, 0, 0, 0, 1}, "two-level"}} {
			d, err := c.Dup()
			if err != nil {
				return err
			}
			if err := collectives.Placed(d, x.nodes); err != nil {
				return err
			}
			if err := collectives.Tune(d, table); err != nil {
				return err
			}
			if got, err := collectives.Choice(d, "barrier", 0); err != nil || got != x.want {
				return fmt.Errorf("%v: %q: %w", x.nodes, got, err)
			}
			if err := collectives.Barrier(d); err != nil {
				return err
			}
		}
		return nil
	})
}

// A wrong table is refused, and the error names the line and the field.
func TestBadTablesAreNamed(t *testing.T) {
	for text, want := range map[string]string{
		"allreduce 4 4 8":                              "line 1: 4 fields, not operation, ranks, ranks of a node, bytes and algorithm",
		"\n\nallreduce 4 4 8 ring 1":                   "line 3: 6 fields",
		"alreduce * * * ring":                          `line 1: no operation "alreduce"; there are barrier`,
		"bcast * * * ring":                             `line 1: no algorithm "ring" for bcast; there are node-small`,
		"allreduce 0 * * ring":                         `line 1: "0" is not a number from 1 on`,
		"allreduce 4-2 * * ring":                       `line 1: "2" is not a number from 4 on`,
		"allreduce * -1 * ring":                        `line 1: "" is not a number from 1 on`,
		"allreduce * * 8K ring":                        `line 1: "8K" is not a number from 0 on`,
		"allreduce * * -8 ring":                        `line 1: "-8" is not a number from 0 on`,
		"# x\nallreduce 99999999999999999999 * * ring": `line 2: "99999999999999999999" is not a number from 1 on`,
		strings.Repeat("x", 1<<17):                     "after line 0",
	} {
		_, err := collectives.ParseTable(strings.NewReader(text))
		require.ErrorIs(t, err, collectives.ErrTable)
		require.ErrorContains(t, err, want)
	}
}

// Without a file name there is no table. If the file cannot be read or parsed, the error names the file.
func TestTableOfTheEnvironment(t *testing.T) {
	table, err := collectives.ReadTable("")
	require.NoError(t, err)
	require.Nil(t, table)
	_, err = collectives.ReadTable("/no/such/table")
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorIs(t, err, collectives.ErrTable)
	file := filepath.Join(t.TempDir(), "table")
	require.NoError(t, os.WriteFile(file, []byte("allreduce * * * rng"), 0o600))
	_, err = collectives.ReadTable(file)
	require.ErrorContains(t, err, "GORUN_COLL_TABLE="+file+": ")
	require.NoError(t, os.WriteFile(file, []byte("allreduce * * * ring"), 0o600))
	table, err = collectives.ReadTable(file)
	require.NoError(t, err)
	require.NotNil(t, table)
}

// AlgorithmNames returns the algorithms of an operation, and nothing for an unknown one.
func TestAlgorithmNames(t *testing.T) {
	require.Contains(t, collectives.AlgorithmNames("bcast"), "chain")
	require.Empty(t, collectives.AlgorithmNames("nothing"))
}

// FuzzParseTable requires that any text, also truncated, is parsed to a table or is refused with
// ErrTable.
func FuzzParseTable(f *testing.F) {
	f.Add(measured)
	f.Add("allreduce 1-2-3 * * ring")
	f.Add("bcast 1 1 0 chain # \x00")
	f.Fuzz(func(t *testing.T, text string) {
		for _, text := range []string{text, text[:len(text)/2]} {
			table, err := collectives.ParseTable(strings.NewReader(text))
			if err != nil {
				require.ErrorIs(t, err, collectives.ErrTable)
				require.Nil(t, table)
				continue
			}
			require.NotNil(t, table)
		}
	})
}
