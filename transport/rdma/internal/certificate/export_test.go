package certificate

// AdmissionsKept is the number of nonces that a side remembers at most.
const AdmissionsKept = admissionsKept

// Remembered returns the number of nonces that a side remembers now.
func Remembered(s *Sides) int { return len(s.admission.seen) }
