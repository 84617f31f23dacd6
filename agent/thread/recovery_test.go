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

func wantCode(t *testing.T, what string, err error, want fault.Code) {
	t.Helper()
	if !fault.Is(err, want) {
		t.Errorf("%s: %v, want %s", what, err, want)
	}
}

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
			wantCode(t, name+" of a thread that ended", do(i.ID), fault.Conflict)
			c.checkEnded(t, c.info(t, i.ID))
		})
	}
}

// A thread has one process. Whoever wants to be another is told who it is; and a thread whose
// process is gone can be cancelled, with what it spent accounted for.
func TestSecondOwnerAndCancel(t *testing.T) {
	c := newCrashSite(t, strings.Replace(crashScript, `- say: "I begin."`, `- wait_ms: 600000`, 1))
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
	hand, err := s.hand(d, dir, key, nil, handing{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.launch(t.Context(), i.ID, hand); !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), named) {
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
// would do again what it did. When a person accepts that, it goes on behind the branch.
func TestJournalFromBackup(t *testing.T) {
	c, _ := crashed(t)
	i := c.killed(t, "after thread_completed", 1)
	if _, err := c.resume(t, rye.ResumeRequest{ID: i.ID}); !fault.Is(err, fault.Conflict) { // which puts it on its branch
		t.Fatal(err)
	}
	dir := c.threadDir(t, i.ID)
	before, err := c.workspace().Record().Branch(t.Context(), recorder, i.ID)
	if err != nil {
		t.Fatal(err)
	}
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
	wantCode(t, "resume without a key", err, fault.Conflict)
	after, err := c.workspace().Record().Branch(t.Context(), recorder, i.ID)
	if err != nil || after.Tip != before.Tip {
		t.Errorf("the branch is at %v, %v; want %s", after, err, before.Tip)
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
