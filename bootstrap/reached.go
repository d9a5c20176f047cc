package bootstrap

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

const (
	// reachedMax is the largest number of communicators for each of which Reached returns a line. outliersMax
	// is the largest number of groups of ranks that Reached describes for one communicator in addition to the
	// first group.
	reachedMax  = 6
	outliersMax = 4
)

// reached matches an entry of Doing.In. Its submatches are communicator, operation, call and line.
var reached = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(.+?), (.+), call (\d+), at (.+)$`) })

// worldName is the name of the communicator of all ranks.
const worldName = "world"

// standing is a group of ranks that are in the same operation and call of a communicator, at the same line.
type standing struct {
	call  int    // number of the call, 0 for ranks that are in no call
	what  string // operation and line
	ranks []int
}

// Reached returns how many ranks have reached which collective operation. It returns a line for each
// communicator whose ranks have reached different operations:
//
//	world: 61 ranks in call 3, barrier at main.go:54; ranks 5,17 in call 2, allreduce of 8 bytes at main.go:50; rank 9 in none
//
// The largest group of ranks comes first. If this group has several ranks, the line has only their number. For
// the other groups, the line lists the ranks. "in none" occurs only for the communicator of all ranks. For other
// communicators, Reached does not know which ranks are members.
func Reached(list []Doing) []string {
	list = inOrder(list)
	var names []string
	found := map[string][]standing{}
	for _, d := range list {
		inWorld := false
		for _, in := range d.In {
			m := reached().FindStringSubmatch(in)
			if m == nil {
				continue
			}
			call, err := strconv.Atoi(m[3])
			if err != nil {
				continue
			}
			if found[m[1]] == nil {
				names = append(names, m[1])
			}
			inWorld = inWorld || m[1] == worldName
			found[m[1]] = stand(found[m[1]], call, m[2]+" at "+m[4], d.Rank)
		}
		if !inWorld {
			found[worldName] = stand(found[worldName], 0, "", d.Rank)
		}
	}
	if !slices.Contains(names, worldName) {
		delete(found, worldName)
	}
	var lines []string
	for _, name := range names {
		if groups := found[name]; len(groups) > 1 {
			lines = append(lines, name+": "+standings(groups))
		}
	}
	if more := len(lines) - reachedMax; more > 0 {
		lines = append(lines[:reachedMax], fmt.Sprintf("%d more communicators whose ranks have reached different operations", more))
	}
	return lines
}

// stand adds a rank to the group of its call, operation and line. If there is no such group, stand adds it.
func stand(groups []standing, call int, what string, rank int) []standing {
	for i := range groups {
		if g := &groups[i]; g.call == call && g.what == what {
			g.ranks = append(g.ranks, rank)
			return groups
		}
	}
	return append(groups, standing{call, what, []int{rank}})
}

// standings returns the part of a line of Reached that follows the name of the communicator.
func standings(groups []standing) string {
	slices.SortStableFunc(groups, func(a, b standing) int { return len(b.ranks) - len(a.ranks) })
	parts := make([]string, 0, outliersMax+1)
	for i, g := range groups {
		who := verb(g.ranks, "", "")
		switch {
		case i > outliersMax:
			return strings.Join(append(parts, fmt.Sprintf("%d more groups elsewhere", len(groups)-i)), "; ")
		case i == 0 && len(g.ranks) > 1:
			who = fmt.Sprintf("%d ranks", len(g.ranks))
		}
		if g.call == 0 {
			parts = append(parts, who+" in none")
		} else {
			parts = append(parts, fmt.Sprintf("%s in call %d, %s", who, g.call, g.what))
		}
	}
	return strings.Join(parts, "; ")
}
