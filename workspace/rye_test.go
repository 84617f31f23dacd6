package workspace_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/workspace"
)

// TestHintOfAFullDisk: nothing that fails for want of room says how to mend it itself.
func TestHintOfAFullDisk(t *testing.T) {
	full := &fs.PathError{Op: "write", Path: "f", Err: syscall.ENOSPC}
	for _, err := range []error{full, fmt.Errorf("sign: %w", full), fault.New(fault.Failed, "sign: %w", errors.Join(errors.New("a"), full))} {
		if got := fault.HintOf(err).String(); !strings.Contains(got, "free disk space") {
			t.Errorf("%v: hint %q", err, got)
		}
	}
	if got := fault.HintOf(fault.New(fault.Failed, "sign: %w", full).Mend("rye sign")); got != fault.Command("rye sign") {
		t.Errorf("a hint of its own became %q", got)
	}
}

func TestOfferToSign(t *testing.T) {
	p := project(t)
	p.write("tools/acme/greet.sh", greet)
	_, err := p.run("tool:acme/greet", nil)
	wantCode(t, "unsigned, and nobody looks", err, fault.Untrusted)
	p.looks = true
	if _, err := p.run("tool:acme/greet", nil); err != nil {
		t.Fatalf("after agreeing: %v", err)
	}
	asked := p.asks[len(p.asks)-1]
	if !asked.Person || !strings.Contains(strings.Join(asked.Lines, "\n"), "echo \"hello") {
		t.Errorf("agreed to something unseen: %+v", asked)
	}
	p.write("tools/acme/greet.sh", strings.Replace(p.read("tools/acme/greet.sh"), "hello", "bye", 1))
	if _, err := p.run("tool:acme/greet", nil); err != nil {
		t.Errorf("a change, agreed to: %v", err)
	}
	_, err = p.Execute(t.Context(), rye.Client(), rye.ExecuteRequest{Ref: refOf("tool:acme/greet")})
	if err != nil {
		t.Errorf("an MCP client runs what is signed: %v", err)
	}
	p.write("tools/acme/other.sh", strings.Replace(greet, "hello", "other", 1))
	_, err = p.Execute(t.Context(), rye.Client(), rye.ExecuteRequest{Ref: refOf("tool:acme/other")})
	wantCode(t, "an MCP client is never offered to sign", err, fault.Untrusted)
}

func TestChangedByteIsRefused(t *testing.T) {
	p := project(t)
	p.write("tools/acme/greet.sh", greet)
	p.sign("tool:acme/greet")
	good := p.read("tools/acme/greet.sh")
	for i := range good {
		bad := []byte(good)
		bad[i] ^= 1
		p.write("tools/acme/greet.sh", string(bad))
		res, err := p.run("tool:acme/greet", nil)
		if err == nil {
			t.Fatalf("byte %d changed: ran: %s", i, res.Data)
		}
		if c := fault.CodeOf(err); c != fault.Integrity && c != fault.Malformed && c != fault.Untrusted && c != fault.Revoked {
			t.Fatalf("byte %d changed: %v (code %s)", i, err, c)
		}
	}
	p.write("tools/acme/greet.sh", good)
	if _, err := p.run("tool:acme/greet", nil); err != nil {
		t.Errorf("put back: %v", err)
	}
}

func TestReplayedIsRefused(t *testing.T) {
	p := project(t)
	p.write("tools/acme/greet.sh", greet)
	p.sign("tool:acme/greet")
	old := p.read("tools/acme/greet.sh")
	p.write("tools/acme/greet.sh", strings.Replace(old, "hello", "good day", 1))
	p.sign("tool:acme/greet")
	p.write("tools/acme/greet.sh", old)
	res, err := p.run("tool:acme/greet", nil)
	if err != nil || res.Chain[0].State != "older" {
		t.Errorf("replayed: %+v, %v, want older", res, err)
	}
	_, err = p.Execute(t.Context(), rye.Client(), rye.ExecuteRequest{Ref: refOf("tool:acme/greet")})
	wantCode(t, "replayed to a client", err, fault.Rollback)
	_, err = p.Add(t.Context(), rye.Terminal(), rye.AddRequest{Path: p.path("tools/acme/greet.sh")})
	wantCode(t, "add of a replayed item", err, fault.Rollback)
	// Trust is about whose signatures count, and brings nothing old back.
	if rep, err := p.Trust().Statement(t.Context(), rye.Terminal(), rye.TrustRequest{}); err != nil || rep.Recorded != 0 {
		t.Fatalf("trust: %+v, %v", rep, err)
	}
	p.sign("tool:acme/greet")
	if res, err := p.run("tool:acme/greet", nil); err != nil || res.Chain[0].State != "" {
		t.Errorf("signed by its name: %+v, %v, want the newest", res, err)
	}
}

// TestTrustRecordsWhatCounts: what verifies is taken into a record that does not have it,
// bundles with all their files, and nothing is asked that was granted.
func TestTrustRecordsWhatCounts(t *testing.T) {
	p := project(t)
	p.write("tools/acme/greet.sh", greet)
	p.sign("tool:acme/greet")
	p.write("tools/acme/pack/greet.sh", strings.Replace(greet, "category: acme", "category: acme/pack", 1))
	p.sign("tool:acme/pack/greet")
	if _, err := p.Sign(t.Context(), rye.Terminal(), rye.SignRequest{Targets: []rye.Target{rye.Target(p.path("tools/acme/pack"))}}); err != nil {
		t.Fatal(err)
	}
	p.write("tools/acme/broken.sh", strings.Replace(p.read("tools/acme/greet.sh"), "hello", "jello", 1))
	if err := os.RemoveAll(p.record()); err != nil { // what a clone does not have
		t.Fatal(err)
	}
	p.yes = false
	rep, err := p.Trust().Statement(t.Context(), rye.Terminal(), rye.TrustRequest{})
	if err != nil || rep.Granted != 0 || rep.Recorded != 2 {
		t.Fatalf("trust: %+v, %v", rep, err)
	}
	rows, err := p.Status(t.Context(), rye.Terminal())
	if err != nil || len(rows) != 4 {
		t.Errorf("status: %+v, %v", rows, err)
	}
	for _, r := range rows {
		if want := r.Ref != "tool:acme/broken"; r.Recorded != want {
			t.Errorf("%s recorded: %v, want %v", r.Ref, r.Recorded, want)
		}
	}
}

// TestVersionOrdersNothing: what was signed last is the newest, whatever it calls itself.
func TestVersionOrdersNothing(t *testing.T) {
	p := project(t)
	p.write("tools/acme/greet.sh", strings.Replace(greet, "1.0.0", "1.1.0", 1))
	p.sign("tool:acme/greet")
	// The same key signs an older version elsewhere, later, and it is copied in.
	q := newPerson(t)
	q.home, q.o = p.home, p.o
	q.dir = t.TempDir()
	q.o.Project = ""
	q.Workspace = workspace.Open(q.o)
	if _, err := q.Init(t.Context(), rye.Terminal(), rye.InitRequest{Dir: q.dir, Namespace: "acme"}); err != nil {
		t.Fatal(err)
	}
	q.enter(q.dir)
	q.write("tools/acme/greet.sh", greet)
	q.sign("tool:acme/greet")
	p.write("tools/acme/greet.sh", q.read("tools/acme/greet.sh"))
	if res, err := p.run("tool:acme/greet", nil); err != nil || res.Chain[0].State != "" {
		t.Errorf("a lower version, signed later: %+v, %v", res, err)
	}
}

func TestMovedSignatureIsRefused(t *testing.T) {
	p := project(t)
	p.write("tools/acme/greet.sh", greet)
	p.sign("tool:acme/greet")
	p.write("tools/acme/other.sh", p.read("tools/acme/greet.sh"))
	_, err := p.run("tool:acme/other", nil)
	wantCode(t, "line under another id", err, fault.Integrity)
}

func TestDeletedDoesNotFallThrough(t *testing.T) {
	p := project(t)
	p.write("tools/acme/greet.sh", greet)
	p.sign("tool:acme/greet")
	if err := os.Remove(p.path("tools/acme/greet.sh")); err != nil {
		t.Fatal(err)
	}
	_, err := p.run("tool:acme/greet", nil)
	wantCode(t, "deleted", err, fault.NotFound)
	if _, err := p.History().Restore(t.Context(), rye.Terminal(), rye.RestoreRequest{Targets: []rye.Target{"tool:acme/greet"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := p.run("tool:acme/greet", nil); err != nil {
		t.Errorf("restored: %v", err)
	}
	if _, err := p.Remove(t.Context(), rye.Terminal(), rye.RemoveRequest{Targets: []rye.Target{"tool:acme/greet"}, DryRun: false}); err != nil {
		t.Fatal(err)
	}
	_, err = p.run("tool:acme/greet", nil)
	wantCode(t, "removed", err, fault.NotFound)
	if _, err := p.History().Restore(t.Context(), rye.Terminal(), rye.RestoreRequest{Targets: []rye.Target{"tool:acme/greet"}}); err != nil {
		t.Errorf("restore after rm: %v", err)
	}
}

func TestTwoFilesForOneRefConflict(t *testing.T) {
	p := project(t)
	p.write("tools/acme/greet.sh", greet)
	p.write("tools/acme/greet.py", "__version__ = \"1.0.0\"\n")
	_, err := p.run("tool:acme/greet", nil)
	wantCode(t, "greet.sh and greet.py", err, fault.Conflict)
}

func TestIDsAreConfined(t *testing.T) {
	p := project(t)
	for _, ref := range []string{"tool:../../outside", "tool:acme/../greet", "tool:/etc/passwd", "tool:acme//greet", "tool:acme/gr%65et", "tool:Acme/greet", "tool:acme/greet.sh", "tool:", "gr..eet", "tool:acme/con"} {
		_, err := p.run(ref, nil)
		wantCode(t, ref, err, fault.Usage)
	}
}

func TestReservedNamespaceCannotBeShadowed(t *testing.T) {
	p := project(t)
	p.write("tools/rye/core/runtimes/bash_runtime.yaml", "version: 1.0.0\ntool_type: runtime\nexecutor_id: rye/core/primitives/subprocess\ncategory: rye/core/runtimes\ndescription: mine\n")
	if _, err := p.Sign(t.Context(), rye.Terminal(), rye.SignRequest{Targets: []rye.Target{"tool:rye/core/runtimes/bash_runtime"}}); err == nil {
		t.Error("signed an item of a reserved namespace")
	}
	p.write("tools/acme/greet.sh", greet)
	p.sign("tool:acme/greet")
	_, err := p.run("tool:acme/greet", nil)
	wantCode(t, "runtime shadowed by an unsigned file", err, fault.Untrusted)
}

// A parameter's value is data, never a template: what looks like one arrives as it is.
func TestParametersAreNotTemplates(t *testing.T) {
	p := project(t)
	t.Setenv("MY_SECRET_TOKEN", "s3cret")
	p.write("tools/acme/greet.sh", greet)
	p.sign("tool:acme/greet")
	for _, v := range []string{"${MY_SECRET_TOKEN}", "{tool_path}", "$(id)", "`id`", "a\nb", "-x", "{project_path}"} {
		res, err := p.run("tool:acme/greet", map[string]any{"name": v})
		if err != nil {
			t.Errorf("%q: %v", v, err)
			continue
		}
		var out struct{ Stdout string }
		json.Unmarshal(res.Data, &out)
		if out.Stdout != "hello, "+v+"\n" {
			t.Errorf("%q arrived as %q", v, out.Stdout)
		}
	}
}

func TestToolThatFails(t *testing.T) {
	p := project(t)
	p.write("tools/acme/fail.sh", strings.Replace(greet, `echo "hello, ${RYE_PARAM_NAME:-world}"`, "echo no >&2\nexit 3", 1))
	p.sign("tool:acme/fail")
	res, err := p.run("tool:acme/fail", nil)
	if err != nil || res.Status != "error" || res.Exit != 3 || !strings.Contains(res.Error, "no") {
		t.Errorf("got %+v, %v, want an error result with status 3", res, err)
	}
}

// What a run took is told by parts that make up the whole.
func TestTimings(t *testing.T) {
	p := project(t)
	p.write("tools/acme/greet.sh", greet)
	p.write("knowledge/acme/fact.md", "---\nid: fact\ntitle: Fact\nversion: 1.0.0\nentry_type: reference\ncategory: acme\ntags: [a]\n---\n\nText.\n")
	p.sign("tool:acme/greet", "knowledge:acme/fact")
	for _, q := range []rye.ExecuteRequest{{Ref: refOf("tool:acme/greet")}, {Ref: refOf("tool:acme/greet"), DryRun: true}, {Ref: refOf("knowledge:acme/fact")}} {
		res, err := p.Execute(t.Context(), rye.Terminal(), q)
		if err != nil || res.Metadata.Timings == nil {
			t.Fatalf("%+v: %+v, %v", q, res, err)
		}
		m, parts := res.Metadata, *res.Metadata.Timings
		sum := 0.0
		for _, v := range []float64{parts.Verify, parts.Gate, parts.Materialise, parts.Sandbox, parts.Spawn, parts.Run, parts.Rest} {
			if sum += v; v < 0 {
				t.Errorf("%s: a part below zero: %+v", q.Ref, parts)
			}
		}
		// Each part is rounded down to a microsecond.
		if sum > m.DurationMS+1e-6 || sum < m.DurationMS-0.008 {
			t.Errorf("%s: the parts are %.3f ms, the whole %.3f: %+v", q.Ref, sum, m.DurationMS, parts)
		}
		ran := res.Type == "tool" && !q.DryRun
		if parts.Verify == 0 || (parts.Spawn > 0 && parts.Materialise > 0) != ran || (parts.Sandbox > 0) != (ran && m.Sandbox >= "S1") {
			t.Errorf("%s: sandbox %q, parts %+v", q.Ref, m.Sandbox, parts)
		}
	}
}

func TestDryRunVerifies(t *testing.T) {
	p := project(t)
	p.write("tools/acme/greet.sh", greet)
	_, err := p.Execute(t.Context(), rye.Terminal(), rye.ExecuteRequest{Ref: refOf("tool:acme/greet"), DryRun: true})
	wantCode(t, "dry run of an unsigned tool", err, fault.Untrusted)
	p.sign("tool:acme/greet")
	res, err := p.Execute(t.Context(), rye.Terminal(), rye.ExecuteRequest{Ref: refOf("tool:acme/greet"), DryRun: true})
	if err != nil || res.Status != "validation_passed" || len(res.Chain) != 3 {
		t.Errorf("got %+v, %v", res, err)
	}
}

// TestRefusedRunEndsItsLook: the look at what runs by itself in the project goes on beside the
// gates, and no longer than they do.
func TestRefusedRunEndsItsLook(t *testing.T) {
	p := project(t)
	p.write("tools/acme/greet.sh", greet)
	p.sign("tool:acme/greet")
	for i := range 3000 {
		if err := os.MkdirAll(filepath.Join(p.dir, "src", strconv.Itoa(i)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for what, tc := range map[string]struct {
		q    rye.ExecuteRequest
		code fault.Code
	}{
		"a rehearsal":          {rye.ExecuteRequest{DryRun: true}, ""},
		"refused by the lock":  {rye.ExecuteRequest{Locked: true}, fault.Drift},
		"malformed parameters": {rye.ExecuteRequest{Params: json.RawMessage(`{`)}, fault.Usage},
	} {
		tc.q.Ref = refOf("tool:acme/greet")
		if _, err := p.Execute(t.Context(), rye.Terminal(), tc.q); fault.CodeOf(err) != tc.code {
			t.Errorf("%s: %v, want %q", what, err, tc.code)
		}
		stacks := make([]byte, 1<<20)
		if stacks = stacks[:runtime.Stack(stacks, true)]; bytes.Contains(stacks, []byte("ward.Look(")) {
			t.Errorf("%s: the look goes on after the answer", what)
		}
		if err := os.RemoveAll(filepath.Join(p.home, "cache")); err != nil {
			t.Errorf("%s: %v", what, err) // something still writes there
		}
	}
}

func TestCallerWithoutCapabilityIsRefused(t *testing.T) {
	p := project(t)
	p.write("tools/acme/greet.sh", greet)
	p.sign("tool:acme/greet")
	for _, caps := range [][]string{nil, {"rye.search.*"}, {"rye.execute.tool.acme.other"}, {"rye.execute.directive.*"}} {
		_, err := p.Execute(t.Context(), rye.Program("test", caps...), rye.ExecuteRequest{Ref: refOf("tool:acme/greet")})
		wantCode(t, strings.Join(caps, ","), err, fault.Denied)
	}
	if _, err := p.Execute(t.Context(), rye.Program("test", "rye.execute.tool.acme.*"), rye.ExecuteRequest{Ref: refOf("tool:acme/greet")}); err != nil {
		t.Error(err)
	}
}

func TestLockDrift(t *testing.T) {
	p := project(t)
	p.write("tools/acme/greet.sh", greet)
	p.sign("tool:acme/greet")
	_, err := p.Execute(t.Context(), rye.Terminal(), rye.ExecuteRequest{Ref: refOf("tool:acme/greet"), Locked: true})
	wantCode(t, "--locked without a lock", err, fault.Drift)
	if _, err := p.Locks().Lock(t.Context(), rye.Terminal(), rye.LockRequest{Targets: []rye.Target{"tool:acme/greet"}}); err != nil {
		t.Fatal(err)
	}
	res, err := p.Execute(t.Context(), rye.Terminal(), rye.ExecuteRequest{Ref: refOf("tool:acme/greet"), Locked: true})
	if err != nil || !res.Metadata.Locked {
		t.Fatalf("locked: %+v, %v", res, err)
	}
	before := p.read("rye.lock")
	p.write("tools/acme/greet.sh", strings.Replace(greet, "hello", "bye", 1))
	p.sign("tool:acme/greet")
	p.write("rye.lock", before) // which followed the signature
	res, err = p.run("tool:acme/greet", nil)
	if err != nil || res.Metadata.Locked || !strings.Contains(res.Metadata.Drift, "sha256 is") {
		t.Errorf("an own item that was signed again: %+v, %v; want it to run, and a word", res, err)
	}
	for name, q := range map[string]rye.ExecuteRequest{"--locked": {Locked: true}, "--frozen": {Frozen: true}} {
		q.Ref = refOf("tool:acme/greet")
		_, err := p.Execute(t.Context(), rye.Terminal(), q)
		wantCode(t, name, err, fault.Drift)
	}
	if _, err := p.Locks().Verify(t.Context(), rye.Terminal()); fault.CodeOf(err) != fault.Drift {
		t.Errorf("VerifyLock = %v, want drift", err)
	}
	if p.read("rye.lock") != before {
		t.Error("a refusal changed the lock")
	}
	p.write("rye.lock", strings.Replace(before, "lock: 1", "lock: 2", 1))
	_, err = p.run("tool:acme/greet", nil)
	wantCode(t, "a lock of a newer format", err, fault.Malformed)
}

func TestDirectiveAndKnowledge(t *testing.T) {
	p := project(t)
	for _, kind := range []string{"directive", "knowledge"} {
		if _, err := p.New(t.Context(), rye.Terminal(), rye.NewRequest{Kind: kind, ID: "topic", Description: "About a topic."}); err != nil {
			t.Fatal(err)
		}
	}
	p.sign("*")
	_, err := p.run("directive:acme/topic", nil)
	wantCode(t, "missing input", err, fault.Usage)
	_, err = p.run("directive:acme/topic", map[string]any{"subject": "x", "other": 1})
	wantCode(t, "unknown input", err, fault.Usage)
	res, err := p.run("directive:acme/topic", map[string]any{"subject": "pumps {input:subject}"})
	if err != nil || !bytes.Contains(res.Data, []byte("Work on pumps {input:subject}.")) || res.Instructions == "" {
		t.Errorf("directive: %+v, %v", res, err)
	}
	res, err = p.run("knowledge:acme/topic", nil)
	if err != nil || !bytes.Contains(res.Data, []byte("What a reader should know.")) {
		t.Errorf("knowledge: %+v, %v", res, err)
	}
}

func TestSearchListStatus(t *testing.T) {
	p := project(t)
	p.write("tools/acme/greet.sh", greet)
	st, err := p.Status(t.Context(), rye.Terminal())
	if err != nil || len(st) != 1 || st[0].State != "unsigned" {
		t.Fatalf("status %+v, %v", st, err)
	}
	p.sign("*")
	if st, err = p.Status(t.Context(), rye.Terminal()); err != nil || st[0].State != "signed" || !st[0].Recorded {
		t.Fatalf("status %+v, %v", st, err)
	}
	res, err := p.Search(t.Context(), rye.Client(), rye.SearchRequest{Query: "hello", Kind: "tool"})
	if err != nil || res.Total != 1 || res.Results[0].Ref != "tool:acme/greet" {
		t.Errorf("search %+v, %v", res, err)
	}
	all, err := p.List(t.Context(), rye.Terminal(), rye.ListRequest{Kind: "tool", Space: ""})
	if err != nil || len(all) < 5 {
		t.Errorf("list: %d items, %v", len(all), err)
	}
	if _, err := p.Show(t.Context(), rye.Terminal(), rye.ShowRequest{Ref: refOf("tool:rye/core/runtimes/bash_runtime"), All: true}); err != nil {
		t.Error(err)
	}
}

// A project that comes from elsewhere is not believed before a person says so, and
// then only for whose key bytes are known.
func TestCloneNeedsConsent(t *testing.T) {
	a := project(t)
	a.write("tools/acme/greet.sh", greet)
	a.sign("*")
	b := newPerson(t)
	for _, f := range []string{"rye.yaml", "allowed_signers", "tools/acme/greet.sh", ".gitignore"} {
		b.write(f, a.read(f))
	}
	b.enter(b.dir)
	_, err := b.run("tool:acme/greet", nil)
	wantCode(t, "in a clone", err, fault.Untrusted)
	b.yes = false
	rep, err := b.Init(t.Context(), rye.Terminal(), rye.InitRequest{Dir: b.dir})
	if err != nil || !strings.HasSuffix(rep.Next.String(), " trust") || len(b.asks) > 0 {
		t.Errorf("init: %+v, %v, asked %v; want no question, and rye trust next", rep, err, b.asks)
	}
	_, err = b.run("tool:acme/greet", nil)
	wantCode(t, "after init, which grants nothing", err, fault.Untrusted)
	_, err = b.Trust().Statement(t.Context(), rye.Terminal(), rye.TrustRequest{})
	wantCode(t, "trust without consent", err, fault.Denied)
	_, err = b.run("tool:acme/greet", nil)
	wantCode(t, "after refusing", err, fault.Untrusted)
	b.yes = true
	_, err = b.Trust().Statement(t.Context(), rye.Terminal(), rye.TrustRequest{})
	wantCode(t, "trust of other keys without a person", err, fault.Denied)
	b.looks = true
	if _, err := b.Trust().Statement(t.Context(), rye.Terminal(), rye.TrustRequest{}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.run("tool:acme/greet", nil); err != nil {
		t.Errorf("after consent: %v", err)
	}
	if len(b.asks) == 0 || !strings.Contains(strings.Join(b.asks[0].Lines, "\n"), "SHA256:") {
		t.Errorf("the question names no signer: %+v", b.asks)
	}
}

// Forgetting what one directory asks for leaves the grants of others.
func TestForgetHereIsHereOnly(t *testing.T) {
	p := project(t)
	first, second := p.dir, t.TempDir()
	if _, err := p.Init(t.Context(), rye.Terminal(), rye.InitRequest{Dir: second, Namespace: "beta"}); err != nil {
		t.Fatal(err)
	}
	statement := func(dir string) (*rye.TrustStatement, error) {
		p.enter(dir)
		return p.Trust().Statement(t.Context(), rye.Terminal(), rye.TrustRequest{Here: true, DryRun: true})
	}
	granted := func(dir string) bool {
		s, err := statement(dir)
		return err == nil && len(s.Parts) > 0 && s.Parts[0].Status == "granted"
	}
	if !granted(second) || !granted(first) {
		t.Fatal("init granted nothing")
	}
	s, err := statement(first)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Trust().Forget(t.Context(), rye.Terminal(), rye.TrustForgetRequest{Subject: s.Digest}); err != nil {
		t.Fatal(err)
	}
	if granted(first) || !granted(second) {
		t.Errorf("granted here: %v, elsewhere: %v; want false, true", granted(first), granted(second))
	}
}

// A restore makes no second file of an item.
func TestRestoreBesideAnotherFileIsRefused(t *testing.T) {
	p := project(t)
	p.write("tools/acme/greet.sh", greet)
	p.sign("tool:acme/greet")
	if err := os.Rename(p.path("tools/acme/greet.sh"), p.path("tools/acme/greet.bash")); err != nil {
		t.Fatal(err)
	}
	_, err := p.History().Restore(t.Context(), rye.Terminal(), rye.RestoreRequest{Targets: []rye.Target{"tool:acme/greet"}})
	wantCode(t, "restore beside another file", err, fault.Conflict)
	if _, err := os.Stat(p.path("tools/acme/greet.sh")); err == nil {
		t.Error("the item has two files now")
	}
}

// A ref that moves while a person is asked is not repaired, and not reported as repaired.
func TestRepairThatFailsIsAnError(t *testing.T) {
	p := project(t)
	p.write("tools/acme/greet.sh", greet)
	p.sign("tool:acme/greet")
	p.write("tools/acme/other.sh", greet)
	p.sign("tool:acme/other")
	rep, err := p.Upkeep().Where(t.Context(), rye.Terminal(), rye.WhereRequest{})
	if err != nil {
		t.Fatal(err)
	}
	ref := filepath.Join(rep.Record, "refs", "heads", "spaces", "project")
	raw, err := os.ReadFile(ref)
	if err != nil {
		t.Fatal(err)
	}
	id := strings.TrimSpace(string(raw))
	if err := os.Remove(filepath.Join(rep.Record, "objects", id[:2], id[2:])); err != nil {
		t.Fatal(err)
	}
	consent := p.o.Consent
	p.o.Consent = func(ctx context.Context, q rye.Question) (bool, error) {
		if err := os.WriteFile(ref, []byte(strings.Repeat("1", 40)+"\n"), 0o644); err != nil {
			t.Error(err)
		}
		return consent(ctx, q)
	}
	p.enter(p.dir)
	got, err := p.Upkeep().Fsck(t.Context(), rye.Terminal(), rye.FsckRequest{Repair: true})
	wantCode(t, "repair of a ref that moved", err, fault.Conflict)
	for _, r := range got.Repairs {
		if r.Ref == "refs/heads/spaces/project" {
			t.Errorf("reported as repaired: %+v", r)
		}
	}
}

func TestReadingNeedsNoWritableDisk(t *testing.T) {
	if os.Getuid() == 0 {
		t.Log("root ignores modes: only the absence of writes is checked")
	}
	p := project(t)
	p.write("tools/acme/greet.sh", greet)
	p.sign("*")
	before := snapshot(t, p.dir)
	p.Status(t.Context(), rye.Terminal())
	p.Verify(t.Context(), rye.Terminal(), rye.VerifyRequest{Explain: true})
	p.Load(t.Context(), rye.Terminal(), rye.LoadRequest{Ref: refOf("tool:acme/greet")})
	p.Search(t.Context(), rye.Terminal(), rye.SearchRequest{Query: "*"})
	p.run("tool:acme/greet", nil)
	if after := snapshot(t, p.dir); after != before {
		t.Errorf("reading changed the project:\n%s\nwas\n%s", after, before)
	}
}
