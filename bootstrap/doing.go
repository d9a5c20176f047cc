package bootstrap

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Doing is a rank's report of its blocked operations. It is the rank's answer to a Dump, and the text of
// [Session.Stalled].
type Doing struct {
	Rank    int `json:"rank"`
	Size    int `json:"size"`
	Process int `json:"pid"`
	// Finished is true if the rank has left its program and waits in World.Close for the other ranks.
	Finished bool `json:"finished,omitempty"`
	// In has the collective operations that the rank is executing, one per communicator.
	In []string `json:"in,omitempty"`
	// All is true if one of the operations in the field In needs all ranks of the job.
	All bool `json:"all,omitempty"`
	// Waits describes what the rank's goroutines wait for.
	Waits []Wait `json:"waits,omitempty"`
	// Notes has lines about unreceived messages, connections and actors.
	Notes []string `json:"notes,omitempty"`
	// Stuck is nonzero if only other ranks can end the waits of this rank. In this case, all goroutines of
	// the rank wait or are in World.Close, and no context or timer can end a wait. The value of Stuck changes
	// when a wait begins or ends, and when the rank handles a message.
	Stuck int64 `json:"stuck,omitempty"`
	// Serves has the world ranks whose messages the rank's actors handle while it waits, in the format of
	// FormatRanks. Serves is "" if the rank has no actors.
	Serves string `json:"serves,omitempty"`
	// Quiet is the age of the youngest wait, in seconds. If the rank does not wait, Quiet is the time since it last
	// called gorun or, if it has actors, last handled a frame.
	Quiet float64 `json:"quiet,omitempty"`
	// If the rank waits for nothing, Line and Function are the position of the goroutine that runs the
	// program's main function.
	Line     string `json:"line,omitempty"`
	Function string `json:"function,omitempty"`
	// Lanes has the frame counts of the network's lanes. They show whether messages are in flight.
	Lanes []Lane `json:"lanes,omitempty"`
}

// Lane has the numbers of frames that a rank has sent to a peer and received from it, modulo 65536.
type Lane struct {
	Peer     int    `json:"peer"`
	Sent     uint16 `json:"sent"`
	Received uint16 `json:"received"`
}

// Wait describes what one goroutine waits for.
type Wait struct {
	// Op is the operation. What describes its arguments in words.
	Op   string `json:"op"`
	What string `json:"what,omitempty"`
	// Peer is the world rank that the goroutine waits for, or -1 if the goroutine does not wait for one
	// particular rank.
	Peer int `json:"peer"`
	// Among has the world ranks that can end the wait, in the format of FormatRanks. One of them may suffice,
	// or several may have to act together. Among is "" if these ranks are not known.
	Among string `json:"among,omitempty"`
	// Seconds is the duration of the wait so far, 0 if it is not known.
	Seconds float64 `json:"seconds,omitempty"`
	// Line and Function are the place in the program at which the operation was called.
	Line     string `json:"line,omitempty"`
	Function string `json:"function,omitempty"`
}

// Encode returns the report as text of at most reportBytesMax bytes. It omits notes, waits, collective
// operations and lanes as far as necessary. If a report omits anything, its Stuck is 0, because an incomplete
// report does not prove that the rank is stuck. If the rest is still too long, Encode returns a text which says
// that, and which ParseDoing does not accept.
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

// ParseDoing is the inverse of Encode. It returns false for a text that is not a report.
func ParseDoing(text string) (d Doing, ok bool) {
	err := json.Unmarshal([]byte(text), &d)
	return d, err == nil && d.Size > 0 && d.Rank >= 0 && d.Rank < d.Size
}

// String returns the report as lines of text.
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

// state returns the state of the rank in a few words.
func (d Doing) state() string {
	switch {
	case len(d.Waits) > 0:
		return waitsIn(strconv.Itoa(len(d.Waits)), len(d.Waits))
	case d.Finished:
		return "has finished, and waits for the others to do so"
	default:
		return "waits for no message" + Wait{Line: d.Line, Function: d.Function}.at()
	}
}

// waitsIn returns the state of ranks that wait in some operations. count is the number of operations as text, or
// a range such as "2 to 3". most is the largest of these numbers.
func waitsIn(count string, most int) string {
	if most == 1 {
		return "waits in " + count + " operation"
	}
	return "waits in " + count + " operations"
}

// Where returns one line of text. If the rank waits, the text says what the rank waits for, and in which line
// of the program. Otherwise the text is the line at which the rank runs. Where returns "" if the rank does not
// wait and its line is not known.
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

// at returns a comma and the place of a wait, or "" if the place is not known.
func (w Wait) at() string {
	if w.Line == "" {
		return ""
	}
	if w.Function == "" {
		return ", at " + w.Line
	}
	return fmt.Sprintf(", at %s (%s)", w.Line, w.Function)
}

// comma returns a comma, a space and s. It returns "" if s is empty.
func comma(s string) string {
	if s == "" {
		return ""
	}
	return ", " + s
}

// seconds returns a time, or a range of times, as text. It returns "" if most is 0, because 0 means an
// unknown time.
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

// alike returns a text that is equal for two ranks if they are in the same state and have the same operations
// at the same lines, in the same order. The text does not depend on the number of waits per operation and line.
func (d Doing) alike() string {
	state := d.state()
	if len(d.Waits) > 0 {
		state = "waits"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d %s\n%q\n", d.Size, state, d.In)
	for _, waits := range d.kinds() {
		b.WriteString(waits[0].kind())
	}
	return b.String()
}

// kind returns a text that is equal for two waits if they are in the same operation at the same line.
func (w Wait) kind() string { return fmt.Sprintf("%q %q %q\n", w.Op, w.Line, w.Function) }

// kinds returns the waits grouped by operation and line, in the order of the first wait of each group.
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

// Together returns the reports of several ranks as lines of text. The lines of Entries come first. If other
// ranks wait for a rank that has left its program, a further line lists these waiting ranks.
func Together(list []Doing) string {
	return Entries(list) + leavers(inOrder(list))
}

// inOrder returns a copy of the list, sorted by rank.
func inOrder(list []Doing) []Doing {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b Doing) int { return a.Rank - b.Rank })
	return list
}

// Entries returns the reports of several ranks as lines of text. Ranks with the same operations at the
// same lines share an entry. The entries are in the order of their lowest ranks.
func Entries(list []Doing) string {
	list = inOrder(list)
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

// leavers returns a line for each rank that has left its program while other ranks wait for it. list is
// sorted by rank.
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

// writeGroup writes the entry of a group of ranks with the same operations at the same lines. Texts that all
// ranks have in common are written once. If arguments differ, they are written with the ranks that have them.
// Notes are always written with the ranks that have them.
func writeGroup(b *strings.Builder, group []Doing) {
	all, kinds := ranksOf(group), make([][][]Wait, len(group))
	least, most := len(group[0].Waits), 0
	for i, d := range group {
		kinds[i], least, most = d.kinds(), min(least, len(d.Waits)), max(most, len(d.Waits))
	}
	state := group[0].state()
	if least < most {
		state = waitsIn(fmt.Sprintf("%d to %d", least, most), most)
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

// byText groups ranks by a line of text that they have.
type byText struct {
	order []string // the lines, in the order of their first occurrence
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

// whatsMax is the largest number of different arguments that are written for one operation of a group of
// ranks. The bound is needed because a collective operation of many ranks waits for many messages, and these
// waits are the least informative ones.
const whatsMax = 8

// notesMax is the largest number of notes that are written for a group of ranks.
const notesMax = 16

// write writes a line for each text, in order. The parameter most bounds the number of these lines. If texts
// remain, a last line has their number.
func (t *byText) write(b *strings.Builder, indent string, most int) {
	for i, text := range t.order {
		if i == most {
			fmt.Fprintf(b, "%s... and %d more\n", indent, len(t.order)-most)
			return
		}
		fmt.Fprintf(b, "%s%s: %s\n", indent, verb(t.ranks[text], "", ""), text)
	}
}

// verb returns "rank N" or "ranks LIST", followed by a verb. The verb is the parameter one for one rank,
// and the parameter many for several ranks.
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
