package link_test

import (
	"testing"
	"time"

	"example.test/beacon/link"
)

func TestHiddenRedial(t *testing.T) {
	for n := 1; n <= 8; n++ {
		if w, ok := link.Redial(n); !ok || w != 90*time.Second {
			t.Fatal(n, w, ok)
		}
	}
	for _, n := range []int{9, 10, 100} {
		if w, ok := link.Redial(n); ok || w != 0 {
			t.Fatal(n, w, ok)
		}
	}
}
