// Command quickstart uses rye on real input and prints every step: the command after "$ ",
// its output, and its meaning. It uses the built programs only, in a home directory and
// projects of its own, with no network but loopback, and removes everything at the end. An
// unexpected exit code or a missing word in an output makes it fail.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

func main() {
	bin := flag.String("bin", "bin", "directory of the built programs")
	keep := flag.Bool("keep", false, "keep the directories that were used")
	limit := flag.Duration("limit", 4*time.Minute, "give up after this time")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, *limit)
	defer cancel()
	if err := run(ctx, *bin, *keep); err != nil {
		fmt.Fprintf(os.Stderr, "\nquickstart: FAILED: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, bin string, keep bool) (err error) {
	start := time.Now()
	w, err := newWorld(bin)
	if err != nil {
		return err
	}
	defer func() {
		if keep {
			fmt.Println("\nkept:", w.dir)
			return
		}
		err = errors.Join(err, w.remove())
	}()
	for _, c := range chapters {
		fmt.Printf("\n== %s\n", c.title)
		if err := c.play(ctx, w); err != nil {
			return fmt.Errorf("%s: %w", c.title, err)
		}
	}
	fmt.Printf("\nquickstart: passed, %d commands in %.1f s\n", w.commands, time.Since(start).Seconds())
	return nil
}

// A world holds two people on one machine, and the host between them.
type world struct {
	dir      string  // of everything here
	rye      string  // the built program
	git      string  // "" when there is none
	python   string  // a real interpreter; "" when there is none
	shim     bool    // python3 on PATH is a version manager's script
	alice    *person // writes and publishes
	bob      *person // finds and uses
	host     *host   // of the registry; nil before it is started
	commands int
}

func newWorld(bin string) (*world, error) {
	abs, err := filepath.Abs(bin)
	if err != nil {
		return nil, err
	}
	w := &world{rye: filepath.Join(abs, "rye"+exe())}
	if _, err := os.Stat(w.rye); err != nil {
		return nil, fmt.Errorf("%w (run make build)", err)
	}
	if w.git, err = exec.LookPath("git"); err != nil {
		w.git = ""
	}
	w.python, w.shim = findPython()
	if w.dir, err = os.MkdirTemp("", "rye-quickstart-"); err != nil {
		return nil, err
	}
	if w.dir, err = filepath.EvalSymlinks(w.dir); err != nil { // macOS: /var is a link
		return nil, err
	}
	for _, p := range []struct {
		at   **person
		name string
	}{{&w.alice, "alice"}, {&w.bob, "bob"}} {
		if *p.at, err = w.newPerson(p.name); err != nil {
			return nil, errors.Join(err, os.RemoveAll(w.dir))
		}
	}
	return w, nil
}

// remove ends the host and deletes the world, write-protected files included.
func (w *world) remove() error {
	var err error
	if w.host != nil {
		err = w.host.close()
	}
	filepath.WalkDir(w.dir, func(p string, d os.DirEntry, _ error) error {
		if d != nil && d.IsDir() {
			os.Chmod(p, 0o700)
		}
		return nil
	})
	return errors.Join(err, os.RemoveAll(w.dir))
}

// findPython returns the interpreter behind python3, and whether the first python3 on
// PATH is only a script. Version managers put such a script there. rye skips it, because
// it chooses an interpreter by files in the current directory.
func findPython() (path string, shim bool) {
	named, err := exec.LookPath("python3")
	if err != nil {
		return "", false
	}
	f, err := os.Open(named)
	if err != nil {
		return "", false
	}
	defer f.Close()
	magic := make([]byte, 2)
	_, err = f.Read(magic)
	out, runErr := exec.Command(named, "-I", "-c", "import sys; print(sys.executable)").Output()
	if err != nil || runErr != nil {
		return "", false
	}
	return strings.TrimSpace(string(out)), string(magic) == "#!"
}

func exe() string {
	if runtime.GOOS == "windows" {
		return ".exe"
	}
	return ""
}
