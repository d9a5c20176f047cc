package verbs

// Parked returns the number of goroutines in Wait that do not sleep in the kernel, because another goroutine
// sleeps there for them.
func Parked(a *Adapter) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.waiting.parked)
}
