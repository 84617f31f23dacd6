//go:build unix

package thread

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/agent/journal"
	"github.com/rye-os/rye/agent/ledger"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/workspace"
)

// What the script of these tests makes a thread do: two calls at once, one of which must never
// happen twice; a result that is too long to be shown; a provider that fails once; words
// instead of the output that is asked for, and then the output.
const crashScript = `
version: "1.0.0"
tool_type: provider
executor_id: null
category: acme
description: A model that answers from a script
config:
  mock:
    turns:
      - say: "I begin."
        calls:
          - {name: rye_execute, args: {item_type: tool, item_id: acme/once, parameters: {text: first}}}
          - {name: rye_execute, args: {item_type: tool, item_id: acme/look}}
      - calls: [{name: rye_search, args: {query: "*", scope: "tool.acme.*"}}]
      - calls: [{name: rye_execute, args: {item_type: tool, item_id: acme/long}}]
      - {times: 1, error: {status: 529}}
      - calls: [{name: rye_execute, args: {item_type: tool, item_id: acme/once, parameters: {text: second}}}]
      - say: "I am done."
      - calls: [{name: directive_return, args: {verdict: "good"}}]
`

const crashTool = `# version: 1.0.0
# executor_id: rye/core/runtimes/bash_runtime
# category: acme
# description: %s
# needs: {write: [out]}
%s
`

var crashDirective = "# Review\n\n```xml\n<directive name=\"review\" version=\"1.0.0\">\n  <metadata>\n    <description>Reviews</description>\n    <category>acme</category>\n    <author>ann</author>\n" +
	"    <model tier=\"general\" provider=\"acme/scripted\"/>\n    <limits turns=\"20\" spend=\"0.9\"/>\n    <permissions><execute><tool>acme.*</tool></execute><search>*</search></permissions>\n  </metadata>\n" +
	"  <outputs><output name=\"verdict\">good or bad</output></outputs>\n</directive>\n```\n\nJudge it.\n"

// crashSite is a person's project in which threads die.
type crashSite struct {
	Dir, Home string
	Step      int        // at which the child dies; 0 is never
	Log       string     // where the child writes its steps
	Full      int        // step from which on the disk has no room; 0 is never
	Boot      string     // of the machine
	Spent     rye.Micros // by a thread that nobody stops
	Dies      bool       // whoever starts the child dies before it says go
	Script    string     // of the model, for a strict host in the child
	Heard     string     // where the child writes what the host was asked; "" is nowhere

	// Takes is what a model takes of the child's clock, which stands still otherwise, but for
	// an hour at each look at a question that is open. 0 is the clock of the machine.
	Takes time.Duration
}

func (c crashSite) workspace() *workspace.Workspace {
	return workspace.Open(c.workspaceOptions())
}

func (c crashSite) workspaceOptions() workspace.Options {
	at := func(name string) string { return filepath.Join(c.Home, name) }
	return workspace.Options{Project: c.Dir, User: c.Home, ConfigDir: at("config"), DataDir: at("data"), StateDir: at("state"), CacheDir: at("cache"),
		Path: os.Getenv("PATH"), Consent: func(context.Context, rye.Question) (bool, error) { return true, nil }}
}

func (c crashSite) options(w *workspace.Workspace) Options {
	return Options{Verbs: w, Record: crashRecord{w.Record()}, Ledger: filepath.Join(c.Home, "data", "ledger", "ledger.db"), Boot: "boot" + c.Boot, User: "user",
		Host: func(string) error { return nil }, Spawn: c.spawn, Secret: func(context.Context, string, string) (string, error) { return "k", nil },
		Answered: func(ctx context.Context, id string) (bool, bool, error) {
			all, err := w.Policy().Questions(ctx, rye.Terminal())
			for _, q := range all {
				if q.ID == id {
					return q.Answer != "", q.Answer == "yes", nil
				}
			}
			return err == nil, false, err
		}}
}

// crashRecord is a record before and after whose commits a process may die.
type crashRecord struct{ rye.Record }

func (r crashRecord) Commit(ctx context.Context, c rye.Caller, q rye.BranchCommit) (string, error) {
	testOnlyStep("before commit")
	tip, err := r.Record.Commit(ctx, c, q)
	testOnlyStep("after commit")
	return tip, err
}

// newCrashSite makes a project with a directive, its tools and its model: a provider item with a
// script, which a strict host plays.
func newCrashSite(t *testing.T, script string) *crashSite {
	t.Helper()
	c := &crashSite{Dir: t.TempDir(), Home: t.TempDir()}
	if err := os.Mkdir(filepath.Join(c.Dir, "out"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := c.workspace().Init(t.Context(), rye.Terminal(), rye.InitRequest{Dir: c.Dir, Namespace: "acme"}); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"directives/acme/review.md": crashDirective, "tools/acme/scripted.yaml": c.hosted(t, script),
		"tools/acme/once.sh": fmt.Sprintf(crashTool, "Adds a line", "# config_schema: {type: object, properties: {text: {type: string}}}\necho \"$1\" >> out/effects; echo noted"),
		"tools/acme/ask.sh":  fmt.Sprintf(crashTool, "Adds a line, when a person agrees", "# tier: t2\n# config_schema: {type: object, properties: {text: {type: string}}}\necho \"$1\" >> out/effects; echo noted"),
		"tools/acme/look.sh": fmt.Sprintf(crashTool, "Looks", "echo seen"),
		"tools/acme/long.sh": fmt.Sprintf(crashTool, "Says much", "seq 1 6000"),
	} {
		path := filepath.Join(c.Dir, ".ai", filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	targets := []rye.Target{"tool:acme/ask", "directive:acme/review", "tool:acme/scripted", "tool:acme/once", "tool:acme/look", "tool:acme/long"}
	if _, err := c.workspace().Sign(t.Context(), rye.Terminal(), rye.SignRequest{Targets: targets}); err != nil {
		t.Fatal(err)
	}
	return c
}

// crashChild is a process of a thread: this program, told so by its environment.
type crashChild struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	dies bool
}

const crashVar = "RYE_TEST_THREAD_PROCESS"

func (c crashSite) spawn(_ context.Context, _ string, handed []byte) (Child, error) {
	site, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	ch := &crashChild{cmd: exec.Command(os.Args[0], "-test.run=^TestThreadProcess$"), dies: c.Dies}
	ch.cmd.Env = append(os.Environ(), crashVar+"="+string(site))
	ch.cmd.Stderr = os.Stderr
	if ch.in, err = ch.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := ch.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	ch.out = bufio.NewReader(out)
	if err := ch.cmd.Start(); err != nil {
		return nil, err
	}
	crashChildren = append(crashChildren, ch)
	_, err = ch.in.Write(append(handed, '\n'))
	return ch, err
}

var crashChildren []*crashChild // of the test that runs; they are run one after the other

func (c *crashChild) Ready(context.Context) error {
	line, err := c.out.ReadString('\n')
	if err == nil && line != "ready\n" {
		code, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		err = fault.New(fault.Code(code), "%s", text)
	}
	return err
}

func (c *crashChild) Go() error {
	if c.dies {
		return errors.Join(errors.New("the starter died"), c.in.Close())
	}
	_, err := io.WriteString(c.in, "go\n")
	return errors.Join(err, c.in.Close())
}

func (c *crashChild) Pid() int { return c.cmd.Process.Pid }

// crashEnd waits for the newest child, and returns what it said last and how it ended.
func crashEnd(t *testing.T) (said string, state *os.ProcessState) {
	t.Helper()
	ch := crashChildren[len(crashChildren)-1]
	if ch.cmd.ProcessState != nil {
		return "", ch.cmd.ProcessState
	}
	rest, err := io.ReadAll(ch.out)
	if err != nil {
		t.Fatal(err)
	}
	_ = ch.cmd.Wait() // its state says how it ended
	return string(rest), ch.cmd.ProcessState
}

// TestThreadProcess is no test but the process of a thread, when a test starts it as one.
func TestThreadProcess(t *testing.T) {
	site := os.Getenv(crashVar)
	if site == "" {
		t.Skip("this is the process that other tests start; by itself it tests nothing")
	}
	var c crashSite
	if err := json.Unmarshal([]byte(site), &c); err != nil {
		t.Fatal(err)
	}
	signal.Ignore(syscall.SIGXFSZ) // a write fails instead
	testOnlyStep = c.dieAt()
	in := bufio.NewReader(os.Stdin)
	handed, err := in.ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	wo := c.workspaceOptions()
	wo.Consent = nil
	o := c.options(workspace.Open(wo))
	if o.HTTP, err = c.serve(t.Context()); err != nil {
		t.Fatal(err)
	}
	if c.Takes > 0 {
		c.moveClock(&o)
	}
	err = Prepare(t.Context(), o).Run(t.Context(), handed, func() error {
		fmt.Println("ready")
		if line, err := in.ReadString('\n'); err != nil || line != "go\n" {
			return fault.New(fault.Interrupt, "whoever started this thread is gone")
		}
		return nil
	})
	if err != nil {
		fmt.Printf("%s %s\n", fault.CodeOf(err), err)
	}
	os.Exit(0) // and none of the testing package's words
}

// moveClock gives the child a clock of its own.
func (c crashSite) moveClock(o *Options) {
	begun := time.Now()
	var moved atomic.Int64
	o.Now = func() time.Time { return begun.Add(time.Duration(moved.Load())) }
	step := testOnlyStep
	testOnlyStep = func(name string) {
		if step(name); name == "after model_intent" {
			moved.Add(int64(c.Takes))
		}
	}
	look := o.Answered
	o.Answered = func(ctx context.Context, id string) (answered, yes bool, err error) {
		if answered, yes, err = look(ctx, id); !answered {
			moved.Add(int64(time.Hour))
		}
		return answered, yes, err
	}
}

// dieAt counts the steps of this process, and ends it at one.
func (c crashSite) dieAt() func(string) {
	if c.Log == "" {
		return func(string) {}
	}
	log, err := os.OpenFile(c.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	steps := make(chan string)
	on := make(chan struct{})
	go func() {
		n := 0
		for name := range steps {
			n++
			fmt.Fprintln(log, name)
			if n == c.Full {
				_ = syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 100, Max: 100})
			}
			if n == c.Step {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			}
			on <- struct{}{}
		}
	}()
	return func(name string) { steps <- name; <-on }
}

// run starts a thread and waits until its process is gone.
func (c crashSite) run(t *testing.T) *rye.ThreadInfo {
	t.Helper()
	s := New(c.options(c.workspace()))
	i, err := s.Start(t.Context(), rye.Terminal(), rye.StartRequest{Ref: crashRef("directive:acme/review")})
	if err != nil {
		t.Fatal(err)
	}
	if said, _ := crashEnd(t); said != "" {
		t.Logf("the process of %s ended: %s", i.ID, said)
	}
	return c.after(t, i.ID)
}

// after describes a thread whose process ended. What that one was starting when it was killed
// holds the lease for a moment.
func (c crashSite) after(t *testing.T, id string) *rye.ThreadInfo {
	t.Helper()
	if err := journal.Wait(t.Context(), c.threadDir(t, id)); err != nil {
		t.Fatal(err)
	}
	return c.info(t, id)
}

func (c crashSite) info(t *testing.T, id string) *rye.ThreadInfo {
	t.Helper()
	i, err := New(c.options(c.workspace())).Thread(t.Context(), rye.Terminal(), id)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// resume lets another process, which does not die, go on with a thread.
func (c crashSite) resume(t *testing.T, q rye.ResumeRequest) (*rye.ThreadInfo, error) {
	t.Helper()
	c.Step, c.Log, c.Full = 0, "", 0
	return c.takeUp(t, q)
}

// takeUp resumes a thread in a process that may die.
func (c crashSite) takeUp(t *testing.T, q rye.ResumeRequest) (*rye.ThreadInfo, error) {
	t.Helper()
	if _, err := New(c.options(c.workspace())).Resume(t.Context(), rye.Terminal(), q); err != nil {
		return nil, err
	}
	if said, _ := crashEnd(t); said != "" {
		t.Logf("the process of %s ended: %s", q.ID, said)
	}
	return c.after(t, q.ID), nil
}

func (c crashSite) export(t *testing.T, id string) string {
	t.Helper()
	raw, err := New(c.options(c.workspace())).Export(t.Context(), rye.Terminal(), rye.ExportRequest{ID: id, Form: "canonical"})
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// threadDir is where a thread lies.
func (c crashSite) threadDir(t *testing.T, id string) string {
	t.Helper()
	dir, err := c.workspace().Record().Threads(t.Context(), recorder)
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, id)
}

func (c crashSite) effects(t *testing.T) []string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(c.Dir, "out", "effects"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return strings.Fields(string(raw))
}

// forget makes place for the effects of another thread.
func (c crashSite) forget(t *testing.T) {
	t.Helper()
	if err := os.Remove(filepath.Join(c.Dir, "out", "effects")); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
}

func crashRef(s string) rye.Ref {
	r, err := objects.ParseRef(s)
	if err != nil {
		panic(err)
	}
	return r
}

// crashRecords reads the records of a thread.
func crashRecords(t *testing.T, dir string) (all []journal.Record) {
	t.Helper()
	_, _, err := journal.Read(t.Context(), dir, func(r journal.Record) error {
		all = append(all, r)
		return nil
	})
	if err != nil && !fault.Is(err, fault.NotFound) {
		t.Fatal(err)
	}
	return all
}

// crashMember reads a member of a record.
func crashMember[T any](t *testing.T, r journal.Record, name string) (v T) {
	t.Helper()
	var m map[string]json.RawMessage
	if err := json.Unmarshal(r.Data, &m); err != nil {
		t.Fatal(err)
	}
	if raw, ok := m[name]; ok {
		if err := json.Unmarshal(raw, &v); err != nil {
			t.Fatal(err)
		}
	}
	return v
}

// openCalls are the calls that a journal begins and does not end, and that may have an effect:
// whose outcome nobody can know.
func openCalls(t *testing.T, records []journal.Record) map[string]bool {
	open := map[string]bool{}
	for _, r := range records {
		id := crashMember[string](t, r, "call_id")
		switch r.Type {
		case "tool_call_start":
			open[id] = !crashMember[bool](t, r, "idempotent")
		case "tool_call_result":
			delete(open, id)
		}
	}
	for id, effect := range open {
		if !effect {
			delete(open, id)
		}
	}
	return open
}

// openQuestion reports whether a question to a model was sent, and nobody knows what it costs.
func openQuestion(t *testing.T, records []journal.Record) bool {
	key := ""
	for _, r := range records {
		switch of := crashMember[string](t, r, "key"); {
		case r.Type == "model_intent":
			key = of
		case of == key && (r.Type == "cognition_out" || r.Type == "budget_released"):
			key = ""
		}
	}
	return key != ""
}

// unknown is a canonical export in which the outcomes of some calls are not known.
func unknown(t *testing.T, canonical string, records []journal.Record, open map[string]bool) string {
	t.Helper()
	var ids []string // in the order of the export
	for _, r := range records {
		if r.Type == "cognition_out" {
			for _, c := range crashMember[[]call](t, r, "calls") {
				ids = append(ids, c.ID)
			}
		}
	}
	lines := strings.SplitAfter(canonical, "\n")
	for i, line := range lines {
		var m map[string]json.RawMessage
		if json.Unmarshal([]byte(line), &m) != nil || m["call"] == nil {
			continue
		}
		if open[ids[0]] {
			m["result"], m["error"] = []byte(`""`), []byte(`"interrupted: this may have been done or not; it was not done again"`)
			var out bytes.Buffer
			e := json.NewEncoder(&out)
			e.SetEscapeHTML(false)
			if err := e.Encode(m); err != nil {
				t.Fatal(err)
			}
			lines[i] = out.String()
		}
		ids = ids[1:]
	}
	return strings.Join(lines, "")
}

// checkEnded compares what the journal, the branch and the ledger say of a thread that ended,
// and what is left of it.
func (c crashSite) checkEnded(t *testing.T, i *rye.ThreadInfo) {
	t.Helper()
	dir := c.threadDir(t, i.ID)
	var settled rye.Micros
	turns := 0
	for _, r := range crashRecords(t, dir) {
		switch r.Type {
		case "budget_settled":
			settled += crashMember[rye.Micros](t, r, "money")
		case "turn_done":
			turns++
		}
	}
	rec := c.workspace().Record()
	b, err := rec.Branch(t.Context(), recorder, i.ID)
	if err != nil {
		t.Error(err)
		return
	}
	if b.Turns != turns+1 {
		t.Errorf("the branch has %d turns, want the %d of the journal and the end", b.Turns, turns)
	}
	raw, err := rec.ReadTurn(t.Context(), recorder, i.ID, b.Turns-1, "state/status.json")
	var status struct{ Spent rye.Micros }
	if err = errors.Join(err, json.Unmarshal(raw, &status)); err != nil {
		t.Error(err)
	}
	book, err := ledger.Open(t.Context(), filepath.Join(c.Home, "data", "ledger", "ledger.db"), ledger.Options{Boot: "boot", Existing: true})
	if err != nil {
		t.Fatal(err)
	}
	defer book.Close()
	nodes, err := book.Tree(t.Context(), i.ID)
	if err != nil {
		t.Error(err)
		return
	}
	n := nodes[0]
	if settled == 0 || n.Spent.Money != settled || status.Spent != settled || i.Spent != settled {
		t.Errorf("spent: %s by the journal, %s by the ledger, %s by the branch, %s as shown", settled, n.Spent.Money, status.Spent, i.Spent)
	}
	if n.Held != (ledger.Amount{}) || !n.Closed {
		t.Errorf("the ledger holds %+v and the node is closed: %t; want nothing and true", n.Held, n.Closed)
	}
	if err := book.Check(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(filepath.Join(dir, keyFile)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the key is there: %v", err)
	}
}

// fsck lets git and rye look at the record.
func (c crashSite) fsck(t *testing.T) {
	t.Helper()
	rep, err := c.workspace().Upkeep().Where(t.Context(), rye.Terminal(), rye.WhereRequest{})
	if err != nil {
		t.Fatal(err)
	}
	found, err := c.workspace().Upkeep().Fsck(t.Context(), rye.Terminal(), rye.FsckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, check := range found.Checks {
		if !check.OK {
			t.Errorf("fsck: %+v", check)
		}
	}
	git, err := exec.LookPath("git")
	if err != nil {
		t.Log("not asked: git, which is absent")
		return
	}
	if out, err := exec.Command(git, "-C", rep.Record, "fsck", "--strict", "--no-dangling").CombinedOutput(); err != nil {
		t.Errorf("git fsck: %v\n%s", err, out)
	}
}

// A thread that is killed at any point goes on from there: it did what one did that nobody
// killed, no effect happens twice, and no money appears or vanishes. Whether a kill hit an
// open effect is what its journal says: a call with a start and no result.
func TestKilledAnywhere(t *testing.T) {
	c := newCrashSite(t, crashScript)
	c.Log = filepath.Join(c.Home, "steps")
	first := c.run(t)
	if first.Status != Completed || first.Outputs["verdict"] != "good" {
		t.Fatalf("the thread ended as %s: %s; outputs %v", first.Status, first.Why, first.Outputs)
	}
	c.checkEnded(t, first)
	want := c.export(t, first.ID)
	c.Spent = first.Spent
	if got := c.effects(t); !slices.Equal(got, []string{`{"text":"first"}`, `{"text":"second"}`}) {
		t.Fatalf("effects: %q", got)
	}
	raw, err := os.ReadFile(c.Log)
	if err != nil {
		t.Fatal(err)
	}
	steps := strings.Fields(strings.ReplaceAll(string(raw), " ", ":"))
	t.Logf("%d steps", len(steps))
	for _, n := range crashPoints(len(steps)) {
		t.Run(strconv.Itoa(n)+":"+steps[n-1], func(t *testing.T) { c.killAt(t, n, want) })
	}
	c.fsck(t)
}

// crashPoints are the steps at which a process is killed: each, or a spread.
func crashPoints(n int) (points []int) {
	every := max(1, n/9) | 1 // odd, for points before and after a record
	if os.Getenv("RYE_SOAK") == "1" {
		every = 1
	}
	for i := 1; i <= n; i += every {
		points = append(points, i)
	}
	return points
}

func (c crashSite) killAt(t *testing.T, n int, want string) {
	c.forget(t)
	c.Log = filepath.Join(t.TempDir(), "steps")
	c.Step = n
	i := c.run(t)
	if _, state := crashEnd(t); state.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("the process was not killed: %s", state)
	}
	c.goesOn(t, i, want)
}

// goesOn resumes a thread whose process is gone, and compares it with one that nobody stopped.
func (c crashSite) goesOn(t *testing.T, i *rye.ThreadInfo, want string) {
	t.Helper()
	dir := c.threadDir(t, i.ID)
	records := crashRecords(t, dir)
	open, asked := openCalls(t, records), openQuestion(t, records)
	ended := ended(i.Status)
	i2, err := c.resume(t, rye.ResumeRequest{ID: i.ID})
	if ended && !fault.Is(err, fault.Conflict) || !ended && err != nil {
		t.Fatalf("resume a thread that is %s: %v", i.Status, err)
	}
	if i2 == nil {
		i2 = c.info(t, i.ID)
	}
	if i2.Status != Completed {
		t.Fatalf("killed and resumed it is %s: %s", i2.Status, i2.Why)
	}
	if got, want := c.export(t, i.ID), unknown(t, want, crashRecords(t, dir), open); got != want {
		t.Errorf("it did\n%s\nwant\n%s", got, want)
	}
	// An outcome that is unknown is told to the model in other words, which cost something else.
	if len(open) == 0 && i2.Spent-i2.Uncertain != c.Spent || asked != (i2.Uncertain > 0) {
		t.Errorf("spent %s, uncertain %s, with an open question: %t; want %s", i2.Spent, i2.Uncertain, asked, c.Spent)
	}
	got := c.effects(t)
	if slices.Sort(got); len(slices.Compact(slices.Clone(got))) != len(got) || len(got)+len(open) < 2 {
		t.Errorf("effects: %q, with %d calls open", got, len(open))
	}
	c.checkEnded(t, i2)
}
