package runtime

// The first byte of a notice between ranks says what it is. Its number is that of a
// communicator.
const (
	noticeBreak    = 'b' // the communicator is broken; why
	noticeClosed   = 'c' // the sender has closed communicators; see World.tell
	noticeQuestion = 'q' // see Comm.Inquire
	noticeAnswer   = 'a'
)

// takeNotice takes a notice of another rank. One of another form changes nothing. The engine
// calls it with its lock held.
func (w *World) takeNotice(source, number int, text []byte) {
	if len(text) == 0 {
		return
	}
	switch text[0] {
	case noticeBreak:
		w.takeBreak(source, number, text[1:])
	case noticeClosed:
		w.takeClosed(source, number, text[1:])
	case noticeQuestion:
		w.takeQuestion(source, number, text)
	case noticeAnswer:
		w.takeAnswer(text)
	}
}
