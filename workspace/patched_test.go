package workspace_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/testkit"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/workspace"
)

const greetRef = rye.Target("tool:acme/greet")

// copyFrom copies the project files of another person, as a pull by git does.
func (p *person) copyFrom(q *person) {
	p.t.Helper()
	for _, name := range []string{"rye.yaml", "allowed_signers", "tools", "knowledge"} {
		from, to := q.path(name), p.path(name)
		if st, err := os.Stat(from); err != nil {
			continue
		} else if !st.IsDir() {
			p.write(name, q.read(name))
			continue
		}
		if err := os.RemoveAll(to); err != nil {
			p.t.Fatal(err)
		}
		if err := os.CopyFS(to, os.DirFS(from)); err != nil {
			p.t.Fatal(err)
		}
	}
}

// contributes returns a new person with an accepted copy of the owner's project, whose namespace
// acme/ a registry gives to the owner.
func contributes(t *testing.T, owner *person) *person {
	t.Helper()
	p := newPerson(t)
	p.copyFrom(owner)
	p.enter(p.dir)
	if _, err := p.Init(t.Context(), rye.Terminal(), rye.InitRequest{Dir: p.dir}); err != nil {
		t.Fatal(err)
	}
	p.accept()
	if _, err := p.Registry().Fetch(t.Context(), rye.Terminal()); err != nil {
		t.Fatal(err)
	}
	return p
}

// accept agrees to everything that the project asks for.
func (p *person) accept() {
	p.t.Helper()
	p.looks = true
	defer func() { p.looks = false }()
	if _, err := p.Trust().Statement(p.t.Context(), rye.Terminal(), rye.TrustRequest{}); err != nil {
		p.t.Fatal(err)
	}
}

// changes edits a file below .ai.
func (p *person) changes(name, old, now string) {
	p.t.Helper()
	text := p.read(name)
	if !strings.Contains(text, old) {
		p.t.Fatalf("%s has no %q", name, old)
	}
	p.write(name, strings.Replace(text, old, now, 1))
}

// stateOf returns the state of an item in status.
func (p *person) stateOf(ref string) rye.State {
	p.t.Helper()
	all, err := p.Status(p.t.Context(), rye.Terminal())
	if err != nil {
		p.t.Fatal(err)
	}
	for _, it := range all {
		if it.Ref == ref {
			return it.State
		}
	}
	return ""
}

// reviews reviews as a person who says yes to each question, and returns the questions.
func (p *person) reviews(q rye.ReviewRequest) (*rye.ReviewReport, []rye.Question, error) {
	p.t.Helper()
	before := len(p.asks)
	p.looks = true
	defer func() { p.looks = false }()
	rep, err := p.Review(p.t.Context(), rye.Terminal(), q)
	return rep, p.asks[before:], err
}

// TestPatchedFromEditToReview: Bob edits a tool of Alice's namespace. It runs for Bob, is patched
// wherever it is shown, and goes no further until Alice looked at it and signed.
func TestPatchedFromEditToReview(t *testing.T) {
	testkit.NeedProgram(t, "bash")
	alice, _, _ := published(t)
	bob := contributes(t, alice)
	ctx, me := t.Context(), rye.Terminal()
	if got := bob.stateOf(string(greetRef)); got != objects.Signed {
		t.Fatalf("before the edit: %q", got)
	}
	signers := bob.read("allowed_signers")
	bob.changes("tools/acme/greet.sh", "hello,", "hi,")
	rep, err := bob.Sign(ctx, me, rye.SignRequest{Targets: []rye.Target{greetRef}})
	if err != nil || !rep.Results[0].Patched {
		t.Fatalf("sign: %+v, %v, want patched", rep, err)
	}
	hint := rep.Results[0].Hint.String()
	if !strings.Contains(hint, "rye review") || !strings.Contains(hint, "--join") || strings.Contains(hint, "override") {
		t.Errorf("hint %q does not name both right ways, or names a wrong one", hint)
	}
	if bob.read("allowed_signers") != signers {
		t.Error("the patch declared its signer")
	}
	if got := bob.stateOf(string(greetRef)); got != objects.Patched {
		t.Errorf("status: %q, want patched", got)
	}
	if got := bob.stateOf(string(greetRef)); got != objects.Patched { // now from the catalogue
		t.Errorf("status again: %q, want patched", got)
	}
	list, err := bob.List(ctx, me, rye.ListRequest{Kind: "tool", Space: "project"})
	if err != nil || len(list) != 1 || list[0].State != objects.Patched {
		t.Errorf("list: %+v, %v", list, err)
	}

	res, err := bob.run(string(greetRef), nil)
	if err != nil || !slices.Equal(res.Metadata.Patched, []string{string(greetRef)}) || res.Chain[0].State != objects.Patched {
		t.Fatalf("run: %+v, %v, want it patched", res, err)
	}
	for what, q := range map[string]rye.ExecuteRequest{"locked": {Locked: true}, "frozen": {Frozen: true}} {
		q.Ref = refOf(string(greetRef))
		_, err := bob.Execute(ctx, me, q)
		wantCode(t, "run "+what, err, fault.Untrusted)
	}
	_, err = bob.Locks().Lock(ctx, me, rye.LockRequest{})
	wantCode(t, "lock", err, fault.Untrusted)
	_, err = bob.Locks().Lock(ctx, me, rye.LockRequest{Targets: []rye.Target{greetRef}})
	wantCode(t, "lock by name", err, fault.Untrusted)
	if raw, _ := os.ReadFile(bob.path("rye.lock")); strings.Contains(string(raw), "acme/greet") {
		t.Errorf("a lock pins the patch:\n%s", raw)
	}
	_, err = bob.Registry().Push(ctx, me, rye.PushRequest{Targets: []rye.Target{greetRef}})
	wantCode(t, "push", err, fault.Untrusted)

	// Alice sees whose change it is, and signs what she was shown. A model reviews nothing, and
	// --yes answers nothing.
	alice.copyFrom(bob)
	_, err = alice.run(string(greetRef), nil)
	wantCode(t, "alice runs it unseen", err, fault.Untrusted)
	if hint := fault.HintOf(err).String(); !strings.HasSuffix(hint, "rye review tool:acme/greet") {
		t.Errorf("alice's hint %q", hint)
	}
	_, err = alice.Review(ctx, rye.Client(), rye.ReviewRequest{})
	wantCode(t, "a model reviews", err, fault.Denied)
	yes, err := alice.Review(ctx, me, rye.ReviewRequest{}) // alice.yes is --yes
	if err != nil && !fault.Is(err, fault.Denied) || len(yes.Items) != 1 || yes.Signed != 0 {
		t.Errorf("review with --yes: %+v, %v", yes, err)
	}
	dry, err := alice.Review(ctx, me, rye.ReviewRequest{DryRun: true})
	if err != nil || len(dry.Items) != 1 || dry.Items[0].Status != "would-sign" || dry.Items[0].Base == nil || dry.Items[0].Base.From != "record" {
		t.Errorf("dry run: %+v, %v", dry, err)
	}
	done, asked, err := alice.reviews(rye.ReviewRequest{})
	if err != nil || done.Signed != 1 || len(asked) != 1 || !asked[0].Person {
		t.Fatalf("review: %+v, %v, asked %+v", done, err, asked)
	}
	lines := strings.Join(asked[0].Lines, "\n")
	for _, want := range []string{"-echo \"hello,", "+echo \"hi,", done.Items[0].Signer, done.Items[0].Digest, "in your record"} {
		if !strings.Contains(lines, want) {
			t.Errorf("the question lacks %q:\n%s", want, lines)
		}
	}
	if res, err = alice.run(string(greetRef), nil); err != nil || len(res.Metadata.Patched) > 0 {
		t.Errorf("alice runs it: %+v, %v", res, err)
	}
	if again, _, err := alice.reviews(rye.ReviewRequest{}); err != nil || len(again.Items) != 0 {
		t.Errorf("a second review: %+v, %v", again, err)
	}

	// Back at Bob's it is an owner's again, and the text is Bob's.
	bob.copyFrom(alice)
	if res, err = bob.run(string(greetRef), nil); err != nil || len(res.Metadata.Patched) > 0 || !strings.Contains(string(res.Data), "hi, world") {
		t.Errorf("bob runs what alice signed: %+v, %v", res, err)
	}
	_, err = bob.Review(ctx, me, rye.ReviewRequest{Targets: []rye.Target{greetRef}})
	wantCode(t, "bob reviews in a namespace of others", err, fault.Untrusted)
}

// TestPatchedCallNeedsAYesOnce: a caller that is no person gets a patch after a person's yes to
// exactly its bytes, and then without a question; after any change there is a new one.
func TestPatchedCallNeedsAYesOnce(t *testing.T) {
	testkit.NeedProgram(t, "bash")
	alice, _, _ := published(t)
	bob := contributes(t, alice)
	bob.changes("tools/acme/greet.sh", "hello,", "hi,")
	bob.sign(greetRef)
	call := func() (*rye.ExecuteResult, int, error) {
		before := len(bob.asks)
		res, err := bob.Execute(t.Context(), rye.Client(), rye.ExecuteRequest{Ref: refOf(string(greetRef))})
		return res, len(bob.asks) - before, err
	}
	_, n, err := call()
	wantCode(t, "without a person", err, fault.Denied)
	if n == 0 || !bob.asks[len(bob.asks)-1].Person {
		t.Fatalf("%d questions, want one that only a person answers: %+v", n, bob.asks)
	}
	bob.looks = true
	res, n, err := call()
	if err != nil || n != 1 || len(res.Metadata.Patched) != 1 {
		t.Fatalf("with a yes: %+v, %v, %d questions", res, err, n)
	}
	if lines := strings.Join(bob.asks[len(bob.asks)-1].Lines, "\n"); !strings.Contains(lines, "patched      tool:acme/greet") {
		t.Errorf("the question does not say what is patched:\n%s", lines)
	}
	bob.looks = false
	if _, n, err = call(); err != nil || n != 0 {
		t.Errorf("the second call: %v, %d questions", err, n)
	}
	consents := func(q rye.PolicyConsentRequest) {
		t.Helper()
		q.Ref, q.Patched = refOf(string(greetRef)), true
		all, err := bob.Policy().Consent(t.Context(), rye.Terminal(), q)
		if err != nil || len(all) != 1 || all[0].What != "patched" {
			t.Errorf("consent: %+v, %v", all, err)
		}
	}
	consents(rye.PolicyConsentRequest{Forget: true})
	_, n, err = call()
	wantCode(t, "after the agreement was taken back", err, fault.Denied)
	if n != 1 {
		t.Errorf("after the agreement was taken back: %d questions, want 1", n)
	}
	consents(rye.PolicyConsentRequest{})
	if _, n, err = call(); err != nil || n != 0 {
		t.Errorf("with an agreement in advance: %v, %d questions", err, n)
	}
	text := bob.read("tools/acme/greet.sh")
	if err := os.Remove(bob.path("tools/acme/greet.sh")); err != nil {
		t.Fatal(err)
	}
	consents(rye.PolicyConsentRequest{Forget: true}) // of an item that is gone
	bob.write("tools/acme/greet.sh", text)
	_, _, err = call()
	wantCode(t, "after an item that was gone returned", err, fault.Denied)
	bob.changes("tools/acme/greet.sh", "hi,", "hey,")
	bob.sign(greetRef)
	_, n, err = call()
	wantCode(t, "after another edit", err, fault.Denied)
	if n != 1 {
		t.Errorf("after another edit: %d questions, want 1", n)
	}
}

// TestPatchedText: the same for a text, which is not run but shown.
func TestPatchedText(t *testing.T) {
	alice, _, _ := published(t)
	alice.write("knowledge/acme/note.md", "---\nversion: 1.0.0\ntitle: Note\nentry_type: reference\ncategory: acme\n---\nAlice's words.\n")
	alice.sign("knowledge:acme/note")
	bob := contributes(t, alice)
	bob.changes("knowledge/acme/note.md", "Alice's", "Bob's")
	bob.sign("knowledge:acme/note")
	q := rye.ExecuteRequest{Ref: refOf("knowledge:acme/note")}
	_, err := bob.Execute(t.Context(), rye.Client(), q)
	wantCode(t, "a model asks for it", err, fault.Denied)
	bob.looks = true
	if res, err := bob.Execute(t.Context(), rye.Client(), q); err != nil || len(res.Metadata.Patched) != 1 {
		t.Errorf("after a yes: %+v, %v", res, err)
	}
	bob.looks = false
	if _, err := bob.Execute(t.Context(), rye.Client(), q); err != nil {
		t.Errorf("again: %v", err)
	}
	q.Locked = true
	_, err = bob.Execute(t.Context(), rye.Terminal(), q)
	wantCode(t, "locked", err, fault.Untrusted)
	load, err := bob.Load(t.Context(), rye.Client(), rye.LoadRequest{Ref: q.Ref})
	if err != nil || load.State != objects.Patched {
		t.Errorf("load: %+v, %v", load, err)
	}
}

const pyTool = `__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "rye/core/runtimes/python_script_runtime"
__category__ = "acme/kit"
__tool_description__ = "Say it."
import util
print(util.word)
`

const pyPart = `__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = None
__category__ = "acme/kit"
__tool_description__ = "A part."
word = "alice"
`

// TestPatchedPart: one patched file that a tool loads makes the whole run patched, for the lock
// and for calls, although the tool itself is its owner's (attacks 26 and 27).
func TestPatchedPart(t *testing.T) {
	alice, _, _ := published(t)
	marker := strings.Replace(pyPart, `word = "alice"`, "", 1)
	for name, text := range map[string]string{"say.py": pyTool, "util.py": pyPart, "__init__.py": marker} {
		alice.write("tools/acme/kit/"+name, text)
	}
	alice.sign("*")
	if _, err := alice.Locks().Lock(t.Context(), rye.Terminal(), rye.LockRequest{}); err != nil {
		t.Fatal(err)
	}
	bob := contributes(t, alice)
	bob.write("rye.lock", alice.read("rye.lock"))
	tool := rye.ExecuteRequest{Ref: refOf("tool:acme/kit/say"), DryRun: true}
	if res, err := bob.Execute(t.Context(), rye.Terminal(), tool); err != nil || len(res.Metadata.Patched) != 0 {
		t.Fatalf("before the edit: %+v, %v", res, err)
	}
	bob.changes("tools/acme/kit/util.py", `"alice"`, `"bob"`)
	bob.sign("tool:acme/kit/util")
	part := []string{".ai/tools/acme/kit/util.py"}
	res, err := bob.Execute(t.Context(), rye.Terminal(), tool)
	if err != nil || !slices.Equal(res.Metadata.Patched, part) || res.Chain[0].State != "" {
		t.Errorf("the run: %+v, %v, want only %v patched", res, err, part)
	}
	locked := tool
	locked.Locked = true
	_, err = bob.Execute(t.Context(), rye.Terminal(), locked)
	if !fault.Is(err, fault.Untrusted) && !fault.Is(err, fault.Drift) {
		t.Errorf("locked: %v", err)
	}
	was := bob.read("rye.lock")
	_, err = bob.Locks().Lock(t.Context(), rye.Terminal(), rye.LockRequest{Targets: []rye.Target{"tool:acme/kit/say"}})
	wantCode(t, "lock the tool by name", err, fault.Untrusted)
	_, err = bob.Locks().Lock(t.Context(), rye.Terminal(), rye.LockRequest{})
	wantCode(t, "lock", err, fault.Untrusted)
	pin := func(lock string) string {
		_, after, _ := strings.Cut(lock, "tool:acme/kit/say")
		head, _, _ := strings.Cut(after, "tool:")
		return head
	}
	if pin(was) == "" || pin(was) != pin(bob.read("rye.lock")) {
		t.Errorf("the pin of the tool changed:\n%s", bob.read("rye.lock"))
	}
	tool.DryRun = false
	_, err = bob.Execute(t.Context(), rye.Client(), tool)
	wantCode(t, "a model calls the tool", err, fault.Denied)

	// Alice names the tool; its part is shown too.
	alice.copyFrom(bob)
	rep, asked, err := alice.reviews(rye.ReviewRequest{Targets: []rye.Target{"tool:acme/kit/say"}})
	if err != nil || rep.Signed != 1 || len(asked) != 1 || !strings.Contains(strings.Join(asked[0].Lines, "\n"), `+word = "bob"`) {
		t.Errorf("review of the tool: %+v, %v, asked %+v", rep, err, asked)
	}
}

// TestReviewSignsOnlyWhatWasShown: a file that changes between the question and the signature is a
// conflict, and then nothing is written, not even the other items of the review (attack 29).
func TestReviewSignsOnlyWhatWasShown(t *testing.T) {
	alice, _, _ := published(t)
	alice.write("tools/acme/other.sh", greet)
	alice.sign("*")
	bob := contributes(t, alice)
	for _, name := range []string{"greet", "other"} {
		bob.changes("tools/acme/"+name+".sh", "hello,", "hi,")
	}
	bob.sign("*")
	alice.copyFrom(bob)
	evil := strings.Replace(alice.read("tools/acme/greet.sh"), "hi,", "evil", 1)
	before := alice.read("tools/acme/other.sh")
	consent := alice.o.Consent
	alice.o.Consent = func(ctx context.Context, q rye.Question) (bool, error) {
		if strings.Contains(q.Topic, "tool:acme/other") { // the second question
			alice.write("tools/acme/greet.sh", evil)
		}
		return true, nil
	}
	alice.Workspace = workspace.Open(alice.o)
	rep, err := alice.Review(t.Context(), rye.Terminal(), rye.ReviewRequest{})
	wantCode(t, "swapped while shown", err, fault.Conflict)
	if rep.Signed != 0 || alice.read("tools/acme/greet.sh") != evil || alice.read("tools/acme/other.sh") != before {
		t.Errorf("something was written: %+v", rep)
	}
	// A file that appears after the questions began is not signed along.
	alice.copyFrom(bob)
	alice.o.Consent = func(ctx context.Context, q rye.Question) (bool, error) {
		alice.write("tools/acme/late.sh", strings.Replace(bob.read("tools/acme/other.sh"), "hi,", "late", 1))
		return true, nil
	}
	alice.Workspace = workspace.Open(alice.o)
	rep, err = alice.Review(t.Context(), rye.Terminal(), rye.ReviewRequest{})
	if err != nil || rep.Signed != 2 {
		t.Errorf("review: %+v, %v", rep, err)
	}
	if strings.Contains(alice.read("tools/acme/late.sh"), ownKeyOf(alice)) {
		t.Error("a file was signed that nobody saw")
	}
	alice.o.Consent = consent
	alice.Workspace = workspace.Open(alice.o)
}

// ownKeyOf returns the user's fingerprint as a signature line has it.
func ownKeyOf(p *person) string {
	p.t.Helper()
	all, err := p.Keys().List(p.t.Context(), rye.Terminal())
	if err != nil || len(all) == 0 {
		p.t.Fatal(all, err)
	}
	fp, err := objects.ParseFingerprint(all[0].Fingerprint)
	if err != nil {
		p.t.Fatal(err)
	}
	return fp.URL()
}

// TestReviewBase: the contributor does not choose what a change is compared with. Bytes of an older
// version of the owner's, under the contributor's edit, are compared with the newest in the record,
// and without a record with the newest published one (attack 30).
func TestReviewBase(t *testing.T) {
	alice, _, _ := published(t)
	old := alice.read("tools/acme/greet.sh")
	alice.release("1.1.0")
	bob := contributes(t, alice)
	bob.write("tools/acme/greet.sh", strings.Replace(old, "hello,", "hi,", 1))
	bob.sign(greetRef)
	for _, from := range []string{"record", "published"} {
		alice.copyFrom(bob)
		if from == "published" {
			if err := os.RemoveAll(alice.record()); err != nil {
				t.Fatal(err)
			}
		}
		rep, err := alice.Review(t.Context(), rye.Terminal(), rye.ReviewRequest{Targets: []rye.Target{greetRef}, DryRun: true})
		if err != nil || len(rep.Items) != 1 || rep.Items[0].Base == nil {
			t.Fatalf("%s: %+v, %v", from, rep, err)
		}
		it := rep.Items[0]
		if it.Base.From != from || it.Base.Version != "1.1.0" || !slices.Contains(it.Lines, "-# 1.1.0") {
			t.Errorf("compared with %+v, want 1.1.0 from the %s:\n%s", it.Base, from, strings.Join(it.Lines, "\n"))
		}
	}
}

// TestPatchOfADeniedVersion: a patch falls with the version that it changes, and cannot be signed
// or reviewed past the denial without saying so (attack 7).
func TestPatchOfADeniedVersion(t *testing.T) {
	alice, _, _ := published(t)
	bob := contributes(t, alice)
	base := objects.DigestOf([]byte(bob.read("tools/acme/greet.sh"))).String()
	bob.sign("*") // records the owner's version
	bob.changes("tools/acme/greet.sh", "hello,", "hi,")
	bob.sign(greetRef)
	if got := bob.stateOf(string(greetRef)); got != objects.Patched {
		t.Fatalf("state %q", got)
	}
	if _, err := bob.Trust().Deny(t.Context(), rye.Terminal(), rye.TrustDenyRequest{Subject: base, Reason: "leaks"}); err != nil {
		t.Fatal(err)
	}
	_, err := bob.run(string(greetRef), nil)
	wantCode(t, "a patch of a denied version", err, fault.Revoked)

	alice.copyFrom(bob)
	if _, err := alice.Trust().Deny(t.Context(), rye.Terminal(), rye.TrustDenyRequest{Subject: base, Reason: "leaks"}); err != nil {
		t.Fatal(err)
	}
	_, _, err = alice.reviews(rye.ReviewRequest{Targets: []rye.Target{greetRef}})
	wantCode(t, "review", err, fault.Revoked)
	rep, asked, err := alice.reviews(rye.ReviewRequest{Targets: []rye.Target{greetRef}, AcceptDenied: true})
	if err != nil || rep.Signed != 1 || !strings.Contains(strings.Join(asked[0].Lines, "\n"), "WHICH WAS DENIED") {
		t.Errorf("review with the flag: %+v, %v, %+v", rep, err, asked)
	}
}

// TestGrantPatch: an owner lets one contributor's bytes count in one directory, also with --locked.
func TestGrantPatch(t *testing.T) {
	testkit.NeedProgram(t, "bash")
	alice, _, _ := published(t)
	bob := contributes(t, alice)
	bob.changes("tools/acme/greet.sh", "hello,", "hi,")
	bob.sign(greetRef)
	ctx, me := t.Context(), rye.Terminal()
	_, err := bob.Trust().Patch(ctx, me, rye.TrustPatchRequest{Ref: refOf(string(greetRef))})
	wantCode(t, "bob grants it", err, fault.Untrusted)

	alice.copyFrom(bob)
	q := rye.TrustPatchRequest{Ref: refOf(string(greetRef))}
	_, err = alice.Trust().Patch(ctx, me, q)
	wantCode(t, "an unknown key", err, fault.NotFound)
	keys, err := bob.Keys().List(ctx, me)
	if err != nil {
		t.Fatal(err)
	}
	q.Key = keys[0].SSH
	_, err = alice.Trust().Patch(ctx, me, q)
	wantCode(t, "without a person", err, fault.Denied)
	q.Digest = objects.DigestOf([]byte("another")).String()
	_, err = alice.Trust().Patch(ctx, me, q)
	wantCode(t, "another digest", err, fault.Integrity)
	q.Digest = objects.DigestOf([]byte(alice.read("tools/acme/greet.sh"))).String()
	if _, err = alice.Trust().Patch(ctx, me, q); err != nil { // the digest and --yes
		t.Fatal(err)
	}
	res, err := alice.run(string(greetRef), nil)
	if err != nil || len(res.Metadata.Patched) != 1 {
		t.Fatalf("granted: %+v, %v, want it patched", res, err)
	}
	if _, err := alice.Execute(ctx, rye.Client(), rye.ExecuteRequest{Ref: q.Ref}); err != nil {
		t.Errorf("a model's call of a granted patch: %v", err)
	}
	if _, err := alice.Locks().Lock(ctx, me, rye.LockRequest{Targets: []rye.Target{greetRef}}); err != nil {
		t.Fatal(err)
	}
	if _, err := alice.Execute(ctx, me, rye.ExecuteRequest{Ref: q.Ref, Locked: true}); err != nil {
		t.Errorf("locked: %v", err)
	}
	_, err = alice.Registry().Push(ctx, me, rye.PushRequest{Targets: []rye.Target{greetRef}})
	wantCode(t, "push of a granted patch, which no reader would accept", err, fault.Untrusted)
	entries, err := alice.Trust().List(ctx, me)
	if err != nil || !slices.ContainsFunc(entries, func(e rye.TrustEntry) bool { return e.Kind == "patch" && e.Subject == string(greetRef) }) {
		t.Errorf("list: %+v, %v", entries, err)
	}
	bob.changes("tools/acme/greet.sh", "hi,", "hey,")
	bob.sign(greetRef)
	alice.copyFrom(bob)
	_, err = alice.run(string(greetRef), nil)
	wantCode(t, "the contributor's next bytes", err, fault.Untrusted)
	if _, err := alice.Trust().Patch(ctx, me, rye.TrustPatchRequest{Ref: q.Ref, Remove: true}); err != nil {
		t.Error(err)
	}
}

// TestReviewMerged: a text that git merged is a change that no owner signed.
func TestReviewMerged(t *testing.T) {
	alice, _, _ := published(t)
	const path = "tools/acme/greet.sh"
	it, err := objects.Parse(path, []byte(alice.read(path)))
	if err != nil {
		t.Fatal(err)
	}
	text := []byte(strings.Replace(string(it.Body), "hello,", "hi,", 1))
	raw, ok := objects.WithMerged(path, text, objects.MergeLine{Ours: it.Sum, Theirs: objects.DigestOf(text)})
	if !ok {
		t.Fatal("no merge line")
	}
	alice.write(path, string(raw))
	rep, asked, err := alice.reviews(rye.ReviewRequest{})
	if err != nil || rep.Signed != 1 || len(asked) != 1 {
		t.Fatalf("%+v, %v, asked %+v", rep, err, asked)
	}
	lines := strings.Join(asked[0].Lines, "\n")
	for _, want := range []string{"no one: git merged it", "-echo \"hello,", "+echo \"hi,"} {
		if !strings.Contains(lines, want) {
			t.Errorf("the question lacks %q:\n%s", want, lines)
		}
	}
	if res, err := alice.run(string(greetRef), nil); err != nil || !strings.Contains(string(res.Data), "hi, world") {
		t.Errorf("after the review: %+v, %v", res, err)
	}
}

// TestReviewShowsEverything: what could hide a change from a person is shown or refused
// (attack 31).
func TestReviewShowsEverything(t *testing.T) {
	alice, _, _ := published(t)
	bob := contributes(t, alice)
	for name, c := range map[string]struct {
		line string
		code fault.Code
		says string
	}{
		"carriage return":  {"rm \"$d\"\r", "", `+rm "$d"\r`},
		"escape sequence":  {"echo \x1b[2Jx", fault.Denied, ""},
		"bidirectional":    {"echo \u202exe", fault.Denied, ""},
		"clipboard":        {"echo \x1b]52;c;x\x07", fault.Denied, ""},
		"a hunk's header":  {"@@ -1 +1 @@", "", "+@@ -1 +1 @@"},
		"one of our lines": {"signed by    you", "", "+signed by    you"},
		"too many lines":   {strings.Repeat("true\n", 700), fault.Limit, ""},
		"pushed right":     {strings.Repeat(" ", 300) + "evil", "", "evil"},
	} {
		bob.copyFrom(alice)
		bob.write("tools/acme/greet.sh", bob.read("tools/acme/greet.sh")+c.line+"\n")
		bob.sign(greetRef)
		clean := alice.read("tools/acme/greet.sh")
		alice.write("tools/acme/greet.sh", bob.read("tools/acme/greet.sh"))
		rep, err := alice.Review(t.Context(), rye.Terminal(), rye.ReviewRequest{Targets: []rye.Target{greetRef}, DryRun: true})
		alice.write("tools/acme/greet.sh", clean)
		if fault.CodeOf(err) != c.code {
			t.Errorf("%s: %v, want code %q", name, err, c.code)
			continue
		}
		if c.says != "" && !strings.Contains(strings.Join(rep.Items[0].Lines, "\n"), c.says) {
			t.Errorf("%s: not shown:\n%q", name, rep.Items[0].Lines)
		}
		if raw, _ := json.Marshal(rep); c.code != "" && strings.ContainsRune(string(raw), 0x1b) || strings.Contains(string(raw), `\u001b[2J`) {
			t.Errorf("%s: the bytes are in the report: %s", name, raw)
		}
	}
}

// TestRevertOfAnUpdate: git brings back older bytes that the owner signed. Nothing in the tree says
// that they are meant; the owner does, by signing them anew. A denial holds (attack 38).
func TestRevertOfAnUpdate(t *testing.T) {
	testkit.NeedProgram(t, "bash")
	alice, _, _ := published(t)
	first := alice.read("tools/acme/greet.sh")
	alice.release("1.1.0")
	alice.write("tools/acme/greet.sh", first)
	if got := alice.stateOf(string(greetRef)); got != objects.Older {
		t.Fatalf("after the revert: %q, want older", got)
	}
	_, err := alice.Execute(t.Context(), rye.Client(), rye.ExecuteRequest{Ref: refOf(string(greetRef))})
	wantCode(t, "a model runs the older version", err, fault.Rollback)
	alice.sign("*")
	if got := alice.stateOf(string(greetRef)); got != objects.Older {
		t.Errorf("sign --all made it the newest: %q", got)
	}
	alice.sign(greetRef)
	if got := alice.stateOf(string(greetRef)); got != objects.Signed {
		t.Errorf("signed anew: %q, want signed", got)
	}
	if _, err := alice.Execute(t.Context(), rye.Client(), rye.ExecuteRequest{Ref: refOf(string(greetRef))}); err != nil {
		t.Errorf("a model runs it: %v", err)
	}
	if _, err := os.Stat(filepath.Join(alice.dir, ".ai", "rye.yaml")); err != nil {
		t.Fatal(err)
	}
	it, err := objects.Parse("tools/acme/greet.sh", []byte(first))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := alice.Trust().Deny(t.Context(), rye.Terminal(), rye.TrustDenyRequest{Subject: it.Digest.String()}); err != nil {
		t.Fatal(err)
	}
	alice.write("tools/acme/greet.sh", first)
	_, err = alice.Sign(t.Context(), rye.Terminal(), rye.SignRequest{Targets: []rye.Target{greetRef}})
	wantCode(t, "a denied version, signed anew", err, fault.Revoked)
}
