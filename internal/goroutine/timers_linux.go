//go:build !portable

package goroutine

import (
	"context"
	"os"
	"reflect"
	goruntime "runtime"
	"slices"
	"time"
)

// Timers returns the names (goruntime.FuncForPC) of the functions that timers of time.AfterFunc are going to
// call. It returns false if the functions are not known. A context with a deadline has such a timer,
// too. Timers omits this timer if no other context and no function of context.AfterFunc depends on the context. The end
// of such a context wakes only goroutines that wait for its channel. The text of goruntime.Stack shows these
// goroutines.
//
// Go has no function that lists timers. Timers reads the scheduler's heaps of timers through /proc/self/mem, where
// an invalid address causes an error instead of a crash. Each time, Timers makes a context with a deadline and
// looks for its timer at the expected place. If the timer is there, timers have the layout of Go 1.23 to 1.26.
// In a bubble of package testing/synctest the timers are not known, because they are in a separate heap.
func Timers() (functions []string, ok bool) {
	file, err := os.Open("/proc/self/mem")
	if err != nil {
		return nil, false
	}
	defer func() { _ = file.Close() }()
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	for range timersTries {
		m := &memory{file: file}
		l := m.layoutOf(ctx)
		if l.bubble {
			return nil, false
		}
		found := false
		functions = nil
		for _, heap := range m.heaps(l.heap) {
			names, has := m.functionsOf(heap, l)
			functions, found = append(functions, names...), found || has
		}
		if m.err == nil && found {
			return functions, true
		}
	}
	return nil, false
}

const (
	// timersTries bounds the attempts to read the heaps. An attempt fails if other goroutines change them meanwhile.
	timersTries = 5
	// timersMax bounds the number of timers of a heap.
	timersMax = 1 << 16

	word = 8 // bytes of a word
	// timerAt is the offset of runtime.timer in runtime.timeTimer, to which a *time.Timer points. The constants
	// from timerFlags to timerHeap are the indices in words of fields of runtime.timer, and timerWords is the
	// number of words that are read.
	timerAt    = 2 * word
	timerFlags = 1 // bits 24-31 are not 0 if the timer belongs to a bubble
	timerWhen  = 3
	timerCall  = 5
	timerValue = 7 // the data word of the interface arg, which follows its type word
	timerHeap  = 9
	timerWords = 10
	// heapSlice is the offset of the slice of timers in runtime.timers. An element consists of a timer and a time.
	heapSlice = word
)

// layout holds facts that are true for all timers. They were read from the timer of one context with a
// deadline.
type layout struct {
	timer, heap uint64 // the addresses of the context's timer and of the heap that contains it
	call        uint64 // the function of all timers of time.AfterFunc; it starts a goroutine
	expire      uint64 // the function that the goroutine of a context's timer runs
	children    uint64 // the offset of the map of dependents in a context that has a timer
	bubble      bool   // the caller is in a bubble, so its timers are in no heap of a processor
}

// layoutOf reads the layout from the timer of ctx, a context with a deadline, and checks the timer's fields.
func (m *memory) layoutOf(ctx context.Context) (l layout) {
	c := reflect.ValueOf(ctx)
	if c.Kind() != reflect.Pointer || c.Elem().Kind() != reflect.Struct {
		m.fail("contexts have another layout")
		return l
	}
	timer := c.Elem().FieldByName("timer")
	children, has := c.Elem().Type().FieldByName("children")
	if timer.Kind() != reflect.Pointer || !has || children.Type.Kind() != reflect.Map {
		m.fail("contexts have another layout")
		return l
	}
	for i := range children.Index {
		field := c.Elem().Type().FieldByIndex(children.Index[:i+1])
		l.children += uint64(field.Offset)
	}
	l.timer = uint64(timer.Pointer()) + timerAt
	t := m.words(l.timer, timerWords)
	l.call, l.heap, l.bubble = t[timerCall], t[timerHeap], t[timerFlags]>>24&0xff != 0
	f := m.words(t[timerValue], 2) // the function value: the address of its code, and the context that it captures
	if l.expire = f[0]; f[1] != uint64(c.Pointer()) || l.heap == 0 || int64(t[timerWhen]) <= 0 {
		m.fail("timers have another layout")
	}
	return l
}

// functionsOf returns the names of the functions of a heap's timers. It also reports whether the timer of the layout
// is in the heap.
func (m *memory) functionsOf(heap uint64, l layout) (names []string, found bool) {
	header := m.words(heap+heapSlice, 3)
	if header[1] > header[2] || header[1] > timersMax {
		m.fail("a heap of timers has another layout")
		return nil, false
	}
	entries := m.words(header[0], 2*int(header[1]))
	defer m.unchanged(heap+heapSlice, header)
	defer m.unchanged(header[0], entries)
	for i := 0; i < len(entries) && m.err == nil; i += 2 {
		t := m.words(entries[i], timerWords)
		if t[timerHeap] != heap {
			m.fail("a timer is not in its heap")
		}
		stopped := t[timerWhen] == 0 // it is removed later
		switch {
		case entries[i] == l.timer:
			found = true
		case t[timerCall] == l.call && !stopped:
			if name := m.functionOf(t[timerValue], l); name != "" {
				names = append(names, name)
			}
		}
	}
	return names, found
}

// unchanged fails if the words at an address are not the same as before. A heap that changes while it is read may
// hide a timer, which has moved from a place that was not read yet to a place that was read before.
func (m *memory) unchanged(address uint64, before []uint64) {
	if !slices.Equal(m.words(address, len(before)), before) {
		m.fail("a heap of timers has changed")
	}
}

// functionOf returns the name of the function of a timer, or "" for the timer of a context without dependents. value
// is the address of the function value.
func (m *memory) functionOf(value uint64, l layout) string {
	f := m.words(value, 1)[0]
	if f == l.expire {
		c := m.words(value+word, 1)[0]
		if dependents := m.words(c+l.children, 1)[0]; dependents == 0 || m.words(dependents, 1)[0] == 0 {
			return ""
		}
	}
	function := goruntime.FuncForPC(uintptr(f))
	if function == nil {
		m.fail("a timer has no function")
		return ""
	}
	return function.Name()
}
