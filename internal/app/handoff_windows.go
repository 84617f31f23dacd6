package app

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/build"
)

// replace runs the program at path with this process's descriptors and returns its
// status, because Windows has no exec. Ctrl-C reaches both; the child handles it.
func replace(path string, args []string) (int, error) {
	signal.Ignore(os.Interrupt)
	cmd := exec.Command(path, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err == nil || errors.As(err, &exit) {
		return cmd.ProcessState.ExitCode(), nil
	}
	return 0, fault.New(fault.Failed, "start %s: %w", path, err).Mend(build.Install)
}
