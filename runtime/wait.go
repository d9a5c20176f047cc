package runtime

// WaitAll waits for all requests and returns their errors joined, nil if none
// failed. It waits for every one even when some fail. nil requests are complete.
func WaitAll(requests ...*Request) error { return nil }

// WaitAny waits until one of the requests is complete, and returns its index and
// result. It skips nil requests and those whose result was returned before; when
// nothing is left it returns Undefined.
func WaitAny(requests ...*Request) (int, Status, error) { return Undefined, Status{}, nil }

// WaitSome waits until at least one request is complete and returns the indices
// of all that are, nil when nothing is left. Their results are had by Wait.
func WaitSome(requests ...*Request) ([]int, error) { return nil, nil }

// TestAll reports whether all requests are complete, and their errors joined if
// so.
func TestAll(requests ...*Request) (bool, error) { return false, nil }
