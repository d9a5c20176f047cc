package runtime

// Blocked is what the rank says of itself when it hangs.
func (w *World) Blocked() string { return w.blocked() }
