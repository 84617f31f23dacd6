//go:build unix

package thread

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rye-os/rye"
)

// localChild is a thread that runs in the process of the test.
type localChild struct {
	ready chan error
	begin chan struct{}
}

func (c *localChild) Ready(context.Context) error { return <-c.ready }
func (c *localChild) Go() error                   { close(c.begin); return nil }
func (c *localChild) Pid() int                    { return os.Getpid() }

// A thread whose scripted model takes an hour ends at once, when its process is told to end or when
// a person cancels it, and no goroutine of it is left.
func TestSlowModelIsInterrupted(t *testing.T) {
	c := newCrashSite(t, crashScript)
	slow := strings.Replace(crashScript[1:], `- say: "I begin."`, "- say: \"I begin.\"\n        wait: 1h", 1)
	if err := os.WriteFile(filepath.Join(c.Dir, ".ai", "tools", "acme", "scripted.yaml"), []byte(slow), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := c.workspace().Sign(t.Context(), rye.Terminal(), rye.SignRequest{Targets: []rye.Target{"tool:acme/scripted"}}); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name string
		stop func(s *Service, id string, end func()) error
		want string
	}{
		{"its process is told to end", func(_ *Service, _ string, end func()) error { end(); return nil }, Suspended},
		{"a person cancels it", func(s *Service, id string, _ func()) error {
			_, err := s.Stop(t.Context(), rye.Terminal(), rye.StopRequest{ID: id})
			return err
		}, Cancelled},
	} {
		t.Run(row.name, func(t *testing.T) {
			asked := make(chan struct{})
			var once sync.Once
			testOnlyStep = func(name string) {
				if name == "after model_intent" {
					once.Do(func() { close(asked) })
				}
			}
			defer func() { testOnlyStep = func(string) {} }()
			ctx, end := context.WithCancel(t.Context())
			defer end()
			o := c.options(c.workspace())
			child, ended := &localChild{make(chan error, 1), make(chan struct{})}, make(chan error, 1)
			o.Spawn = func(_ context.Context, _ string, handed []byte) (Child, error) {
				go func() {
					err := Prepare(ctx, o).Run(ctx, handed, func() error {
						child.ready <- nil
						<-child.begin
						return nil
					})
					child.ready <- err // where it never was ready
					ended <- err
				}()
				return child, nil
			}
			s := New(o)
			i, err := s.Start(t.Context(), rye.Terminal(), rye.StartRequest{Ref: crashRef("directive:acme/review")})
			if err != nil {
				t.Fatal(err)
			}
			<-asked
			if err := row.stop(s, i.ID, end); err != nil {
				t.Fatal(err)
			}
			t.Logf("it ended with %v", <-ended)
			if got := c.after(t, i.ID); got.Status != row.want {
				t.Errorf("it is %s: %s, want %s", got.Status, got.Why, row.want)
			}
			if left := threadGoroutines(); left != "" {
				t.Errorf("left behind:\n%s", left)
			}
		})
	}
}

// threadGoroutines returns the stacks that belong to a thread or its model. One that has done its
// last act may need a moment to be gone.
func threadGoroutines() (left string) {
	buf := make([]byte, 1<<20)
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); runtime.Gosched() {
		left = ""
		for _, g := range strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
			for _, of := range []string{"thread.(*process)", "agent/provider", "http.(*persistConn)"} {
				if strings.Contains(g, of) {
					left += g + "\n\n"
				}
			}
		}
		if left == "" {
			return ""
		}
	}
	return left
}
