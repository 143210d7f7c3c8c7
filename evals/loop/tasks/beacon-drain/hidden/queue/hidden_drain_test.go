package queue_test

import (
	"testing"
	"time"

	"example.test/beacon/queue"
)

func TestHiddenDrain(t *testing.T) {
	q := queue.Queue{Max: 50}
	for i, alarm := range []bool{false, true, false, false, true, false} {
		q.Add(queue.Msg{At: time.Unix(int64(1000+i), 0), Alarm: alarm, Data: []byte{byte('a' + i)}})
	}
	got := ""
	for _, m := range q.Drain() {
		got += string(m.Data)
	}
	if got != "befdca" {
		t.Fatal(got)
	}
	if q.Len() != 0 || len(q.Drain()) != 0 {
		t.Fatal("not empty")
	}
}
