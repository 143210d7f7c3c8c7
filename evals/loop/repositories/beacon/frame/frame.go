// Package frame builds frames for the gateway, see docs/PROTOCOL.md.
package frame

import "errors"

const Start = 0xB5

const (
	KindMeasurement = 0x01
	KindAlarm       = 0x02
	KindBattery     = 0x03
	KindHello       = 0x04
)

// ErrTooLong is returned for payloads that do not fit into a frame.
var ErrTooLong = errors.New("frame: payload too long")

// Header returns the three bytes before a payload.
func Header(kind byte, payload []byte) ([]byte, error) {
	if len(payload) > 200 {
		return nil, ErrTooLong
	}
	return []byte{Start, kind, byte(len(payload))}, nil
}

// AlarmPayload is the payload of an alarm.
func AlarmPayload(code byte) []byte {
	return []byte{code}
}
