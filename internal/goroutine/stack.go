package goroutine

import "strings"

// Stack describes one goroutine in the text that Parse parses.
type Stack struct {
	// State is the reason why the goroutine does not run, such as "chan receive", or "running" if it runs.
	State string
	// Functions contains the names of the functions on its stack, the innermost first. The last one
	// is the function with which the goroutine began.
	Functions []string
	// Creator is the function that started the goroutine, or "" for the main goroutine.
	Creator string
}

// Parse parses the text of goruntime.Stack. It returns false if the text does not have the expected
// format, or if frames were omitted from it.
//
//	goroutine 7 [chan receive, 2 minutes]:
//	main.wait(0xc000012345)
//		/src/main.go:12 +0x25
//	created by main.main in goroutine 1
//		/src/main.go:7 +0x3c
func Parse(text string) ([]Stack, bool) {
	var all []Stack
	for part := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n\n") {
		lines := strings.Split(part, "\n")
		head, isHead := strings.CutPrefix(lines[0], "goroutine ")
		_, state, bracket := strings.Cut(head, "[")
		state, end, closed := strings.Cut(state, "]")
		if !isHead || !bracket || !closed || end != ":" {
			return nil, false
		}
		s := Stack{}
		s.State, _, _ = strings.Cut(state, ",")
		for _, line := range lines[1:] {
			switch creator, created := strings.CutPrefix(line, "created by "); {
			case strings.HasPrefix(line, "\t"):
			case created:
				s.Creator, _, _ = strings.Cut(creator, " in goroutine ")
			case strings.HasPrefix(line, "..."): // Go has omitted frames
				return nil, false
			default:
				s.Functions = append(s.Functions, nameOf(line))
			}
		}
		if len(s.Functions) == 0 {
			return nil, false
		}
		all = append(all, s)
	}
	return all, len(all) > 0
}

// nameOf returns the function of a line, without its arguments. It cuts the line at the last opening
// parenthesis, because the name of a method may contain parentheses, as in "sync.(*WaitGroup).Wait(0x0)".
func nameOf(line string) string {
	if i := strings.LastIndexByte(line, '('); i >= 0 {
		return line[:i]
	}
	return line
}
