package link

import "testing"

func TestString(t *testing.T) {
	if Up.String() != "up" || State(9).String() != "State(9)" {
		t.Fatal(Up, State(9))
	}
}
