package records

import (
	"os"
	"strconv"
)

// uid returns the number of the user that runs this process; "" on Windows, which has none.
func uid() string {
	if n := os.Geteuid(); n >= 0 {
		return strconv.Itoa(n)
	}
	return ""
}
