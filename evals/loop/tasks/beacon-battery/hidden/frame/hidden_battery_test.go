package frame_test

import (
	"bytes"
	"testing"

	"example.test/beacon/frame"
)

func TestHiddenBattery(t *testing.T) {
	if got := frame.BatteryPayload(frame.Battery{Millivolts: 3712, Percent: 64, Celsius: -5}); !bytes.Equal(got, []byte{0x0E, 0x80, 0xFB}) {
		t.Fatalf("%X", got)
	}
	if got := frame.BatteryPayload(frame.Battery{Millivolts: 255, Percent: 1, Celsius: 20}); !bytes.Equal(got, []byte{0, 0xFF, 20}) {
		t.Fatalf("%X", got)
	}
}
