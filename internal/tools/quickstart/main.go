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
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
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
	if err := run(ctx, os.Stdout, *bin, *keep); err != nil {
		fmt.Fprintf(os.Stderr, "\nquickstart: FAILED: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, bin string, keep bool) (err error) {
	start := time.Now()
	w, err := newWorld(out, bin)
	if err != nil {
		return err
	}
	defer func() {
		if keep {
			fmt.Fprintln(out, "\nkept:", w.dir)
			return
		}
		err = errors.Join(err, w.remove())
	}()
	for _, c := range chapters {
		fmt.Fprintf(out, "\n== %s\n", c.title)
		if err := c.play(ctx, w); err != nil {
			return fmt.Errorf("%s: %w", c.title, err)
		}
	}
	fmt.Fprintf(out, "\nquickstart: passed, %d commands in %.1f s\n", w.commands, time.Since(start).Seconds())
	return nil
}

// A world holds two people on one machine, and the host between them.
type world struct {
	out      io.Writer
	dir      string  // of everything here
	rye      string  // the built program
	git      string  // "" when there is none
	alice    *person // owns acme/
	bob      *person // works with her
	host     *host   // of the registry; nil before it is started
	commands int
}

func newWorld(out io.Writer, bin string) (*world, error) {
	abs, err := filepath.Abs(bin)
	if err != nil {
		return nil, err
	}
	w := &world{out: out, rye: filepath.Join(abs, "rye"+exe())}
	if _, err := os.Stat(w.rye); err != nil {
		return nil, fmt.Errorf("%w (run make build)", err)
	}
	if w.git, err = exec.LookPath("git"); err != nil {
		w.git = ""
	}
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

func exe() string {
	if runtime.GOOS == "windows" {
		return ".exe"
	}
	return ""
}
