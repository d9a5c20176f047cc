package runtime

import (
	"encoding/binary"
	"sync"
	"sync/atomic"
	"time"
)

// inquiryTime is how long an Inquire waits. The background of a rank that computes
// answers within tens of milliseconds.
const inquiryTime = 2 * time.Second

// inquiry is a question under way. text is set before answered is.
type inquiry struct {
	text     []byte
	answered atomic.Bool
}

// inquiries are those of a World.
type inquiries struct {
	// mu guards the fields below it. It may be taken with the engine's lock held, and
	// nothing is called under it.
	mu   sync.Mutex
	last uint32
	open map[uint32]*inquiry
}

func (s *inquiries) add(q *inquiry) uint32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = make(map[uint32]*inquiry)
	}
	s.last++
	s.open[s.last] = q
	return s.last
}

func (s *inquiries) remove(id uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, id)
}

// answer hands a text to the inquiry with a number, once, if it is still open.
func (s *inquiries) answer(id uint32, text []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if q := s.open[id]; q != nil && !q.answered.Load() {
		q.text = append([]byte(nil), text...)
		q.answered.Store(true)
	}
}

// question is the body of a notice that asks a question.
//
//	byte 0 noticeQuestion, bytes 1-4 id, 5-12 subject, little endian
type question struct {
	id      uint32
	subject uint64
}

const questionBytes = 13

func (q question) append(b []byte) []byte {
	b = append(b, noticeQuestion)
	b = binary.LittleEndian.AppendUint32(b, q.id)
	return binary.LittleEndian.AppendUint64(b, q.subject)
}

func parseQuestion(b []byte) (question, bool) {
	if len(b) != questionBytes {
		return question{}, false
	}
	return question{binary.LittleEndian.Uint32(b[1:]), binary.LittleEndian.Uint64(b[5:])}, true
}

// questionsMax bounds the questions of a rank that wait for their answers. A correct
// rank has one under way for each goroutine that reports a mistake.
const questionsMax = 64

// posed is a question about a communicator.
type posed struct {
	question
	number uint32
}

// questions are those of other ranks that wait for their answers. A goroutine answers
// those of a rank, one after the other, as long as there are any: however many a rank
// asks, and however long an Answerer takes, others are answered.
type questions struct {
	// mu guards waiting. It may be taken with the engine's lock held, and nothing is
	// called under it.
	mu sync.Mutex
	// waiting are the questions by the rank that asked them. A rank with an entry has a
	// goroutine that answers it.
	waiting map[int][]posed
}

// add queues a question of a rank, or drops it if too many of the rank wait. It reports
// whether the caller must start a goroutine that answers the rank.
func (s *questions) add(source int, q posed) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	waiting, answered := s.waiting[source]
	if len(waiting) == questionsMax {
		return false
	}
	if s.waiting == nil {
		s.waiting = make(map[int][]posed)
	}
	s.waiting[source] = append(waiting, q)
	return !answered
}

// next takes the oldest question of a rank. If there is none, the goroutine that answers
// the rank ends.
func (s *questions) next(source int) (posed, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	waiting := s.waiting[source]
	if len(waiting) == 0 {
		delete(s.waiting, source)
		return posed{}, false
	}
	s.waiting[source] = waiting[1:]
	return waiting[0], true
}

// takeQuestion starts the answer to another rank. The engine calls it with its lock held.
func (w *World) takeQuestion(source, number int, text []byte) {
	q, ok := parseQuestion(text)
	if ok && w.questions.add(source, posed{q, uint32(number)}) {
		go w.answerAll(source)
	}
}

// answerAll answers the questions of a rank until none is left.
func (w *World) answerAll(source int) {
	for q, ok := w.questions.next(source); ok; q, ok = w.questions.next(source) {
		answer := binary.LittleEndian.AppendUint32([]byte{noticeAnswer}, q.id)
		w.engine.Notify(source, int(q.number), append(answer, w.comms.answer(q.number, q.subject)...))
	}
}

// takeAnswer takes an answer: byte 0 noticeAnswer, bytes 1-4 id, then the text. The
// engine calls it with its lock held.
func (w *World) takeAnswer(text []byte) {
	if len(text) < 5 {
		return
	}
	w.inquiries.answer(binary.LittleEndian.Uint32(text[1:]), text[5:])
	w.wake()
}

// answer returns the first answer of a communicator's attributes to a subject.
func (s *comms) answer(number uint32, subject uint64) []byte {
	s.mu.RLock()
	core := s.live[number]
	s.mu.RUnlock()
	if core == nil {
		return nil
	}
	for _, v := range core.attributes.values() {
		if a, ok := v.(Answerer); ok {
			if text := a.Answer(subject); len(text) > 0 {
				return text[:min(len(text), AnswerMax)]
			}
		}
	}
	return nil
}
