package primitive

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// asks writes a line to whoever answers, and prints the answer and which descriptors it has.
const asks = `if [ "$RYE_CALL" ]; then echo "hello from $RYE_CALL" >&"$RYE_CALL"; read -r line <&"$RYE_CALL"; echo "$line"; else echo none; fi
for fd in 3 4 5 6 7 8; do [ -e /proc/$$/fd/$fd ] && printf "$fd "; done; echo`

// TestBack: a program has the connection, in every tier, sealed or not; one that was given
// none has no descriptor but its own three, and no variable.
func TestBack(t *testing.T) {
	for _, tier := range []Tier{S0, S1, S2, S3} {
		t.Run(tier.String(), func(t *testing.T) { backIn(t, tier, 0) })
	}
	t.Run("S3 as the project's owner", func(t *testing.T) { // whose process does not share memory with this one
		if os.Getuid() != 0 {
			t.Skip("only the superuser can become somebody else")
		}
		backIn(t, S3, 65534)
	})
}

// TestBackOfAnotherUser does the same as an ordinary user, whose processes are made in another
// way.
func TestBackOfAnotherUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only the superuser can become somebody else")
	}
	dir := forNobody(t)
	cmd := exec.Command(filepath.Join(dir, "primitive.test"), "-test.run", "^TestBack$", "-test.v")
	cmd.Dir, cmd.Env = dir, []string{"TMPDIR=" + dir, "HOME=" + dir, "PATH=" + SafePath}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestBack/S2") {
		t.Errorf("%v\n%s", err, out)
	}
}

func backIn(t *testing.T, tier Tier, owner uint32) {
	switch tier {
	case S2:
		needS2(t)
	case S3:
		needS3(t)
	}
	shell, err := os.ReadFile(program(t, "bash"))
	if err != nil {
		t.Fatal(err)
	}
	for _, sealed := range []bool{false, true} {
		c := bash(t, asks)
		c.Sandbox.Tier, c.Sandbox.Owner, c.Sandbox.OwnerGroup = tier, owner, owner
		if owner != 0 {
			c.Temp = RunTemp
		}
		c.Env = map[string]string{BackVar: "7"} // whatever an item says
		want, at := "hello from 3\n3 \n", "3"
		if sealed {
			c.Sealed, c.Argv[0] = shell, SealedPath
			want, at = "hello from 4\n3 4 \n", "4"
		}
		if got := answered(t, &c); got != want {
			t.Errorf("sealed %v: at %s: %q, want %q", sealed, at, got, want)
		}
	}
	c := bash(t, asks)
	c.Sandbox.Tier, c.Sandbox.Owner, c.Sandbox.OwnerGroup = tier, owner, owner
	if owner != 0 {
		c.Temp = RunTemp
	}
	c.Env = map[string]string{BackVar: "3"}
	if got := string(mustRun(t, c).Stdout); got != "none\n\n" {
		t.Errorf("without one: %q", got)
	}
}

// answered runs c with a connection that says back what it hears, and returns what it printed.
func answered(t *testing.T, c *Call) string {
	t.Helper()
	ours, theirs, err := Pair()
	if err != nil {
		t.Fatal(err)
	}
	c.Back = theirs
	over := make(chan error, 1)
	go func() {
		in := bufio.NewReader(ours)
		line, err := in.ReadString('\n')
		io.WriteString(ours, line)
		if err == nil {
			_, err = in.ReadByte()
		}
		over <- err
	}()
	r := mustRun(t, *c)
	select {
	case err := <-over: // nobody else holds the program's end
		if !errors.Is(err, io.EOF) {
			t.Errorf("the connection ended with %v", err)
		}
	case <-time.After(5 * time.Second):
		t.Error("somebody holds the program's end")
	}
	ours.Close()
	if len(r.Stderr) > 0 {
		t.Logf("%s", r.Stderr)
	}
	return string(r.Stdout)
}

// TestBackIsTheProgramsAlone: once the program has closed its end, nobody has it.
func TestBackIsTheProgramsAlone(t *testing.T) {
	for _, tier := range []Tier{S0, S1, S2, S3} {
		t.Run(tier.String(), func(t *testing.T) {
			if tier == S3 {
				needS3(t)
			} else if tier == S2 {
				needS2(t)
			}
			ours, theirs, err := Pair()
			if err != nil {
				t.Fatal(err)
			}
			defer ours.Close()
			c := bash(t, `exec 3>&-; sleep 0.3`)
			c.Back, c.Sandbox.Tier = theirs, tier
			var ended time.Time
			over := make(chan struct{})
			go func() {
				defer close(over)
				if n, err := ours.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
					t.Errorf("%d, %v", n, err)
				}
				ended = time.Now()
			}()
			mustRun(t, c)
			if <-over; time.Since(ended) < 100*time.Millisecond {
				t.Error("somebody else had it as long as the program ran")
			}
		})
	}
}
