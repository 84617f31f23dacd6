package main_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
)

// reachEnv makes the test's program a client of Go: an address of the web, or host:port.
const reachEnv = "RYE_TEST_REACH"

func reach() {
	to := os.Getenv(reachEnv)
	err := func() error {
		if strings.HasPrefix(to, "https://") {
			r, err := http.Get(to)
			if err != nil {
				return err
			}
			defer r.Body.Close()
			_, err = io.Copy(os.Stdout, r.Body)
			return err
		}
		c, err := net.Dial("tcp", to)
		if err != nil {
			return err
		}
		defer c.Close()
		fmt.Fprintln(c, "hello")
		line, err := bufio.NewReader(c).ReadString('\n')
		fmt.Print(line)
		return err
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
