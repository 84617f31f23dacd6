package primitive

import "strconv"

// BackVar is the variable that names the descriptor of Call.Back, in decimal. A program without
// such a descriptor has no such variable. If a program sets it for its own children, it names its
// own descriptor.
const BackVar = "RYE_CALL"

// backAt returns the descriptor's number: after the three standard ones, and the sealed file.
func backAt(c *Call) string {
	at := 3
	if c.Sealed != nil {
		at++
	}
	return strconv.Itoa(at)
}
