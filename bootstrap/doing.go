package bootstrap

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Doing is a rank's report of its blocked operations: its answer to a Dump.
type Doing struct {
	Rank    int `json:"rank"`
	Size    int `json:"size"`
	Process int `json:"pid"`
	// Finished says that the rank has left its program and waits for the others.
	Finished bool `json:"finished,omitempty"`
	// In are the collective operations that it is in, one per communicator.
	In []string `json:"in,omitempty"`
	// All says that one of them needs all ranks of the job.
	All bool `json:"all,omitempty"`
	// Waits are what its goroutines wait for.
	Waits []Wait `json:"waits,omitempty"`
	// Notes are lines about everything else: unreceived messages, connections, actors.
	Notes []string `json:"notes,omitempty"`
	// Stuck is not 0 if nothing but another rank can end a wait of this one: all its goroutines
	// wait or are in World.Close, and none waits for a time. Another wait has another number,
	// and so has the same after the rank has handled a message.
	Stuck int64 `json:"stuck,omitempty"`
	// Serves are the world ranks whose messages the rank's actors handle while it waits, as FormatRanks writes them;
	// "" if it has none.
	Serves string `json:"serves,omitempty"`
	// Quiet is for how long in seconds the rank has neither called gorun nor ended a wait.
	Quiet float64 `json:"quiet,omitempty"`
	// Line and Function are where the goroutine of the program's main function is, if it does
	// not wait.
	Line     string `json:"line,omitempty"`
	Function string `json:"function,omitempty"`
	// Lanes are the positions of the network's lanes, for messages under way.
	Lanes []Lane `json:"lanes,omitempty"`
}

// Lane is how many frames a rank has sent to a peer and received from it, modulo 65536.
type Lane struct {
	Peer     int    `json:"peer"`
	Sent     uint16 `json:"sent"`
	Received uint16 `json:"received"`
}

// Wait is what one goroutine waits for.
type Wait struct {
	// Op is the operation, What its arguments in words.
	Op   string `json:"op"`
	What string `json:"what,omitempty"`
	// Peer is the world rank that it waits for, -1 if it is not one alone.
	Peer int `json:"peer"`
	// Among are the world ranks that can end the wait, one alone or several together, as
	// FormatRanks writes them; "" if that is not known.
	Among string `json:"among,omitempty"`
	// Seconds is for how long, 0 if that is not known.
	Seconds float64 `json:"seconds,omitempty"`
	// Line and Function are where the program called.
	Line     string `json:"line,omitempty"`
	Function string `json:"function,omitempty"`
}

// Encode is the report of a rank. What does not fit is left out; without all its waits and lanes
// a rank is not Stuck.
func (d Doing) Encode() string {
	for {
		text, err := json.Marshal(d)
		if err == nil && len(text) <= reportBytesMax {
			return string(text)
		}
		before := len(d.Notes) + len(d.Waits) + len(d.In) + len(d.Lanes)
		d.Stuck, d.Lanes = 0, nil
		d.Notes, d.Waits, d.In = d.Notes[:len(d.Notes)/2], d.Waits[:(len(d.Waits)+1)/2], d.In[:(len(d.In)+1)/2]
		if len(d.Notes)+len(d.Waits)+len(d.In) == before {
			return "a report that is too long"
		}
	}
}

// ParseDoing is the inverse of Encode. It returns false for another text.
func ParseDoing(text string) (d Doing, ok bool) {
	err := json.Unmarshal([]byte(text), &d)
	return d, err == nil && d.Size > 0 && d.Rank >= 0 && d.Rank < d.Size
}

// String is the report of one rank in lines.
func (d Doing) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "rank %d of %d, process %d: %s\n", d.Rank, d.Size, d.Process, d.state())
	for _, in := range d.In {
		fmt.Fprintf(&b, "  in %s\n", in)
	}
	for _, w := range d.Waits {
		fmt.Fprintf(&b, "  %s%s%s%s\n", w.Op, comma(w.What), comma(seconds(w.Seconds, w.Seconds)), w.at())
	}
	for _, note := range d.Notes {
		fmt.Fprintf(&b, "  %s\n", note)
	}
	return b.String()
}

// state is the state of the rank in a few words.
func (d Doing) state() string {
	switch {
	case len(d.Waits) > 0:
		return fmt.Sprintf("%d waiting", len(d.Waits))
	case d.Finished:
		return "has finished, and waits for the others to do so"
	default:
		return "waits for no message" + Wait{Line: d.Line, Function: d.Function}.at()
	}
}

// Where is what the rank waits for and at which line, or the line at which it runs, in one line; ""
// if it is not known.
func (d Doing) Where() string {
	if len(d.Waits) == 0 {
		return strings.TrimPrefix(Wait{Line: d.Line, Function: d.Function}.at(), ", ")
	}
	w, more := d.Waits[0], ""
	if n := len(d.Waits) - 1; n > 0 {
		more = fmt.Sprintf(", and %d more", n)
	}
	return w.Op + comma(w.What) + w.at() + more
}

// at is the place of a wait behind a comma.
func (w Wait) at() string {
	if w.Line == "" {
		return ""
	}
	if w.Function == "" {
		return ", at " + w.Line
	}
	return fmt.Sprintf(", at %s (%s)", w.Line, w.Function)
}

// comma puts a comma before what is not empty.
func comma(s string) string {
	if s == "" {
		return ""
	}
	return ", " + s
}

// seconds is a time, or from when to when, in words; "" if it is not known.
func seconds(least, most float64) string {
	said := func(s float64) string {
		return time.Duration(s * float64(time.Second)).Round(time.Millisecond).String()
	}
	switch {
	case most == 0:
		return ""
	case said(least) == said(most):
		return said(most)
	default:
		return said(least) + " to " + said(most)
	}
}

// alike is equal for ranks with the same operations at the same lines, however many of each.
func (d Doing) alike() string {
	state := d.state()
	if len(d.Waits) > 0 {
		state = "waiting"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d %s\n%q\n", d.Size, state, d.In)
	for _, waits := range d.kinds() {
		b.WriteString(waits[0].kind())
	}
	return b.String()
}

// kind is equal for waits for the same operation at the same line.
func (w Wait) kind() string { return fmt.Sprintf("%q %q %q\n", w.Op, w.Line, w.Function) }

// kinds are the waits for the same operation at the same line together, in the order of the first of each.
func (d Doing) kinds() (list [][]Wait) {
	for _, w := range d.Waits {
		i := slices.IndexFunc(list, func(waits []Wait) bool { return waits[0].kind() == w.kind() })
		if i < 0 {
			i, list = len(list), append(list, nil)
		}
		list[i] = append(list[i], w)
	}
	return list
}

// Together is the reports of several ranks in lines: their Entries, and then the ranks that
// wait for a rank that has left its program.
func Together(list []Doing) string {
	list = inOrder(list)
	return entries(list) + leavers(list)
}

// inOrder is a copy of the list in order of ranks.
func inOrder(list []Doing) []Doing {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b Doing) int { return a.Rank - b.Rank })
	return list
}

// Entries is the reports of several ranks in lines: one entry for all ranks with the same
// operations at the same lines, in order of their lowest ranks.
func Entries(list []Doing) string { return entries(inOrder(list)) }

// entries is Entries of a list in order of ranks.
func entries(list []Doing) string {
	var b strings.Builder
	groups := map[string][]Doing{}
	for _, d := range list {
		groups[d.alike()] = append(groups[d.alike()], d)
	}
	for _, d := range list {
		group := groups[d.alike()]
		delete(groups, d.alike())
		switch len(group) {
		case 0:
		case 1:
			b.WriteString(d.String())
		default:
			writeGroup(&b, group)
		}
	}
	return b.String()
}

// leavers says which ranks of a list in order of ranks wait for one that has left its program.
func leavers(list []Doing) string {
	var b strings.Builder
	for _, d := range list {
		if !d.Finished {
			continue
		}
		var waiting []int
		for _, other := range list {
			if other.All || slices.ContainsFunc(other.Waits, func(w Wait) bool { return w.Peer == d.Rank }) {
				waiting = append(waiting, other.Rank)
			}
		}
		if len(waiting) > 0 {
			fmt.Fprintf(&b, "rank %d has left its program, and %s for it\n", d.Rank, verb(waiting, "waits", "wait"))
		}
	}
	return b.String()
}

// writeGroup writes what ranks have in common, and then what each has of its own.
func writeGroup(b *strings.Builder, group []Doing) {
	all, kinds := ranksOf(group), make([][][]Wait, len(group))
	least, most := len(group[0].Waits), 0
	for i, d := range group {
		kinds[i], least, most = d.kinds(), min(least, len(d.Waits)), max(most, len(d.Waits))
	}
	state := group[0].state()
	if least < most {
		state = fmt.Sprintf("%d to %d waiting", least, most)
	}
	fmt.Fprintf(b, "ranks %s of %d: each %s\n", FormatRanks(all), group[0].Size, state)
	for _, in := range group[0].In {
		fmt.Fprintf(b, "  in %s\n", in)
	}
	for i, same := range kinds[0] {
		w, least, most := same[0], math.Inf(1), 0.0
		whats := newByText()
		for j, d := range group {
			for _, w := range kinds[j][i] {
				least, most = min(least, w.Seconds), max(most, w.Seconds)
				whats.add(w.What, d.Rank)
			}
		}
		if len(whats.order) == 1 {
			fmt.Fprintf(b, "  %s%s%s%s\n", w.Op, comma(w.What), comma(seconds(least, most)), w.at())
			continue
		}
		fmt.Fprintf(b, "  %s%s%s\n", w.Op, comma(seconds(least, most)), w.at())
		whats.write(b, "    ", whatsMax)
	}
	notes := newByText()
	for _, d := range group {
		for _, note := range d.Notes {
			notes.add(note, d.Rank)
		}
	}
	notes.write(b, "  ", notesMax)
}

// byText are the ranks with equal lines, in the order of their first occurrence.
type byText struct {
	order []string
	ranks map[string][]int
}

func newByText() byText { return byText{ranks: map[string][]int{}} }

func (t *byText) add(text string, rank int) {
	if t.ranks[text] == nil {
		t.order = append(t.order, text)
	}
	if said := t.ranks[text]; len(said) == 0 || said[len(said)-1] != rank {
		t.ranks[text] = append(said, rank)
	}
}

// whatsMax bounds the arguments that are written of the operation of a group of ranks: messages of a collective operation
// of many ranks are many, and tell the least.
const whatsMax = 8

// notesMax bounds the further lines of a group of ranks, as on messages that were not received.
const notesMax = 16

// write writes a line for each text, at most so many and one for the others.
func (t *byText) write(b *strings.Builder, indent string, most int) {
	for i, text := range t.order {
		if i == most {
			fmt.Fprintf(b, "%s... and %d more\n", indent, len(t.order)-most)
			return
		}
		fmt.Fprintf(b, "%s%s: %s\n", indent, verb(t.ranks[text], "", ""), text)
	}
}

// verb names ranks, with the verb that fits their number.
func verb(ranks []int, one, many string) string {
	if len(ranks) == 1 {
		return strings.TrimRight(fmt.Sprintf("rank %d %s", ranks[0], one), " ")
	}
	return strings.TrimRight(fmt.Sprintf("ranks %s %s", FormatRanks(ranks), many), " ")
}

func ranksOf(group []Doing) []int {
	list := make([]int, len(group))
	for i, d := range group {
		list[i] = d.Rank
	}
	return list
}
