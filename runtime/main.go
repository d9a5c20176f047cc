package runtime

// Main joins the job, runs fn, leaves the job and ends the process: with 0, or
// with 1 after printing fn's error. A panic in fn prints its stack and ends the
// job. It does not return.
func Main(fn func(*World) error) {}

// Init joins the job. A program started without gorun is a world of one rank.
// The caller ends with World.Close.
func Init() (*World, error) { return &World{comm: &Comm{}}, nil }
