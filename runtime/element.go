package runtime

// Element returns nil if values of type T can travel in messages, else an
// ElementTypeError that names the field in the way.
func Element[T any]() error { return nil }
