package verbs

// Parked returns how many goroutines in Wait leave the sleep in the kernel to another.
func Parked(a *Adapter) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.waiting.parked)
}
