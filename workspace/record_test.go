package workspace_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

const someThread = "01jz9qk3w5v8y2n4m6p7r8s9t0"

// threadKey is a key that is the same in every run.
var threadKey = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, 32))

func turns(from, to int) (all []rye.TurnCommit) {
	for n := from; n <= to; n++ {
		all = append(all, rye.TurnCommit{Number: n, Time: time.Unix(1_800_000_000+int64(n), 0), Subject: fmt.Sprintf("turn %d", n),
			Trailers: [][2]string{{"Rye-Status", "continued"}},
			Files:    map[string][]byte{"turn.jsonl": fmt.Appendf(nil, "{\"n\":%d}\n", n), "state/loop.json": []byte("{}")}})
	}
	return all
}

// What a thread did is on its branch, once, whatever is called again, and git agrees.
func TestThreadBranch(t *testing.T) {
	p := project(t)
	rec, ctx := p.Record(), t.Context()
	commit := func(ts []rye.TurnCommit) (string, error) {
		return rec.Commit(ctx, rye.Terminal(), rye.BranchCommit{Thread: someThread, Key: threadKey, Turns: ts})
	}
	first, err := commit(turns(0, 2))
	if err != nil {
		t.Fatal(err)
	}
	again, err := commit(turns(0, 2))
	if err != nil || again != first {
		t.Errorf("committed again: %s, %v; want %s", again, err, first)
	}
	if _, err = commit(turns(4, 4)); !fault.Is(err, fault.Conflict) {
		t.Errorf("a turn that leaves one out: %v", err)
	}
	tip, err := commit(turns(1, 5)) // as after a crash
	if err != nil {
		t.Fatal(err)
	}
	info, err := rec.Branch(ctx, rye.Terminal(), someThread)
	if err != nil || info.Tip != tip || info.Turns != 6 {
		t.Errorf("Branch = %+v, %v; want tip %s, 6 turns", info, err, tip)
	}
	raw, err := rec.ReadTurn(ctx, rye.Terminal(), someThread, 4, "turn.jsonl")
	if err != nil || string(raw) != "{\"n\":4}\n" {
		t.Errorf("ReadTurn = %q, %v", raw, err)
	}
	// In another record the same turns are the same commits.
	other := project(t)
	same, err := other.Record().Commit(ctx, rye.Terminal(), rye.BranchCommit{Thread: someThread, Key: threadKey, Turns: turns(0, 5)})
	if err != nil || same != tip {
		t.Errorf("the same turns elsewhere: %s, %v; want %s", same, err, tip)
	}
	git, err := exec.LookPath("git")
	if err != nil {
		t.Log("not asked: git, which is absent")
		return
	}
	repo := filepath.Join(p.record(), "store.git")
	run := func(args ...string) string {
		out, err := exec.Command(git, append([]string{"-C", repo, "-c", "gpg.format=ssh", "-c", "gpg.ssh.allowedSignersFile=" + filepath.Join(p.record(), "threads", "allowed_signers")}, args...)...).CombinedOutput()
		if err != nil {
			t.Errorf("git %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	if got := strings.Count(run("log", "--format=%s", "threads/"+someThread), "\n"); got != 6 {
		t.Errorf("git log shows %d commits, want 6", got)
	}
	if _, err := exec.LookPath("ssh-keygen"); err == nil {
		if out := run("verify-commit", "threads/"+someThread); !strings.Contains(out, "Good") {
			t.Errorf("git verify-commit: %s", out)
		}
	}
	run("fsck", "--strict")
}

// A fence that closed keeps a writer that lost its lease from the branch.
func TestThreadBranchIsFenced(t *testing.T) {
	p := project(t)
	_, err := p.Record().Commit(t.Context(), rye.Terminal(), rye.BranchCommit{Thread: someThread, Key: threadKey, Turns: turns(0, 0),
		Fence: func() error { return fault.New(fault.Conflict, "another process has the lease") }})
	wantCode(t, "commit behind a closed fence", err, fault.Conflict)
	_, err = p.Record().Branch(t.Context(), rye.Terminal(), someThread)
	wantCode(t, "branch", err, fault.NotFound)
}

const review = "# Review\n\n```xml\n<directive name=\"review\" version=\"1.0.0\">\n  <metadata>\n    <description>Reviews a file</description>\n    <category>acme</category>\n    <author>ann</author>\n" +
	"    <model tier=\"general\"/>\n    <limits turns=\"6\" spend=\"0.25\"/>\n    <permissions><execute><tool>acme.*</tool></execute></permissions>\n  </metadata>\n" +
	"  <inputs><input name=\"file\" type=\"string\" required=\"true\">what to read</input></inputs>\n  <outputs><output name=\"verdict\">good or bad</output></outputs>\n</directive>\n```\n\nRead {input:file} and judge it.\n"

// A thread begins with what is in use: the directive filled in, every item by its digest, and
// the bytes of what it may reach.
func TestPin(t *testing.T) {
	p := greeter(t)
	p.write("directives/acme/review.md", review)
	p.write("knowledge/acme/secret.md", "```yaml\nid: secret\ntitle: Secret\nversion: 1.0.0\nentry_type: reference\ncategory: acme\n```\n\nnot reached\n")
	p.sign("directive:acme/review", "knowledge:acme/secret")
	pin, err := p.Record().Pin(t.Context(), rye.Terminal(), rye.PinRequest{Ref: refOf("directive:acme/review"), Params: []byte(`{"file":"a.go"}`)})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(pin.Instructions, "Read a.go and judge it.") {
		t.Errorf("instructions: %q", pin.Instructions)
	}
	if len(pin.Outputs) != 1 || pin.Outputs[0].Name != "verdict" || !pin.Outputs[0].Required {
		t.Errorf("outputs: %+v", pin.Outputs)
	}
	if len(pin.Permissions) != 1 || pin.Permissions[0] != "rye.execute.tool.acme.*" {
		t.Errorf("permissions: %q", pin.Permissions)
	}
	have := map[string]bool{}
	for _, it := range pin.Items {
		have[it.Ref] = true
	}
	for _, ref := range []string{"tool:acme/greet", "directive:acme/review", "knowledge:acme/secret", "tool:rye/core/runtimes/bash_runtime"} {
		if !have[ref] {
			t.Errorf("%s is not pinned", ref)
		}
	}
	if len(pin.Files) != 2 || string(pin.Files["project/tools/acme/greet.sh"]) != p.read("tools/acme/greet.sh") {
		t.Errorf("files: %d", len(pin.Files))
	}
	_, err = p.Record().Pin(t.Context(), rye.Terminal(), rye.PinRequest{Ref: refOf("tool:acme/greet")})
	wantCode(t, "a tool as a thread", err, fault.Usage)
}

// What vouches for a thread is this machine's key, for nothing else.
func TestVouch(t *testing.T) {
	p := project(t)
	rec, ctx := p.Record(), t.Context()
	sig, err := rec.Vouch(ctx, rye.Terminal(), []byte("doc"))
	if err != nil {
		t.Fatal(err)
	}
	if err := rec.Vouched(ctx, rye.Terminal(), []byte("doc"), sig); err != nil {
		t.Error(err)
	}
	wantCode(t, "other words", rec.Vouched(ctx, rye.Terminal(), []byte("doc2"), sig), fault.Integrity)
	stranger, err := project(t).Record().Vouch(ctx, rye.Terminal(), []byte("doc"))
	if err != nil {
		t.Fatal(err)
	}
	wantCode(t, "another machine", rec.Vouched(ctx, rye.Terminal(), []byte("doc"), stranger), fault.Untrusted)
	if info, err := os.Stat(filepath.Join(p.o.ConfigDir, "threads.key")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key: %v, %v", info, err)
	}
}

// Who pinned what it began with is refused what changed since, and what came since.
func TestPinsHold(t *testing.T) {
	p := greeter(t)
	p.write("directives/acme/review.md", review)
	p.sign("directive:acme/review")
	pin, err := p.Record().Pin(t.Context(), rye.Terminal(), rye.PinRequest{Ref: refOf("directive:acme/review"), Params: []byte(`{"file":"a.go"}`)})
	if err != nil {
		t.Fatal(err)
	}
	pins := rye.Pins{}
	for _, it := range pin.Items {
		pins[it.Ref] = it.SHA256
	}
	execute := func(ref string) error {
		_, err := p.Execute(t.Context(), rye.Terminal(), rye.ExecuteRequest{Ref: refOf(ref), Params: []byte(`{"name":"x"}`), Pins: pins})
		return err
	}
	if err := execute("tool:acme/greet"); err != nil {
		t.Fatal(err)
	}
	p.write("tools/acme/greet.sh", strings.Replace(p.read("tools/acme/greet.sh"), "echo", "printf", 1)+"\n# changed\n")
	p.write("tools/acme/late.sh", strings.Replace(greet, "acme/greet", "acme/late", 1))
	p.sign("tool:acme/greet", "tool:acme/late")
	wantCode(t, "a tool that changed", execute("tool:acme/greet"), fault.Drift)
	wantCode(t, "a tool that came later", execute("tool:acme/late"), fault.Drift)
}

// A thread begins while somebody edits and signs an item that it may use and did not ask for:
// the item is pinned as it stands, with its bytes, or left out while it may not be used.
func TestPinWhileOthersEdit(t *testing.T) {
	p := project(t)
	p.write("directives/acme/review.md", review)
	p.write("tools/acme/greet.sh", greet)
	third := strings.ReplaceAll(greet, "greet", "third")
	p.write("tools/acme/third.sh", third)
	p.sign("*")
	signed := [][]byte{[]byte(p.read("tools/acme/third.sh"))}
	p.write("tools/acme/third.sh", third+"# edited\n")
	p.sign("tool:acme/third")
	signed = append(signed, []byte(p.read("tools/acme/third.sh")))

	ctx, stop := context.WithCancel(t.Context())
	edits := make(chan error, 1)
	go func() { // as editors save: a new file, and a rename
		var err error
		for i := 0; err == nil && ctx.Err() == nil; i++ {
			text := signed[i/2%2]
			if i%2 == 0 {
				text = append([]byte(third), "# half done\n"...)
			}
			at := p.path("tools/acme/.third.tmp")
			if err = os.WriteFile(at, text, 0o755); err == nil {
				err = os.Rename(at, p.path("tools/acme/third.sh"))
			}
		}
		edits <- err
	}()
	for range 100 {
		got, err := p.Record().Pin(t.Context(), rye.Terminal(), rye.PinRequest{Ref: refOf("directive:acme/review"), Params: []byte(`{"file":"a.go"}`)})
		if err != nil {
			t.Error(err)
			break
		}
		sums := map[string]string{}
		for _, it := range got.Items {
			sums[it.Ref] = it.SHA256
		}
		if sums["tool:acme/greet"] == "" {
			t.Error("tool:acme/greet is not pinned")
		}
		raw, kept := got.Files["project/tools/acme/third.sh"]
		if want := sums["tool:acme/third"]; kept != (want != "") || kept && objects.DigestOf(raw).String() != want {
			t.Errorf("tool:acme/third is pinned as %q, with %d bytes of another", want, len(raw))
		}
	}
	stop()
	if err := <-edits; err != nil {
		t.Error(err)
	}
}
