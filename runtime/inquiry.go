package runtime

import (
	"encoding/binary"
	"sync"
	"sync/atomic"
	"time"
)

// inquiryTime is the timeout of an Inquire. If the asked rank computes, its background goroutine
// takes the question within tens of milliseconds, and another goroutine answers it.
const inquiryTime = 2 * time.Second

// inquiry is a question of this rank that is under way. The field text is the answer. It is written before the
// field answered becomes true.
type inquiry struct {
	text     []byte
	answered atomic.Bool
}

// inquiries are the inquiries of a World that are under way.
type inquiries struct {
	// mu guards the fields below it. It may be taken while the engine's lock is held. No other lock
	// is taken while mu is held.
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

// answer stores the text of the answer to an inquiry, if the inquiry is still open and has
// no answer yet.
func (s *inquiries) answer(id uint32, text []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if q := s.open[id]; q != nil && !q.answered.Load() {
		q.text = append([]byte(nil), text...)
		q.answered.Store(true)
	}
}

// question is the text of a notice that asks a question.
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

// questionsMax bounds how many questions of one other rank wait at this rank for an answer. Each
// goroutine of a correct rank has at most one question under way, because Comm.Inquire waits for the
// answer.
const questionsMax = 64

// posed is a question with the number of the communicator that it is about.
type posed struct {
	question
	number uint32
}

// questions are the questions of other ranks that wait to be answered. For each rank with
// waiting questions, one goroutine answers them in order and ends when none is left. So neither
// a rank that asks many questions nor a slow Answerer delays the answers to other ranks.
type questions struct {
	// mu guards waiting. It may be taken while the engine's lock is held. No other lock is taken
	// while mu is held.
	mu sync.Mutex
	// waiting holds the questions by the world rank that asked them. For each rank
	// that has an entry, one goroutine answers the questions.
	waiting map[int][]posed
}

// add enqueues a question of a rank, or discards it if questionsMax questions of that rank wait
// already. It reports whether the caller must start a goroutine that answers the rank.
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

// next dequeues the oldest question of a rank. If it returns false, no question is left,
// and the caller, which is the goroutine that answers the rank, must end.
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

// takeQuestion handles the notice of a question: it enqueues the question and starts the goroutine
// that answers source if none runs. The engine calls takeQuestion with its lock held.
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

// takeAnswer handles the notice of an answer: byte 0 noticeAnswer, bytes 1-4 id, then the text of
// the answer. The engine calls takeAnswer with its lock held.
func (w *World) takeAnswer(text []byte) {
	if len(text) < 5 {
		return
	}
	w.inquiries.answer(binary.LittleEndian.Uint32(text[1:]), text[5:])
	w.wake()
}

// answer asks the Answerers among the attributes of a communicator about a subject, and
// returns the first answer that is not empty, or nil.
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
