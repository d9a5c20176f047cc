package runtime

// Kinds of notices between ranks: the first byte of the text. The number of a notice is the number
// of a communicator.
const (
	noticeBreak    = 'b' // the communicator is broken; see breakNotice
	noticeClosed   = 'c' // the sender has closed communicators; see World.tell
	noticeQuestion = 'q' // see Comm.Inquire
	noticeAnswer   = 'a' // see World.takeAnswer
)

// takeNotice handles a notice of another rank. It ignores a malformed notice. The engine calls
// takeNotice with its lock held.
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
