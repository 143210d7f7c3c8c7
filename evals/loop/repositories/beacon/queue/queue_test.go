package queue

import "testing"

func TestFull(t *testing.T) {
	q := Queue{Max: 2}
	q.Add(Msg{Alarm: true})
	q.Add(Msg{})
	q.Add(Msg{})
	if q.Len() != 2 || q.Lost != 1 || !q.waiting[0].Alarm {
		t.Fatalf("%+v", q)
	}
}
