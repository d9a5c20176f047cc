package engine

// Go runs f on a new goroutine. Until the goroutine runs, pollers of this rank let other goroutines run. Without
// this, a rank with a single processor of Go would spin in a wait for what f is about to do.
func (e *Engine) Go(f func()) {
	e.crowd.Add(1)
	go func() {
		e.crowd.Add(-1)
		f()
	}()
}
