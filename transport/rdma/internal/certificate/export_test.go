package certificate

// AdmissionsKept is how many nonces a side remembers.
const AdmissionsKept = admissionsKept

// Remembered is how many it does.
func Remembered(s *Sides) int { return len(s.admission.seen) }
