//go:build !linux

package cage

import (
	"fmt"
	"os"
)

// Main is rye-cage. On this system it only prints its build.
func Main(args []string, build string) int {
	if len(args) == 2 && args[1] == "--build-id" {
		fmt.Println(build)
		return 0
	}
	fmt.Fprintln(os.Stderr, "rye-cage makes namespaces, which only Linux has")
	return 2
}
