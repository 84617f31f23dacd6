package primitive

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A tool must not be able to change the bytes that were verified, neither its own
// nor those of the next run, whatever the owner of the files may do elsewhere.
func TestToolCannotWriteItsOwnRun(t *testing.T) {
	needS2(t)
	r, err := Materialise(temp(t), []File{{Path: "tools/x.sh", Data: []byte("cat \"$0\" >/dev/null && echo read\n" +
		"chmod u+w \"$0\"; echo evil >> \"$0\" || echo kept; d=${0%/*}; chmod u+w \"$d\"; echo evil > \"$d/new\" || echo closed; rm -f \"$0\" || echo stays\n")}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Remove()
	c := bash(t, "")
	c.Argv = []string{c.Argv[0], "--noprofile", "--norc", filepath.Join(r.Files, "tools/x.sh")}
	c.Temp = r.Temp
	c.Sandbox.Exec = []string{r.Files}
	res := mustRun(t, c)
	if got := string(res.Stdout); got != "read\nkept\nclosed\nstays\n" {
		t.Errorf("stdout %q, stderr %q", got, res.Stderr)
	}
}

// What was verified is what runs: the file that somebody swaps in the working tree
// after the check is not the file that is executed.
func TestSwappedFileCannotMatter(t *testing.T) {
	work := filepath.Join(temp(t), "tool.sh")
	verified := []byte("echo verified\n")
	stop := make(chan struct{})
	swapped := make(chan struct{})
	go func() {
		defer close(swapped)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			os.WriteFile(work, []byte("echo EVIL\n"), 0o700)
			os.WriteFile(work, verified, 0o700)
		}
	}()
	runs := 20
	if os.Getenv("RYE_SOAK") != "" {
		runs = 2000
	}
	dir := temp(t)
	for range runs {
		r, err := Materialise(dir, []File{{Path: "tool.sh", Data: verified}})
		if err != nil {
			t.Fatal(err)
		}
		c := bash(t, "")
		c.Argv = []string{c.Argv[0], filepath.Join(r.Files, "tool.sh")}
		c.Temp = r.Temp
		c.Sandbox.Exec = []string{r.Files}
		if got := strings.TrimSpace(string(mustRun(t, c).Stdout)); got != "verified" {
			t.Errorf("ran %q", got)
		}
		r.Remove()
	}
	close(stop)
	<-swapped
}
