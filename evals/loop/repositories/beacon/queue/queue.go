// Package queue keeps messages while the link is down.
package queue

import "time"

type Msg struct {
	At    time.Time
	Alarm bool
	Data  []byte
}

// Queue holds at most Max messages.
type Queue struct {
	Max     int
	waiting []Msg
	Lost    int
}

// Add puts a message in. When the queue is full the oldest measurement makes room, alarms stay.
func (q *Queue) Add(m Msg) {
	if len(q.waiting) >= q.Max {
		for i, w := range q.waiting {
			if !w.Alarm {
				q.waiting = append(q.waiting[:i], q.waiting[i+1:]...)
				q.Lost++
				break
			}
		}
	}
	q.waiting = append(q.waiting, m)
}

// Len is the number of waiting messages.
func (q *Queue) Len() int { return len(q.waiting) }
