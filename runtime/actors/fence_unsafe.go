package actors

import (
	"reflect"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/asynkron/protoactor-go/actor"
)

// futureType is a future of protoactor, timerField its timer, which it does not export.
var (
	futureType      = reflect.TypeFor[actor.Future]()
	timerField, has = futureType.FieldByName("t")
	timerKnown      = has && timerField.Type == reflect.TypeFor[*time.Timer]()
)

// timerOf returns the timer of a future, nil if it has no timeout. It returns false for another
// Process, and in a release of protoactor whose futures are different.
func timerOf(p actor.Process) (timer *time.Timer, ok bool) {
	v := reflect.ValueOf(p)
	if !timerKnown || v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return nil, false
	}
	if v = v.Elem(); v.NumField() == 0 || v.Field(0).Type() != futureType {
		return nil, false
	}
	// NewFuture writes it atomically.
	at := unsafe.Add(v.Field(0).Addr().UnsafePointer(), timerField.Offset)
	return (*time.Timer)(atomic.LoadPointer((*unsafe.Pointer)(at))), true
}
