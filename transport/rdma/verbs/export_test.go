package verbs

// Parked returns the number of goroutines in Wait that are parked in Go's scheduler, because another
// goroutine sleeps in the kernel for them.
func Parked(a *Adapter) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.waiting.parked)
}
