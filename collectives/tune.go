package collectives

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/gorun-hpc/gorun/collectives/internal/message"
	"github.com/gorun-hpc/gorun/runtime"
)

// ErrTable is the error of a table that cannot be read, or that does not have the format that ParseTable
// expects.
var ErrTable = errors.New("bad table of algorithms")

// Table names the algorithms that a program uses in place of the built-in choice, for example because
// they are the fastest on a machine. It is immutable.
type Table struct {
	// of[op] has the lines of operation op, in the order of the table.
	of [message.Operations][]tuned
}

// tuned is a line of a Table.
type tuned struct {
	ranks, perNode span
	most           int // the largest length in bytes; -1 for any length
	name           string
}

// span is the range of numbers from least to most, both included.
type span struct{ least, most int }

// has reports whether n is in the range.
func (s span) has(n int) bool { return s.least <= n && n <= s.most }

// anything stands for any number in a table.
const anything = "*"

// ParseTable parses a table of algorithms, as bench/tune writes it. A line has five fields, separated
// by blanks: the operation, the number of ranks of the communicator, the largest number of these ranks
// on one node, the largest length in bytes of a contribution or block, and the algorithm.
//
//	allreduce  4    2    8192  two-level
//	allreduce  2-8  *    *     ring
//
// The numbers of ranks may be ranges; * stands for any number. For each call, the first line that
// fits names the algorithm. If no line fits, or if the algorithm of that line cannot serve the call,
// the built-in table chooses. Empty lines, and the text from a # to the end of a line, are ignored.
// An error wraps ErrTable and has the number of the line.
func ParseTable(r io.Reader) (*Table, error) {
	t := new(Table)
	lines := bufio.NewScanner(r)
	number := 0
	for lines.Scan() {
		number++
		text, _, _ := strings.Cut(lines.Text(), "#")
		fields := strings.Fields(text)
		if len(fields) == 0 {
			continue
		}
		if err := t.add(fields); err != nil {
			return nil, fmt.Errorf("%w: line %d: %w", ErrTable, number, err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%w: after line %d: %w", ErrTable, number, err)
	}
	return t, nil
}

// add parses the fields of a line and adds the line to t.
func (t *Table) add(fields []string) (err error) {
	const want = "operation, ranks, ranks of a node, bytes and algorithm"
	if len(fields) != 5 {
		return fmt.Errorf("%d fields, not %s", len(fields), want)
	}
	op, names := operationOf(fields[0])
	if op == message.Operations {
		return fmt.Errorf("no operation %q; there are %s", fields[0], strings.Join(names, ", "))
	}
	l := tuned{most: -1, name: fields[4]}
	if known := algorithmsOf(op); !slices.Contains(known, l.name) {
		return fmt.Errorf("no algorithm %q for %v; there are %s", l.name, op, strings.Join(known, ", "))
	}
	if l.ranks, err = parseSpan(fields[1]); err != nil {
		return err
	}
	if l.perNode, err = parseSpan(fields[2]); err != nil {
		return err
	}
	if fields[3] != anything {
		if l.most, err = parseNumber(fields[3], 0); err != nil {
			return err
		}
	}
	t.of[op] = append(t.of[op], l)
	return nil
}

// parseSpan parses a number of ranks, a range such as 2-8, or *.
func parseSpan(text string) (s span, err error) {
	if text == anything {
		return span{1, int(^uint(0) >> 1)}, nil
	}
	least, most, two := strings.Cut(text, "-")
	if s.least, err = parseNumber(least, 1); err != nil {
		return s, err
	}
	s.most = s.least
	if two {
		s.most, err = parseNumber(most, s.least)
	}
	return s, err
}

// parseNumber parses a number. The number must not be less than the argument least.
func parseNumber(text string, least int) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < least {
		return 0, fmt.Errorf("%q is not a number from %d on", text, least)
	}
	return n, nil
}

// choice returns the name of the algorithm for a situation, or "" if no line fits.
func (t *Table) choice(s *situation) string {
	for _, l := range t.of[s.op] {
		if l.ranks.has(s.ranks) && l.perNode.has(s.perNode) && (l.most < 0 || s.bytes <= l.most) {
			return l.name
		}
	}
	return ""
}

// Tune sets the table by which the operations on c choose algorithms, from the next operation on. If
// t is nil, they use the built-in table. Tune does not communicate. So all members must call Tune
// between the same two operations, and with equal tables. GORUN_COLL has priority over t. Nonblocking
// operations that were started before keep their algorithms. However, if c is Local of a
// runtime.Intercomm, no nonblocking operation on the Intercomm may be in progress.
func Tune(c *runtime.Comm, t *Table) error {
	g, _, err := find(c)
	if err != nil {
		return err
	}
	g.table.Store(t)
	g.chosen = chosen{}
	return nil
}

// AlgorithmNames returns the names of the algorithms of an operation ("allreduce", "bcast", ...), or
// nil if there is no such operation.
func AlgorithmNames(op string) []string {
	o, _ := operationOf(op)
	if o == message.Operations {
		return nil
	}
	return algorithmsOf(o)
}

// Choice returns the name of the algorithm that the blocking form of an operation on c would use for
// contributions or blocks of the given length in bytes. It returns "" if there is no such operation.
// For reductions it assumes a commutative operator and elements of one byte. It does not communicate. Any
// goroutine may call it at any time.
func Choice(c *runtime.Comm, op string, bytes int) (string, error) {
	g, _, err := find(c)
	if err != nil {
		return "", err
	}
	o, _ := operationOf(op)
	if o == message.Operations || len(algorithmsOf(o)) == 0 {
		return "", nil
	}
	s := g.assumed(o, bytes)
	return choose(&s, g.override[o], g.table.Load()).name, nil
}

// environmentTable reads the table in the file that GORUN_COLL_TABLE names. It reads the file only in
// its first call.
var environmentTable = sync.OnceValues(func() (*Table, error) { return readTable(os.Getenv("GORUN_COLL_TABLE")) })

// readTable returns the table in the file with this name, or nil if name is empty.
func readTable(name string) (*Table, error) {
	if name == "" {
		return nil, nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("%w: GORUN_COLL_TABLE: %w", ErrTable, err)
	}
	t, err := ParseTable(strings.NewReader(string(text)))
	if err != nil {
		return nil, fmt.Errorf("GORUN_COLL_TABLE=%s: %w", name, err)
	}
	return t, nil
}
