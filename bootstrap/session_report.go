package bootstrap

// Fail says that this rank is about to end with an error, the text, that was caused by
// the failure of rank origin, which may be this one. lost is the rank whose loss the error names, -1
// for none: the agent may learn of that loss later than of the end of this rank. The agent prints the
// text, once for all ranks that say the same. Where there is no agent to do so the error says why, and
// the caller prints it.
func (s *Session) Fail(origin, lost int, text string) error {
	if s.conn == nil || s.away != nil && origin == s.Job().Rank {
		return errNoAgent
	}
	if s.away != nil {
		return nil // rank 0 names the rank that failed first
	}
	return s.send(kindFailed, failed(origin, lost, text))
}

// Report answers the Dump of a number with text of at most 64 KiB; the rest is cut.
func (s *Session) Report(number int, text string) error {
	return s.send(kindReport, numbered(number, text))
}

// Stalled says that this rank has waited for some time; text is a [Doing]. No answer
// follows.
func (s *Session) Stalled(text string) error { return s.send(kindStalled, numbered(0, text)) }

// Handled says that the program has recovered from the loss of a rank: with
// OnFailureContinue the loss is then no failure of the job.
func (s *Session) Handled(rank int) error { return s.send(kindHandled, numbered(rank, "")) }
