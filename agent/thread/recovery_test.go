//go:build unix

package thread

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/agent/journal"
	"github.com/rye-os/rye/agent/ledger"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/testkit"
	"github.com/rye-os/rye/workspace"
)

// stepOf is the number of the nth step with that name, by what an earlier child wrote.
func (c crashSite) stepOf(t *testing.T, name string, nth int) int {
	t.Helper()
	raw, err := os.ReadFile(c.Log)
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(string(raw), "\n") {
		if line == name {
			if nth--; nth == 0 {
				return i + 1
			}
		}
	}
	t.Fatalf("no step %q", name)
	return 0
}

// crashed is a site, what a thread does there that nobody stops, and the steps of its process.
func crashed(t *testing.T) (c *crashSite, want string) {
	t.Helper()
	c = newCrashSite(t, crashScript)
	c.Log = filepath.Join(c.Home, "steps")
	i := c.run(t)
	if i.Status != Completed {
		t.Fatalf("the thread ended as %s: %s", i.Status, i.Why)
	}
	c.Spent = i.Spent
	return c, c.export(t, i.ID)
}

// killed starts a thread that dies at a step.
func (c crashSite) killed(t *testing.T, name string, nth int) *rye.ThreadInfo {
	t.Helper()
	c.forget(t)
	c.Step = c.stepOf(t, name, nth)
	c.Log = filepath.Join(t.TempDir(), "steps")
	return c.run(t)
}

var wantCode = testkit.WantCode // for short

func (c crashSite) book(t *testing.T) *ledger.Ledger {
	t.Helper()
	book, err := ledger.Open(t.Context(), filepath.Join(c.Home, "data", "ledger", "ledger.db"), ledger.Options{Boot: "boot", Existing: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { book.Close() })
	return book
}

func (c crashSite) node(t *testing.T, id string) ledger.Node {
	t.Helper()
	nodes, err := c.book(t).Tree(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return nodes[0]
}

// What a process that died behind the final record left to do is done by whatever writes next.
func TestEndIsFinished(t *testing.T) {
	c, _ := crashed(t)
	s := New(c.options(c.workspace()))
	for name, do := range map[string]func(id string) error{
		"resume": func(id string) error { _, err := c.resume(t, rye.ResumeRequest{ID: id}); return err },
		"cancel": func(id string) error {
			_, err := s.Stop(t.Context(), rye.Terminal(), rye.StopRequest{ID: id})
			return err
		},
		"send": func(id string) error {
			return s.Send(t.Context(), rye.Terminal(), rye.SendRequest{ID: id, Kind: journal.KindMessage, Text: "more"})
		},
		"gc": func(id string) error {
			_, err := s.Collect(t.Context(), rye.Terminal(), rye.CollectRequest{Older: 3600})
			return errors.Join(err, fault.New(fault.Conflict, "gc refuses nothing"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			i := c.killed(t, "after thread_completed", 1)
			if _, err := os.Stat(filepath.Join(c.threadDir(t, i.ID), keyFile)); i.Status != Completed || err != nil {
				t.Fatalf("killed behind the end it is %s, and the key: %v", i.Status, err)
			}
			if i.Branch != "" || !strings.Contains(i.Why, "rye thread gc") {
				t.Errorf("without a commit its branch is %q, and why: %q", i.Branch, i.Why)
			}
			wantCode(t, name+" of a thread that ended", do(i.ID), fault.Conflict)
			i = c.info(t, i.ID)
			if i.Branch != "refs/heads/threads/"+i.ID || i.Why != "" {
				t.Errorf("all of it is on branch %q, and why: %q", i.Branch, i.Why)
			}
			c.checkEnded(t, i)
		})
	}
}

// A thread has one process. Whoever wants to be another is told who it is; and a thread whose
// process is gone can be cancelled, with what it spent accounted for.
func TestSecondOwnerAndCancel(t *testing.T) {
	c := newCrashSite(t, strings.Replace(crashScript, `- say: "I begin."`, `- wait: 1m`, 1))
	s := New(c.options(c.workspace()))
	i, err := s.Start(t.Context(), rye.Terminal(), rye.StartRequest{Ref: crashRef("directive:acme/review")})
	if err != nil {
		t.Fatal(err)
	}
	first := crashChildren[len(crashChildren)-1]
	kill := func() { _ = first.cmd.Process.Kill(); _ = first.cmd.Wait() }
	defer kill()
	if _, err := journal.Follow(t.Context(), c.threadDir(t, i.ID), journal.FollowOptions{Wait: true}, func(r journal.Record) error {
		if r.Type == "model_intent" {
			return errEnough
		}
		return nil
	}); !errors.Is(err, errEnough) {
		t.Fatal(err)
	}
	named := fmt.Sprint("process ", first.Pid())
	if _, err = s.Resume(t.Context(), rye.Terminal(), rye.ResumeRequest{ID: i.ID}); !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), named) {
		t.Errorf("resume while it runs: %v, want a conflict with %s", err, named)
	}
	dir := c.threadDir(t, i.ID)
	d, err := readDescription(t.Context(), c.workspace().Record(), dir)
	if err != nil {
		t.Fatal(err)
	}
	key, err := readKey(dir, d)
	if err != nil {
		t.Fatal(err)
	}
	hand, err := s.starter().hand(d, dir, key, nil, handing{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.starter().begin(t.Context()).launch(t.Context(), i.ID, hand); !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), named) {
		t.Errorf("a second process: %v, want a conflict with %s", err, named)
	}
	crashEnd(t)
	kill()
	if got := c.info(t, i.ID); got.Status != Interrupted {
		t.Errorf("without its process it is %s", got.Status)
	}
	held := c.node(t, i.ID).Held
	got, err := s.Stop(t.Context(), rye.Terminal(), rye.StopRequest{ID: i.ID})
	if err != nil || got.Status != Cancelled {
		t.Fatalf("cancel without a process: %+v, %v", got, err)
	}
	if held.Money == 0 || got.Spent != held.Money || got.Uncertain != held.Money {
		t.Errorf("spent %s (uncertain %s), want the %s that was held for the question", got.Spent, got.Uncertain, held.Money)
	}
	c.checkEnded(t, got)
	_, err = s.Resume(t.Context(), rye.Terminal(), rye.ResumeRequest{ID: i.ID})
	wantCode(t, "resume of what ended", err, fault.Conflict)
}

// Where whoever starts a thread dies before it says go, no thread runs and nothing is spent.
func TestStarterDies(t *testing.T) {
	c := newCrashSite(t, crashScript)
	c.Dies = true
	s := New(c.options(c.workspace()))
	begin := func() *rye.ThreadInfo {
		if _, err := s.Start(t.Context(), rye.Terminal(), rye.StartRequest{Ref: crashRef("directive:acme/review")}); err == nil {
			t.Fatal("the starter did not die")
		}
		crashEnd(t)
		all, err := s.List(t.Context(), rye.Terminal(), rye.ThreadListRequest{})
		if err != nil || len(all) == 0 {
			t.Fatal(all, err)
		}
		return &all[0]
	}
	i := begin()
	if i.Status != Created || len(crashRecords(t, c.threadDir(t, i.ID))) > 0 {
		t.Errorf("it is %s", i.Status)
	}
	if n := c.node(t, i.ID); n.Spent != (ledger.Amount{}) || n.Held != (ledger.Amount{}) {
		t.Errorf("the ledger says %+v", n)
	}
	if got, err := s.Stop(t.Context(), rye.Terminal(), rye.StopRequest{ID: i.ID}); err != nil || got.Status != Cancelled || got.Spent != 0 {
		t.Errorf("cancel: %+v, %v", got, err)
	}
	i = begin()
	for _, tc := range []struct {
		name  string
		after time.Duration
		want  []string
	}{{"at once", 0, []string{}}, {"later", 2 * time.Hour, []string{i.ID}}} {
		o := c.options(c.workspace())
		o.Now = func() time.Time { return time.Now().Add(tc.after) }
		rep, err := New(o).Collect(t.Context(), rye.Terminal(), rye.CollectRequest{Older: 3 * 3600, DryRun: true})
		if err != nil || len(rep.Removed) != 0 {
			t.Errorf("gc %s, of what is three hours old: %v, %v", tc.name, rep, err)
		}
		rep, err = New(o).Collect(t.Context(), rye.Terminal(), rye.CollectRequest{Older: 1, DryRun: true})
		if err != nil || !slices.Contains(rep.Removed, i.ID) != (len(tc.want) == 0) {
			t.Errorf("gc %s: %v, %v, want %v", tc.name, rep, err, tc.want)
		}
	}
}

// A second death in one turn suspends. A person who resumes it then is not refused for ever.
func TestTwoDeaths(t *testing.T) {
	c, want := crashed(t)
	i := c.killed(t, "before turn_done", 3)
	again := *c
	again.Step, again.Log = 2, filepath.Join(t.TempDir(), "steps") // behind thread_resumed
	if i, err := again.takeUp(t, rye.ResumeRequest{ID: i.ID}); err != nil || i.Status != Interrupted {
		t.Fatalf("killed again: %+v, %v", i, err)
	}
	if i, err := c.resume(t, rye.ResumeRequest{ID: i.ID}); err != nil || i.Status != Suspended || !strings.Contains(i.Why, "died 2 times") {
		t.Fatalf("after two deaths: %+v, %v", i, err)
	}
	c.goesOn(t, c.info(t, i.ID), want)
}

// Where the disk is full nothing goes on; when there is room again the thread does.
func TestDiskFull(t *testing.T) {
	c, want := crashed(t)
	for _, step := range []string{"before tool_call_result", "before model_intent", "before cognition_out", "before turn_done"} {
		t.Run(step, func(t *testing.T) {
			c.forget(t)
			full := *c
			full.Full = c.stepOf(t, step, 2)
			full.Log = filepath.Join(t.TempDir(), "steps")
			i := full.run(t)
			if i.Status != Interrupted {
				t.Errorf("on a full disk it is %s: %s", i.Status, i.Why)
			}
			c.goesOn(t, i, want)
		})
	}
}

// Each file of a thread may be damaged. What is law refuses (10), what is not is passed over,
// and what lies before the damage can be read.
func TestDamage(t *testing.T) {
	c, want := crashed(t)
	flip := func(raw []byte) []byte { raw[len(raw)/2] ^= 1; return raw }
	garbage := func([]byte) []byte { return bytes.Repeat([]byte("garbage\n"), 200) }
	for _, tc := range []struct {
		name string
		file string
		harm func([]byte) []byte
		want fault.Code // of resuming; "" is none
	}{
		{"journal", "journal.jsonl", flip, fault.Integrity},
		{"journal that lost turns", "journal.jsonl", func(raw []byte) []byte {
			lines := bytes.SplitAfter(raw, []byte("\n"))
			return bytes.Join(lines[:len(lines)/2], nil)
		}, fault.Integrity},
		{"description", descriptionFile, flip, fault.Integrity},
		{"signature", signatureFile, flip, fault.Integrity},
		{"items", itemsFile, flip, fault.Integrity},
		{"key", keyFile, flip, fault.Integrity},
		{"lease", "lease", garbage, ""},
		{"lease that is empty", "lease", func([]byte) []byte { return nil }, ""},
		{"live", "live.jsonl", garbage, ""},
		{"message", "inbox/01kdyak62004106105grc8rmng.json", garbage, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			i := c.killed(t, "before turn_done", 4)
			path := filepath.Join(c.threadDir(t, i.ID), filepath.FromSlash(tc.file))
			raw, err := os.ReadFile(path)
			if err != nil && tc.name != "message" {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, tc.harm(raw), 0o600); err != nil {
				t.Fatal(err)
			}
			if tc.want != "" {
				_, err := c.resume(t, rye.ResumeRequest{ID: i.ID})
				wantCode(t, "resume", err, tc.want)
				if tc.file == "journal.jsonl" {
					c.accepted(t, i.ID)
				}
			} else {
				c.goesOn(t, i, want)
			}
			shown := 0
			err = New(c.options(c.workspace())).Follow(t.Context(), rye.Terminal(), rye.FollowRequest{ID: i.ID}, func(rye.Event) error { shown++; return nil })
			if shown < 5 || err != nil && !fault.Is(err, fault.Integrity) {
				t.Errorf("%d records are shown: %v", shown, err)
			}
		})
	}
}

// accepted resumes a thread whose journal is damaged: what it knows to have spent it spent, and
// nothing else is promised.
func (c crashSite) accepted(t *testing.T, id string) {
	t.Helper()
	if i := c.info(t, id); ended(i.Status) {
		t.Errorf("before it is resumed it is %s", i.Status)
	}
	i, err := c.resume(t, rye.ResumeRequest{ID: id, Accept: true})
	if err != nil || i.Status != Completed {
		t.Fatalf("resumed by a person who accepts the loss: %+v, %v", i, err)
	}
	c.checkEnded(t, i)
}

// A journal that is older than its branch, as one from a backup, is refused (10): the thread
// would do again what it did. When a person accepts that, it goes on behind the branch, which
// never changes.
func TestJournalFromBackup(t *testing.T) {
	c, _ := crashed(t)
	i := c.killed(t, "before turn_done", 4)
	again := *c
	again.Step, again.Log = 2, filepath.Join(t.TempDir(), "steps")
	if _, err := again.takeUp(t, rye.ResumeRequest{ID: i.ID}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.resume(t, rye.ResumeRequest{ID: i.ID}); err != nil { // which suspends, and so is put on the branch
		t.Fatal(err)
	}
	branch := func() *rye.BranchInfo {
		b, err := c.workspace().Record().Branch(t.Context(), recorder, i.ID)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	before, dir := branch(), c.threadDir(t, i.ID)
	raw, err := os.ReadFile(filepath.Join(dir, "journal.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	cut := bytes.Index(raw, []byte(`"event_type":"turn_done"`))
	cut += bytes.IndexByte(raw[cut:], '\n') + 1
	if err := os.WriteFile(filepath.Join(dir, "journal.jsonl"), raw[:cut], 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = c.resume(t, rye.ResumeRequest{ID: i.ID})
	wantCode(t, "resume", err, fault.Integrity)
	if now := branch(); now.Tip != before.Tip || before.Turns != 3 {
		t.Errorf("the branch is at %+v, was at %+v", now, before)
	}
	died := again // a death behind the consent needs no second one
	if i, err := died.takeUp(t, rye.ResumeRequest{ID: i.ID, Accept: true}); err != nil || i.Status != Interrupted {
		t.Fatal(i, err)
	}
	got, err := c.resume(t, rye.ResumeRequest{ID: i.ID})
	if err != nil || got.Status != Completed {
		t.Fatalf("accepted: %+v, %v", got, err)
	}
	if now := branch(); now.Turns < before.Turns+6 {
		t.Errorf("the branch has %d turns, had %d", now.Turns, before.Turns)
	}
	first, err := c.workspace().Record().ReadTurn(t.Context(), recorder, i.ID, 2, "turn.jsonl")
	if err != nil || !bytes.Contains(raw, first) {
		t.Errorf("turn 2 of the branch changed: %v", err)
	}
}

// A damaged ledger is refused (10), and what was done can be read all the same.
func TestDamagedLedger(t *testing.T) {
	c, want := crashed(t)
	i := c.killed(t, "before turn_done", 3)
	path := filepath.Join(c.Home, "data", "ledger", "ledger.db")
	sound := map[string][]byte{}
	for _, end := range []string{"", "-wal", "-shm"} {
		if raw, err := os.ReadFile(path + end); err == nil {
			sound[end] = raw
			if err := errors.Join(os.WriteFile(path+end, bytes.Repeat([]byte("garbage!"), len(raw)/8), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
	}
	_, err := c.resume(t, rye.ResumeRequest{ID: i.ID})
	wantCode(t, "resume", err, fault.Integrity)
	if got := c.info(t, i.ID); got.Status != Interrupted || got.Turns == 0 {
		t.Errorf("with a damaged ledger it is shown as %+v", got)
	}
	for end, raw := range sound {
		if err := os.WriteFile(path+end, raw, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	os.Remove(path + "-shm")
	c.goesOn(t, i, want)
}

// A message reaches the model once, whatever dies between its records.
func TestMessageAcrossDeath(t *testing.T) {
	c, _ := crashed(t)
	every := 3
	if os.Getenv("RYE_SOAK") == "1" {
		every = 1
	}
	for n := 3; n <= 8; n += every {
		i := c.killed(t, "before turn_done", 3)
		if err := New(c.options(c.workspace())).Send(t.Context(), rye.Terminal(), rye.SendRequest{ID: i.ID, Kind: journal.KindMessage, Text: "Hurry up."}); err != nil {
			t.Fatal(err)
		}
		again := *c
		again.Step, again.Log = n, filepath.Join(t.TempDir(), "steps")
		if i, err := again.takeUp(t, rye.ResumeRequest{ID: i.ID}); err != nil || i.Status != Interrupted {
			t.Fatalf("killed again: %+v, %v", i, err)
		}
		// A second death in the turn suspends first, where it was one.
		got, err := c.resume(t, rye.ResumeRequest{ID: i.ID})
		if err == nil && got.Status == Suspended {
			got, err = c.resume(t, rye.ResumeRequest{ID: i.ID})
		}
		if err != nil || got.Status != Completed {
			t.Fatalf("%+v, %v", got, err)
		}
		if said := strings.Count(c.export(t, i.ID), "Hurry up."); said != 1 {
			t.Errorf("killed at step %d, the model is told %d times", n, said)
		}
	}
}

const askScript = `
version: "1.0.0"
tool_type: provider
executor_id: null
category: acme
description: A model that answers from a script
config:
  mock:
    turns:
      - calls:
          - {name: rye_execute, args: {item_type: tool, item_id: acme/ask, parameters: {text: asked}}}
          - {name: rye_execute, args: {item_type: tool, item_id: acme/look}}
      - calls: [{name: directive_return, args: {verdict: "good"}}]
`

// finish lets the newest process of a thread end, and says yes to what it asks meanwhile.
func (c crashSite) finish(t *testing.T, id string) *rye.ThreadInfo {
	t.Helper()
	ended := make(chan struct{})
	go func() { defer close(ended); crashEnd(t) }()
	w := c.workspace()
	for {
		select {
		case <-ended:
			return c.after(t, id)
		case <-time.After(10 * time.Millisecond):
		}
		c.sayYes(t, w)
	}
}

func (c crashSite) sayYes(t *testing.T, w *workspace.Workspace) {
	t.Helper()
	all, err := w.Policy().Questions(t.Context(), rye.Terminal())
	if err != nil {
		t.Error(err)
	}
	for _, q := range all {
		if q.Answer == "" {
			if _, err := w.Policy().Answer(t.Context(), rye.Terminal(), rye.AnswerRequest{ID: q.ID}); err != nil {
				t.Error(err)
			}
		}
	}
}

// What a person has to allow waits across deaths, and happens once after the yes.
func TestApprovalAcrossDeath(t *testing.T) {
	c := newCrashSite(t, askScript)
	start := func(c crashSite) *rye.ThreadInfo {
		i, err := New(c.options(c.workspace())).Start(t.Context(), rye.Terminal(), rye.StartRequest{Ref: crashRef("directive:acme/review")})
		if err != nil {
			t.Fatal(err)
		}
		return c.finish(t, i.ID)
	}
	c.Log = filepath.Join(c.Home, "steps")
	i := start(*c)
	if i.Status != Completed || len(c.effects(t)) != 1 {
		t.Fatalf("%+v; effects %q", i, c.effects(t))
	}
	for _, r := range crashRecords(t, c.threadDir(t, i.ID)) {
		if r.Type == "approval_answered" && crashMember[string](t, r, "answer") != "yes" {
			t.Errorf("a yes is recorded as %s", r.Data)
		}
	}
	want := c.export(t, i.ID)
	first, last := c.stepOf(t, "before approval_requested", 1), c.stepOf(t, "after approval_answered", 1)+5
	every := 3
	if os.Getenv("RYE_SOAK") == "1" {
		every = 1
	}
	for n := first; n <= last; n += every {
		c.forget(t)
		dying := *c
		dying.Step, dying.Log = n, filepath.Join(t.TempDir(), "steps")
		i := start(dying)
		if i.Status != Interrupted {
			t.Fatalf("killed at step %d it is %s: %s", n, i.Status, i.Why)
		}
		c.sayYes(t, c.workspace())
		dir := c.threadDir(t, i.ID)
		open := openCalls(t, crashRecords(t, dir))
		dying.Step, dying.Log = 0, ""
		if _, err := New(dying.options(c.workspace())).Resume(t.Context(), rye.Terminal(), rye.ResumeRequest{ID: i.ID}); err != nil {
			t.Fatal(err)
		}
		i = c.finish(t, i.ID)
		if i.Status != Completed {
			t.Errorf("killed at step %d and resumed it is %s: %s", n, i.Status, i.Why)
		}
		if got, want := c.export(t, i.ID), unknown(t, want, crashRecords(t, dir), open); got != want {
			t.Errorf("killed at step %d it did\n%s\nwant\n%s", n, got, want)
		}
		if got := len(c.effects(t)); got > 1 || got+len(open) < 1 {
			t.Errorf("killed at step %d: %d effects, with %d calls open", n, got, len(open))
		}
		c.checkEnded(t, i)
	}
}

// A machine that restarts is no death of the process: two do not suspend.
func TestReboots(t *testing.T) {
	c, want := crashed(t)
	i := c.killed(t, "before turn_done", 3)
	for _, boot := range []string{"2", "3"} {
		again := *c
		again.Boot, again.Step, again.Log = boot, 2, filepath.Join(t.TempDir(), "steps")
		if i, err := again.takeUp(t, rye.ResumeRequest{ID: i.ID}); err != nil || i.Status != Interrupted {
			t.Fatalf("killed again: %+v, %v", i, err)
		}
	}
	c.Boot = "4"
	c.goesOn(t, i, want)
}

// A lease that lost its count begins anew. What the ledger holds is not older than that.
func TestLeaseBeginsAnew(t *testing.T) {
	c, want := crashed(t)
	i := c.killed(t, "before turn_done", 3)
	again := *c
	again.Boot, again.Step, again.Log = "2", 2, filepath.Join(t.TempDir(), "steps")
	if i, err := again.takeUp(t, rye.ResumeRequest{ID: i.ID}); err != nil || i.Status != Interrupted {
		t.Fatalf("killed again: %+v, %v", i, err)
	}
	if err := os.Truncate(filepath.Join(c.threadDir(t, i.ID), "lease"), 0); err != nil {
		t.Fatal(err)
	}
	c.Boot = "3"
	c.goesOn(t, i, want)
}

// A power cut can take a hold whose question was sent. It is paid for all the same, and in full.
func TestHoldIsLost(t *testing.T) {
	c, want := crashed(t)
	for _, step := range []string{"after model_intent", "before cognition_out", "after cognition_out"} {
		i := c.killed(t, step, 2)
		var key string
		for _, r := range crashRecords(t, c.threadDir(t, i.ID)) {
			if r.Type == "budget_held" {
				key = crashMember[string](t, r, "key")
			}
		}
		if err := c.book(t).Release(t.Context(), key); err != nil {
			t.Fatal(err)
		}
		spent := i.Spent
		c.goesOn(t, i, want)
		if i = c.info(t, i.ID); (i.Uncertain > 0) != (step != "after cognition_out") || i.Spent <= spent {
			t.Errorf("killed %s, without its hold: %s spent, %s of it uncertain", step, i.Spent, i.Uncertain)
		}
	}
}

// A limit that a person raised stays raised when the process dies that was told of it.
func TestRaiseAcrossDeath(t *testing.T) {
	c, _ := crashed(t)
	s := New(c.options(c.workspace()))
	c.Log = ""
	s.o.Spawn = c.spawn
	i, err := s.Start(t.Context(), rye.Terminal(), rye.StartRequest{Ref: crashRef("directive:acme/review"), Limits: &rye.ThreadLimits{Turns: 2}})
	if err != nil {
		t.Fatal(err)
	}
	crashEnd(t)
	if i = c.info(t, i.ID); i.Status != Suspended || !strings.HasPrefix(i.Why, "limit: turns") {
		t.Fatalf("at its limit it is %s: %s", i.Status, i.Why)
	}
	if err := s.Send(t.Context(), rye.Terminal(), rye.SendRequest{ID: i.ID, Kind: journal.KindRaise, Limits: rye.ThreadLimits{Turns: 10}}); err != nil {
		t.Fatal(err)
	}
	again := *c
	again.Step, again.Log = 6, filepath.Join(t.TempDir(), "steps")
	if i, err := again.takeUp(t, rye.ResumeRequest{ID: i.ID}); err != nil || i.Status != Interrupted {
		t.Fatalf("killed: %+v, %v", i, err)
	}
	if i, err = c.resume(t, rye.ResumeRequest{ID: i.ID}); err != nil || i.Status != Completed {
		t.Fatalf("%+v, %v", i, err)
	}
	c.checkEnded(t, i)
}
