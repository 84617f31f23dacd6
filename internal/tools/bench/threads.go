package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Threads are measured as whole programs, from outside. Their model is a server in this process,
// which notes the times of each request and its answer.

const (
	startThread  = "thread: start to its first request"
	resumeThread = "thread: resume of 1,000 turns to its first request"
	followThread = "thread: first token to another process"
	betweenCalls = "thread: from an answer to the next request"
)

// turns is the number of turns of the resumed thread.
const turns = 1000

func threadRows() []row {
	return []row{
		{what: "engine: thread list, no thread", peer: "rye version, which is a start", setup: engineStart},
		{what: startThread, peer: "two engine starts", setup: startToRequest},
		{what: followThread, peer: "tail -f of a file", setup: firstToken},
		{what: betweenCalls + ", 1 KB of prompt", peer: "its syncs alone", light: true, setup: between(1 << 10)},
		{what: betweenCalls + ", 100 KB", peer: "its syncs alone", light: true, setup: between(100 << 10)},
		{what: betweenCalls + ", 1 MB", peer: "its syncs alone", light: true, setup: between(1 << 20)},
		{what: resumeThread, peer: "cat of its journal", setup: resumeToRequest},
	}
}

// A desk is a project with a directive for threads, and their model.
type desk struct {
	b   *bench
	m   *model
	dir string
}

const directive = "# Talk\n\n```xml\n" + `<directive name="talk" version="1.0.0">
  <metadata>
    <description>Something to say</description>
    <category>acme</category>
    <author>bench</author>
    <model tier="general" provider="acme/model"/>
    <limits turns="1000000" tokens="1000000000000" spend="1000000" duration_seconds="36000"/>
  </metadata>
</directive>
` + "```\n\nTalk on.\n"

// newDesk makes a new project, so that the rows do not affect each other.
func (b *bench) newDesk(name string, prompt int) (*desk, error) {
	m, err := b.startModel()
	if err != nil {
		return nil, err
	}
	d := &desk{b: b, m: m, dir: filepath.Join(b.dir, name)}
	conf := filepath.Join(b.dir, ".config", "rye", "secrets.yaml")
	put := func(path, text string) error {
		return errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600))
	}
	if err := os.MkdirAll(d.dir, 0o755); err != nil {
		return nil, err
	}
	return d, errors.Join(b.do(d.dir, "rye", "init", "--namespace", "acme"),
		put(conf, "hosts: [\""+m.host+"\"]\n"),
		put(filepath.Join(d.dir, ".ai", "directives", "acme", "talk.md"), directive+strings.Repeat("Say something else.\n", prompt/20)),
		put(filepath.Join(d.dir, ".ai", "tools", "acme", "model.yaml"), m.provider()),
		b.do(d.dir, "rye", "sign", "--all", "--quiet"))
}

// start starts a thread and returns its id.
func (d *desk) start(more ...string) (string, error) {
	cmd := d.b.command(d.dir, append([]string{"rye", "thread", "start", "directive:acme/talk", "--json"}, more...)...)
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, clip(exit.Stderr))
		}
		return "", err
	}
	var info struct {
		ID string `json:"thread_id"`
	}
	return info.ID, json.Unmarshal(out, &info)
}

// settled waits until a thread's process has ended, with any result.
func (d *desk) settled(id string) error {
	err := d.b.do(d.dir, "rye", "thread", "wait", id)
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 6 { // suspended for lack of a key, which some rows need
		err = nil
	}
	return err
}

// exchange waits for the next request.
func (d *desk) exchange() (exchange, error) {
	ctx, cancel := context.WithTimeout(d.b.ctx, time.Minute)
	defer cancel()
	select {
	case x := <-d.m.seen:
		return x, nil
	case <-ctx.Done():
		return exchange{}, fmt.Errorf("the thread asked nothing; its project is %s", d.dir)
	}
}

func engineStart(b *bench, _ int) (side, side, error) {
	dir, err := b.project(100)
	return b.process(dir, "rye", "thread", "list"), b.process(dir, "rye", "version"), err
}

// startToRequest measures the time that a person waits: from the command to the first byte at the
// model.
func startToRequest(b *bench, _ int) (side, side, error) {
	d, err := b.newDesk("start", 0)
	if err != nil {
		return nil, nil, err
	}
	d.m.say(func() reply { return reply{"done", "end_turn"} })
	ours := func() (cost, error) {
		begun := time.Now()
		id, err := d.start()
		if err != nil {
			return cost{}, err
		}
		x, err := d.exchange()
		return cost{wall: x.came.Sub(begun)}, errors.Join(err, d.settled(id))
	}
	once := b.process(d.dir, "rye", "thread", "list", "--limit", "1")
	theirs := func() (cost, error) {
		first, err := once()
		second, err2 := once()
		return cost{wall: first.wall + second.wall}, errors.Join(err, err2)
	}
	return ours, theirs, nil
}

// between measures a turn without a call, from the last byte of an answer to the first of the next
// request. That includes its records, its payment and the rendering. The peer appends to a file
// the bytes that a turn appends to the journal and the ledger. It waits for the disk as often: for
// the outcome, the bill, the end of the turn, and the next intent.
func between(prompt int) func(*bench, int) (side, side, error) {
	return func(b *bench, _ int) (side, side, error) {
		d, err := b.newDesk(fmt.Sprint("between", prompt), prompt)
		if err != nil {
			return nil, nil, err
		}
		gate := make(chan string) // one answer for each run, so that the sides alternate
		d.m.say(func() reply {
			select {
			case stop := <-gate:
				return reply{"Something.", stop}
			case <-b.ctx.Done():
				return reply{"", "end_turn"}
			}
		})
		id, err := d.start()
		if err != nil {
			return nil, nil, err
		}
		d.b.ends = append(d.b.ends, func() error { gate <- "end_turn"; return d.settled(id) })
		<-d.m.came
		ours := func() (cost, error) {
			gate <- cut
			x, err := d.exchange()
			return cost{wall: (<-d.m.came).Sub(x.left)}, err
		}
		f, err := os.OpenFile(filepath.Join(b.dir, "between"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			return nil, nil, err
		}
		theirs := inside(func() error {
			for range 4 {
				if _, err := f.Write(make([]byte, 600)); err != nil {
					return err
				}
				if err := f.Sync(); err != nil {
					return err
				}
			}
			return nil
		})
		return ours, theirs, nil
	}
}

// firstToken measures the time from the model's first word to a follower's line.
func firstToken(b *bench, _ int) (side, side, error) {
	d, err := b.newDesk("follow", 0)
	if err != nil {
		return nil, nil, err
	}
	gate := make(chan string)
	d.m.say(func() reply { return reply{"Something.", <-gate} })
	id, err := d.start()
	if err != nil {
		return nil, nil, err
	}
	seen, err := b.lines(d.dir, `"cognition_out_delta"`, "rye", "thread", "follow", "--events", id)
	if err != nil {
		return nil, nil, err
	}
	b.ends = append(b.ends, func() error { gate <- "end_turn"; return d.settled(id) })
	path := filepath.Join(b.dir, "followed")
	f, err := os.Create(path)
	if err != nil {
		return nil, nil, err
	}
	tailed, err := b.lines(d.dir, "x", "tail", "-n", "0", "-f", path)
	if err != nil {
		return nil, nil, err
	}
	ours := func() (cost, error) {
		gate <- cut
		x, err := d.exchange()
		at := <-seen
		return cost{wall: at.Sub(x.said)}, err
	}
	theirs := func() (cost, error) {
		begun := time.Now()
		_, err := f.WriteString("x\n")
		return cost{wall: (<-tailed).Sub(begun)}, err
	}
	return ours, theirs, nil
}

// lines starts a program that keeps running, and sends the time of each line with a word.
func (b *bench) lines(dir, word string, args ...string) (<-chan time.Time, error) {
	ctx, cancel := context.WithCancel(b.ctx)
	cmd := b.command(dir, args...)
	cmd = exec.CommandContext(ctx, cmd.Path, cmd.Args[1:]...)
	cmd.Dir, cmd.Env = dir, b.command(dir, args...).Env
	out, err := cmd.StdoutPipe()
	if err := errors.Join(err, cmd.Start()); err != nil {
		cancel()
		return nil, err
	}
	times, ended := make(chan time.Time, 1<<10), make(chan struct{})
	go func() {
		defer close(ended)
		for r := bufio.NewReaderSize(out, 1<<20); ; {
			line, err := r.ReadBytes('\n')
			if err != nil {
				return
			}
			if bytes.Contains(line, []byte(word)) {
				times <- time.Now()
			}
		}
	}()
	b.ends = append(b.ends, func() error { cancel(); <-ended; _ = cmd.Wait(); return nil })
	return times, nil
}

// resumeToRequest begins with a suspended thread of 1,000 turns, as after a provider refused its
// key. Each run suspends it again.
func resumeToRequest(b *bench, _ int) (side, side, error) {
	d, err := b.newDesk("resume", 0)
	if err != nil {
		return nil, nil, err
	}
	n, last := 0, make(chan struct{})
	d.m.say(func() reply {
		if n++; n == turns {
			<-last
		}
		if n > turns {
			return reply{}
		}
		return reply{fourKiB(n), cut}
	})
	id, err := d.start()
	if err != nil {
		return nil, nil, err
	}
	gaps, err := d.gaps(id, last)
	if err != nil {
		return nil, nil, err
	}
	journal := filepath.Join(filepath.Dir(b.store(d.dir)), "threads", id, "journal.jsonl")
	if err := errors.Join(d.settled(id), b.branch(b.store(d.dir), "refs/heads/threads/"+id, journal, gaps)); err != nil {
		return nil, nil, err
	}
	ours := func() (cost, error) {
		begun := time.Now()
		if err := b.do(d.dir, "rye", "thread", "resume", id); err != nil {
			return cost{}, err
		}
		x, err := d.exchange()
		return cost{wall: x.came.Sub(begun)}, errors.Join(err, d.settled(id))
	}
	return ours, b.process(d.dir, "cat", journal), nil
}

// gaps waits for all turns of a thread and returns the times from answer to request. While it
// waits for the last one, it prints the peak memory of the thread's process.
func (d *desk) gaps(id string, hold chan<- struct{}) (gaps []time.Duration, err error) {
	var last exchange
	peak := ""
	for i := range turns + 1 {
		if i == turns-1 {
			peak = d.peak(id)
			close(hold)
		}
		x, err := d.exchange()
		if err != nil {
			return nil, err
		}
		if i > 0 {
			gaps = append(gaps, x.came.Sub(last.left))
		}
		last = x
	}
	fmt.Printf("  a thread of %d turns: %.1f MB of prompt, %s resident at most\n", turns, float64(last.bytes)/1e6, peak)
	return gaps, nil
}

// peak returns the peak memory of a thread's process, or "?" if the system does not report it.
func (d *desk) peak(id string) string {
	var info struct{ Pid int }
	out, err := d.b.command(d.dir, "rye", "thread", "show", id, "--json").Output()
	if err == nil {
		err = json.Unmarshal(out, &info)
	}
	raw, rerr := os.ReadFile(fmt.Sprintf("/proc/%d/status", info.Pid))
	_, rest, ok := strings.Cut(string(raw), "VmHWM:")
	if err != nil || rerr != nil || !ok {
		return "?"
	}
	kb, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		return "?"
	}
	return fmt.Sprintf("%.1f MB", float64(kb)*1024/1e6)
}

// branch prints the cost of a thread's branch in time and bytes, beside plain git. The time of a
// pack of turns is the difference between the longest and the median of each 32 gaps.
func (b *bench) branch(store, ref, journal string, gaps []time.Duration) error {
	var over time.Duration
	for w := range slices.Chunk(gaps, 32) {
		w = slices.Sorted(slices.Values(w))
		over += w[len(w)-1] - w[len(w)/2]
	}
	raw, err := os.ReadFile(journal)
	if err != nil {
		return err
	}
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	if err == nil {
		_, err = z.Write(raw)
		err = errors.Join(err, z.Close())
	}
	used, err2 := b.usage(store, ref)
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	most := float64(packed.Len())*1.3 + 800*turns
	fmt.Printf("  its branch: %.2f ms a turn, %d bytes; gzip -1 of its journal of %d bytes has %d, so at most %.0f\n",
		float64(over.Microseconds())/1e3/turns, used, len(raw), packed.Len(), most)
	for _, perTurn := range []bool{false, true} {
		if err := b.imported(raw, perTurn); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) usage(store, ref string) (int, error) {
	out, err := b.command(store, "git", "rev-list", "--objects", "--disk-usage", ref).Output()
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(out)))
}

// imported writes the same records into a repository by git fast-import: a commit with one file
// for each record, or for each turn.
func (b *bench) imported(journal []byte, perTurn bool) error {
	var in bytes.Buffer
	commit := func(data []byte) {
		fmt.Fprintf(&in, "commit refs/heads/main\ncommitter bench <bench@localhost> 1700000000 +0000\ndata 5\nturn\n\nM 100644 inline turn.jsonl\ndata %d\n%s\n", len(data), data)
	}
	var open []byte
	n := 0
	for line := range bytes.Lines(journal) {
		open = append(open, line...)
		if perTurn && !bytes.Contains(line, []byte(`"event_type":"turn_done"`)) {
			continue
		}
		commit(open)
		open, n = nil, n+1
	}
	dir, err := os.MkdirTemp(b.dir, "import")
	if err != nil {
		return err
	}
	if err := b.do(dir, "git", "init", "--quiet", "--bare"); err != nil {
		return err
	}
	cmd := b.command(dir, "git", "fast-import", "--quiet")
	cmd.Stdin = &in
	took, err := b.timed(cmd)
	used, err2 := b.usage(dir, "refs/heads/main")
	fmt.Printf("  git fast-import, one file a commit, %d commits: %.2f ms a turn, %d bytes\n", n, float64(took.wall.Microseconds())/1e3/turns, used)
	return errors.Join(err, err2)
}
