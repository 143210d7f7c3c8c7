// Package link knows whether the gateway can be reached.
package link

import "fmt"

type State int

const (
	Down State = iota
	Dialing
	Up
)

func (s State) String() string {
	switch s {
	case Down:
		return "down"
	case Dialing:
		return "dialing"
	case Up:
		return "up"
	}
	return fmt.Sprintf("State(%d)", int(s))
}
