package cage

import (
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// makerEnv makes a process of this test one that makes namespaces, and ends amid that.
const makerEnv = "RYE_TEST_MAKER"

// TestEndedMakerLeavesNoProcess ends a program while several of its processes wait for it. If one
// had a copy of another's socket, both would wait for ever, and keep the program's output open.
func TestEndedMakerLeavesNoProcess(t *testing.T) {
	if os.Getenv(makerEnv) != "" {
		makeAndEnd()
	}
	for range 20 {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("/proc/self/exe", "-test.run", "^TestEndedMakerLeavesNoProcess$")
		cmd.Env = append(os.Environ(), makerEnv+"=1")
		cmd.Stdout, cmd.Stderr = w, w
		err = cmd.Run()
		w.Close()
		r.SetReadDeadline(time.Now().Add(20 * time.Second))
		said, late := io.ReadAll(r)
		r.Close()
		if late != nil {
			t.Fatalf("a process outlives its maker: %v", late)
		}
		if err != nil || len(said) > 0 {
			t.Fatalf("the maker: %v, %q", err, said)
		}
	}
}

func makeAndEnd() {
	for range 4 {
		go func() {
			for {
				if ns, err := Nobody(); err == nil { // the superuser's
					unix.Close(ns)
				}
			}
		}()
		OnThrownAwayThread(func() {
			for {
				if pid, err := Start("/bin/true", "", os.Getuid(), os.Getgid(), os.Stdin); err == nil {
					collect(pid)
				}
			}
		})
	}
	time.Sleep(20 * time.Millisecond)
	os.Exit(0)
}
