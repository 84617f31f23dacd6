package primitive

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/rye-os/rye/fault"
)

// process is a started program. Each platform has its own. The methods are called from one
// goroutine in the order ended, sweep, reap, except for signal.
type process interface {
	confining() time.Duration // the part of its start that went into the sandbox
	ended() <-chan struct{}   // closed when the program has ended but still has its pid
	signal(hard bool)         // to the program and its group
	sweep()                   // kill its remaining processes
	reap() (exit int, signal string, err error)
}

func run(ctx context.Context, c Call, stdout, stderr io.Writer) (Result, error) {
	if err := check(&c); err != nil {
		return Result{Exit: -1}, err
	}
	env, err := environment(&c)
	if err != nil {
		return Result{Exit: -1}, err
	}
	if err := ctx.Err(); err != nil {
		return Result{Exit: -1}, interrupted(&c, ctx)
	}
	p, err := openPipes(&c)
	if err != nil {
		return Result{Exit: -1}, fault.New(fault.Failed, "run %s: %w", c.Argv[0], err)
	}
	if c.Sealed != nil {
		f, err := sealFile(c.Sealed)
		if err != nil {
			p.closeChild()
			p.abandon()
			return Result{Exit: -1}, diskFault("seal the files of "+c.Argv[0], err)
		}
		p.child = append(p.child, f)
	}
	if c.Back != nil {
		p.child = append(p.child, c.Back)
	}
	begun := time.Now()
	proc, unbound, err := start(&c, env, p.child)
	p.closeChild()
	if err != nil {
		p.abandon()
		return Result{Exit: -1}, startError(&c, err)
	}
	spawned := time.Since(begun) - proc.confining()
	p.pump(stdout, stderr)
	why := wait(ctx, &c, proc)
	proc.sweep()
	exit, sig, err := proc.reap()
	p.finish()
	res := Result{
		Exit: exit, Signal: sig,
		Stdout: p.out.Bytes(), Stderr: p.err.Bytes(), Truncated: p.out.dropped+p.err.dropped > 0,
		Confined: proc.confining(), Spawned: spawned,
		Tier: c.Sandbox.Tier, Unbound: unbound,
	}
	if more, ok := proc.(interface{ finish(*Result) }); ok {
		more.finish(&res)
	}
	if res.Reached = limitOf(sig); sig == "" && limitOf(signalOf(exit)) != "" {
		res.Near = append(res.Near, limitOf(signalOf(exit))) // a shell reports its child this way
	}
	return finish(ctx, &c, res, why, err)
}

// end is the reason why a run ended.
type end int

const (
	byItself end = iota
	byTimeout
	byCancel
)

// limitOf returns the limit that a signal reports.
func limitOf(sig string) string {
	switch sig {
	case "SIGXCPU":
		return "cpu"
	case "SIGXFSZ":
		return "file"
	}
	return ""
}

func finish(ctx context.Context, c *Call, res Result, why end, err error) (Result, error) {
	switch {
	case why == byTimeout:
		res.TimedOut = true
		return res, fault.New(fault.Limit, "run %s: stopped after its time limit of %s", c.Argv[0], c.Timeout)
	case why == byCancel:
		return res, interrupted(c, ctx)
	case err != nil:
		return res, fault.New(fault.Failed, "run %s: %w", c.Argv[0], err)
	}
	return res, nil
}

func interrupted(c *Call, ctx context.Context) error {
	return fault.New(fault.Interrupt, "run %s: %w", c.Argv[0], cmp.Or(context.Cause(ctx), context.Canceled))
}

// check fills in defaults and refuses invalid calls.
func check(c *Call) error {
	if len(c.Argv) == 0 || !filepath.IsAbs(c.Argv[0]) {
		return fault.New(fault.Usage, "run %q: want the absolute path of a program", c.Argv)
	}
	for i, a := range c.Argv {
		if strings.Contains(a, "\x00") {
			return fault.New(fault.Usage, "run %s: argument %d holds a NUL byte, which a program cannot receive", c.Argv[0], i)
		}
	}
	if c.Sandbox.Tier == 0 {
		c.Sandbox.Tier = Best()
	}
	if c.Sandbox.Tier > S3 {
		return fault.New(fault.Denied, "run %s: this package gives tiers up to S3, %s is required", c.Argv[0], c.Sandbox.Tier)
	}
	if c.Timeout == 0 {
		c.Timeout = DefaultTimeout
	}
	if c.Mark == 0 {
		c.Mark = newMark()
	}
	if c.Grace == 0 {
		c.Grace = DefaultGrace
	}
	if c.MaxOutput <= 0 {
		c.MaxOutput = DefaultMaxOutput
	}
	if c.Dir == "" {
		c.Dir = c.Temp
	}
	return nil
}

// wait returns when the program has ended, by itself or because wait stopped it.
func wait(ctx context.Context, c *Call, p process) end {
	var timer <-chan time.Time
	if c.Timeout > 0 {
		t := time.NewTimer(c.Timeout)
		defer t.Stop()
		timer = t.C
	}
	why := byItself
	select {
	case <-p.ended():
		return byItself
	case <-timer:
		why = byTimeout
	case <-ctx.Done():
		why = byCancel
	case <-hurried(ctx):
		p.signal(true)
		<-p.ended()
		return byCancel
	}
	p.signal(false)
	grace := time.NewTimer(c.Grace)
	defer grace.Stop()
	select {
	case <-p.ended():
		return why
	case <-grace.C:
	case <-hurried(ctx):
	}
	p.signal(true)
	<-p.ended()
	return why
}

func startError(c *Call, err error) error {
	var f *fault.Error
	switch {
	case errors.As(err, &f):
		return err
	case errors.Is(err, fs.ErrNotExist):
		return fault.New(fault.NotFound, "run %s: %w", c.Argv[0], err)
	case errors.Is(err, fs.ErrPermission):
		return fault.New(fault.Denied, "run %s: %w", c.Argv[0], err)
	}
	return fault.New(fault.Failed, "run %s: %w", c.Argv[0], err)
}

// pipes are the three standard streams: the child's ends and ours.
type pipes struct {
	child         []*os.File
	in, outR      *os.File
	errR          *os.File
	stdin         io.Reader // nil is an empty input
	apart         bool      // stdin may never end
	out, err      bounded
	readers, fill sync.WaitGroup
}

func openPipes(c *Call) (p *pipes, err error) {
	p = &pipes{stdin: c.Input, apart: c.Input != nil, out: bounded{max: c.MaxOutput}, err: bounded{max: c.MaxOutput}}
	if c.Input == nil && c.Stdin != nil {
		p.stdin = bytes.NewReader(c.Stdin)
	}
	defer func() {
		if err != nil {
			p.closeChild()
			p.abandon()
		}
	}()
	var in *os.File
	if p.stdin == nil {
		in, err = os.Open(os.DevNull)
	} else {
		in, p.in, err = os.Pipe()
	}
	if err != nil {
		return p, err
	}
	p.child = append(p.child, in)
	for _, r := range []**os.File{&p.outR, &p.errR} {
		var w *os.File
		if *r, w, err = os.Pipe(); err != nil {
			return p, err
		}
		p.child = append(p.child, w)
	}
	return p, nil
}

func (p *pipes) closeChild() {
	for _, f := range p.child {
		f.Close()
	}
}

// abandon closes our ends after a failed start.
func (p *pipes) abandon() {
	for _, f := range []*os.File{p.in, p.outR, p.errR} {
		if f != nil {
			f.Close()
		}
	}
}

// pump starts to move bytes. A program that never reads its input blocks only the writing
// goroutine, until finish closes the pipe.
func (p *pipes) pump(stdout, stderr io.Writer) {
	fill := func() {
		io.Copy(p.in, p.stdin) // EPIPE means that the program wants no more
		p.in.Close()
	}
	switch {
	case p.in == nil:
	case p.apart: // nobody can end a read of a terminal or a pipe, so finish does not wait for it
		go fill()
	default:
		p.fill.Go(fill)
	}
	p.readers.Go(func() { drain(p.outR, &p.out, stdout) })
	p.readers.Go(func() { drain(p.errR, &p.err, stderr) })
}

// finish waits for the end of the output. Every process that could still write is dead by now, if
// the platform lets us kill it. On other platforms, a process that holds the pipe open gets a
// moment and is then ignored.
func (p *pipes) finish() {
	if p.in != nil {
		p.in.Close()
	}
	late := time.Now().Add(lastWords)
	p.outR.SetReadDeadline(late)
	p.errR.SetReadDeadline(late)
	p.readers.Wait()
	p.fill.Wait()
	p.outR.Close()
	p.errR.Close()
}
