package primitive

import "strconv"

// BackVar is the variable that names the descriptor of Call.Back, in decimal. A program that
// gets none finds no such variable; one that sets it for what it starts names a descriptor of
// its own.
const BackVar = "RYE_CALL"

// backAt is the number of the descriptor: behind the standard three, and what is sealed.
func backAt(c *Call) string {
	at := 3
	if c.Sealed != nil {
		at++
	}
	return strconv.Itoa(at)
}
