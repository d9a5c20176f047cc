package actors

import (
	"reflect"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/asynkron/protoactor-go/actor"
)

// futureType is the type of protoactor's futures. timerField is its unexported field with the timer.
// timerKnown is true if that field exists and has the expected type.
var (
	futureType      = reflect.TypeFor[actor.Future]()
	timerField, has = futureType.FieldByName("t")
	timerKnown      = has && timerField.Type == reflect.TypeFor[*time.Timer]()
)

// timerOf returns the timer of a future, or nil if the future has no timeout. ok is false if the Process
// is not a future, or if the futures of this release of protoactor have a different layout.
func timerOf(p actor.Process) (timer *time.Timer, ok bool) {
	v := reflect.ValueOf(p)
	if !timerKnown || v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return nil, false
	}
	if v = v.Elem(); v.NumField() == 0 || v.Field(0).Type() != futureType {
		return nil, false
	}
	// The timer is read atomically, because protoactor's NewFuture stores it atomically.
	at := unsafe.Add(v.Field(0).Addr().UnsafePointer(), timerField.Offset)
	return (*time.Timer)(atomic.LoadPointer((*unsafe.Pointer)(at))), true
}
