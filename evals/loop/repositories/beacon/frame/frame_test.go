package frame

import (
	"bytes"
	"testing"
)

func TestCRC16(t *testing.T) {
	if got := CRC16([]byte("123456789")); got != 0x29B1 {
		t.Fatalf("%04X", got)
	}
}

func TestHeader(t *testing.T) {
	h, err := Header(KindAlarm, AlarmPayload(7))
	if err != nil || !bytes.Equal(h, []byte{0xB5, 2, 1}) {
		t.Fatal(h, err)
	}
	if _, err := Header(KindAlarm, make([]byte, 201)); err != ErrTooLong {
		t.Fatal(err)
	}
}
