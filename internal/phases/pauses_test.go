package phases_test

import (
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// pause is an activity of a rank without any call of gorun.
type pause struct {
	name string
	run  func(d time.Duration)
}

// pauses lists all activities.
var pauses = []pause{
	{"computes", func(d time.Duration) {
		for begin := time.Now(); time.Since(begin) < d; {
			continue
		}
	}},
	{"sleeps", time.Sleep},
	{"reads a pipe of a goroutine", func(d time.Duration) {
		r, w, err := os.Pipe()
		must(err)
		go func() {
			time.Sleep(d)
			_ = w.Close()
		}()
		_, _ = r.Read(make([]byte, 1))
		_ = r.Close()
	}},
	{"reads a pipe of a timer", func(d time.Duration) {
		r, w, err := os.Pipe()
		must(err)
		time.AfterFunc(d, func() { _ = w.Close() })
		_, _ = r.Read(make([]byte, 1))
		_ = r.Close()
	}},
	{"waits for a process", func(d time.Duration) {
		_, err := exec.Command("sleep", fmt.Sprint(d.Seconds())).Output()
		must(err)
	}},
	{"waits for a lock of a goroutine", func(d time.Duration) {
		var mu sync.Mutex
		mu.Lock()
		go func() {
			time.Sleep(d)
			mu.Unlock()
		}()
		mu.Lock()
	}},
	{"waits for a lock of a timer", func(d time.Duration) {
		var mu sync.RWMutex
		mu.Lock()
		time.AfterFunc(d, mu.Unlock)
		mu.RLock()
	}},
	{"waits for a condition", func(d time.Duration) {
		var mu sync.Mutex
		done, changed := false, sync.NewCond(&mu)
		time.AfterFunc(d, func() {
			mu.Lock()
			done = true
			mu.Unlock()
			changed.Signal()
		})
		mu.Lock()
		for !done {
			changed.Wait()
		}
		mu.Unlock()
	}},
	{"waits for a channel", func(d time.Duration) {
		ch := make(chan int)
		go func() {
			time.Sleep(d)
			close(ch)
		}()
		<-ch
	}},
	{"waits for a wait group of a goroutine", func(d time.Duration) {
		var all sync.WaitGroup
		all.Go(func() { time.Sleep(d) })
		all.Wait()
	}},
	{"waits for a wait group of a timer", func(d time.Duration) {
		var all sync.WaitGroup
		all.Add(1)
		time.AfterFunc(d, all.Done)
		all.Wait()
	}},
	{"selects with a timeout", func(d time.Duration) {
		select {
		case <-make(chan int):
		case <-time.After(d):
		}
	}},
	{"is in a system call", func(d time.Duration) {
		left := syscall.NsecToTimeval(d.Nanoseconds())
		for end := time.Now().Add(d); ; left = syscall.NsecToTimeval(max(0, time.Until(end).Nanoseconds())) {
			if _, err := syscall.Select(0, nil, nil, nil, &left); err == nil {
				return
			}
		}
	}},
	{"waits for a file's lock", func(d time.Duration) {
		held, err := os.CreateTemp("", "phases")
		must(err)
		wanted, err := os.Open(held.Name())
		must(err)
		must(os.Remove(held.Name()))
		must(syscall.Flock(int(held.Fd()), syscall.LOCK_EX))
		released := make(chan struct{})
		time.AfterFunc(d, func() {
			_ = syscall.Flock(int(held.Fd()), syscall.LOCK_UN)
			close(released)
		})
		for err = syscall.EINTR; err == syscall.EINTR; { //nolint:errorlint // a system call's
			err = syscall.Flock(int(wanted.Fd()), syscall.LOCK_EX)
		}
		must(err)
		<-released
		_ = wanted.Close()
		_ = held.Close()
	}},
	{"is stopped", func(d time.Duration) {
		// A rank that is a goroutine cannot be stopped alone.
		if os.Getenv(envSeed) == "" {
			time.Sleep(d)
			return
		}
		again := exec.Command("sh", "-c", fmt.Sprintf("sleep %f; kill -CONT %d", d.Seconds(), os.Getpid()))
		must(again.Start())
		must(syscall.Kill(os.Getpid(), syscall.SIGSTOP))
		must(again.Wait())
	}},
}

// must ends the process if an activity fails.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
