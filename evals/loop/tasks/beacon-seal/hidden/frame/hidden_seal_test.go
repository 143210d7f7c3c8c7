package frame_test

import (
	"bytes"
	"testing"

	"example.test/beacon/frame"
)

func TestHiddenSeal(t *testing.T) {
	for _, p := range [][]byte{{7}, []byte("123456789")} {
		c := frame.CRC16(p)
		want := append([]byte{0xB5, 2, byte(len(p))}, p...)
		want = append(want, byte(c), byte(c>>8))
		got, err := frame.Seal(2, p)
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("got %X %v, want %X", got, err, want)
		}
	}
	if _, err := frame.Seal(2, make([]byte, 201)); err != frame.ErrTooLong {
		t.Fatal(err)
	}
}
