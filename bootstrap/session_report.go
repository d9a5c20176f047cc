package bootstrap

// Fail tells the agent that this rank is about to end with the error text. Rank origin, which may be this
// rank, has caused the error. lost is the rank whose loss the error names, or -1. The agent may learn of that
// loss only after the end of this rank. The launcher prints the text once for all ranks with the same text or, with
// -output-dir, adds it to the output of each of these ranks. Fail returns an error if the text cannot be
// sent, for example because there is no agent. The caller then has to print the text.
func (s *Session) Fail(origin, lost int, text string) error {
	if s.conn == nil || s.away != nil {
		return errNoAgent
	}
	return s.send(kindFailed, failed(origin, lost, text))
}

// Report answers the notice Dump with this number. text is cut to 64 KiB.
func (s *Session) Report(number int, text string) error {
	return s.send(kindReport, numbered(number, text))
}

// Stalled tells the agent that this rank has been waiting for some time. text is an encoded [Doing]. The
// agent does not answer.
func (s *Session) Stalled(text string) error { return s.send(kindStalled, numbered(0, text)) }

// Handled tells the agent that the program has recovered from the loss of a rank. With
// OnFailureContinue, the loss then does not count as a failure of the job.
func (s *Session) Handled(rank int) error { return s.send(kindHandled, numbered(rank, "")) }
