package workspace_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/testkit"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/workspace"
)

const (
	kitDir = "tools/acme/kit"
	kit    = rye.Target("bundle:acme/tools/kit")
)

// ownsKit returns an owner of acme/ with a bundle of a tool, a library and data. first is signed
// before the bundle, so it has a signature line of its own.
func ownsKit(t *testing.T, first ...rye.Target) *person {
	t.Helper()
	testkit.NeedProgram(t, "bash")
	alice, _, _ := published(t)
	alice.write(kitDir+"/say.sh", strings.Replace(strings.Replace(greet, "category: acme", "category: acme/kit", 1), `echo "hello,`, `. "$(dirname "$0")/word.sh"; echo "$word,`, 1))
	if len(first) > 0 {
		alice.sign(first...)
	}
	alice.write(kitDir+"/word.sh", "word=hello\n")
	alice.write(kitDir+"/old.txt", "old\n")
	alice.sign(kit)
	if res, err := alice.run("tool:acme/kit/say", nil); err != nil || !strings.Contains(string(res.Data), "hello, ") {
		t.Fatalf("the owner runs it: %+v, %v", res, err)
	}
	return alice
}

// TestReviewBundle: an owner sees every file of a bundle that a contributor changed, beside the
// owner's own version, and signs exactly these.
func TestReviewBundle(t *testing.T) {
	alice := ownsKit(t)
	bob := contributes(t, alice)
	bob.changes(kitDir+"/word.sh", "hello", "howdy")
	bob.write(kitDir+"/blob.bin", "\x00\x01")
	bob.write(kitDir+"/more.sh", "#!/bin/bash\necho more\n")
	if err := os.Remove(bob.path(kitDir + "/old.txt")); err != nil {
		t.Fatal(err)
	}
	bob.sign(kit)
	if res, err := bob.run("tool:acme/kit/say", nil); err != nil || !strings.Contains(string(res.Data), "howdy,") || len(res.Metadata.Patched) == 0 {
		t.Fatalf("bob runs it: %+v, %v", res, err)
	}

	alice.copyFrom(bob)
	_, err := alice.run("tool:acme/kit/say", nil)
	wantCode(t, "before the review", err, fault.Untrusted)
	dry, err := alice.Review(t.Context(), rye.Terminal(), rye.ReviewRequest{Targets: []rye.Target{kit}, DryRun: true})
	if err != nil || len(dry.Items) != 1 || dry.Items[0].Status != "would-sign" || dry.Items[0].Base == nil || dry.Items[0].Base.From != "record" {
		t.Fatalf("dry run: %+v, %v", dry, err)
	}
	rep, asked, err := alice.reviews(rye.ReviewRequest{})
	if err != nil || rep.Signed != 1 || len(asked) != 1 || !asked[0].Person {
		t.Fatalf("review: %+v, %v, asked %+v", rep, err, asked)
	}
	lines := strings.Join(asked[0].Lines, "\n")
	for _, want := range []string{
		"changed      word.sh", "-word=hello", "+word=howdy", "removed      old.txt", "new          more.sh", "+echo more",
		`mode: "0755"`, "new          blob.bin", "not text, so rye cannot show it: 2 bytes, " + objects.DigestOf([]byte("\x00\x01")).String(),
	} {
		if !strings.Contains(lines, want) {
			t.Errorf("the question lacks %q:\n%s", want, lines)
		}
	}
	if strings.Contains(lines, "say.sh\n") {
		t.Errorf("the question shows a file that did not change:\n%s", lines)
	}
	if res, err := alice.run("tool:acme/kit/say", nil); err != nil || !strings.Contains(string(res.Data), "howdy,") || len(res.Metadata.Patched) > 0 {
		t.Errorf("after the review: %+v, %v", res, err)
	}
	if again, _, err := alice.reviews(rye.ReviewRequest{}); err != nil || len(again.Items) != 0 {
		t.Errorf("a second review: %+v, %v", again, err)
	}
	_, err = bob.Review(t.Context(), rye.Terminal(), rye.ReviewRequest{Targets: []rye.Target{kit}})
	wantCode(t, "bob reviews in a namespace of others", err, fault.Untrusted)
}

// TestReviewBundleLines: an item in a bundle with a contributor's own signature line is reviewed
// first, and then the manifest, which lists the file with the owner's line.
func TestReviewBundleLines(t *testing.T) {
	alice := ownsKit(t, "tool:acme/kit/say")
	bob := contributes(t, alice)
	bob.changes(kitDir+"/say.sh", "echo", "echo now")
	bob.sign("tool:acme/kit/say")
	bob.sign(kit)
	alice.copyFrom(bob)
	rep, asked, err := alice.reviews(rye.ReviewRequest{})
	if err != nil || rep.Signed != 2 || len(asked) != 2 {
		t.Fatalf("review: %+v, %v, asked %+v", rep, err, asked)
	}
	if res, err := alice.run("tool:acme/kit/say", nil); err != nil || !strings.Contains(string(res.Data), "now hello,") || len(res.Metadata.Patched) > 0 {
		t.Errorf("after the review: %+v, %v", res, err)
	}
}

// TestReviewBundleRefusals: nothing is signed that was not shown, or that was denied.
func TestReviewBundleRefusals(t *testing.T) {
	alice := ownsKit(t)
	bob := contributes(t, alice)
	bob.changes(kitDir+"/word.sh", "hello", "howdy")
	bob.sign(kit)
	alice.copyFrom(bob)
	manifest := alice.read(kitDir + "/" + objects.ManifestName)
	consent := alice.o.Consent
	for name, act := range map[string]func(){
		"a file changes":      func() { alice.write(kitDir+"/word.sh", "word=evil\n") },
		"a file appears":      func() { alice.write(kitDir+"/zz.sh", "evil\n") },
		"a file goes":         func() { os.Remove(alice.path(kitDir + "/word.sh")) },
		"the manifest is new": func() { alice.write(kitDir+"/"+objects.ManifestName, manifest+"\n") },
	} {
		alice.copyFrom(bob)
		alice.o.Consent = func(context.Context, rye.Question) (bool, error) { act(); return true, nil }
		alice.Workspace = workspace.Open(alice.o)
		rep, err := alice.Review(t.Context(), rye.Terminal(), rye.ReviewRequest{})
		wantCode(t, name, err, fault.Conflict)
		if rep.Signed != 0 || strings.Contains(alice.read(kitDir+"/"+objects.ManifestName), ownKeyOf(alice)) {
			t.Errorf("%s: something was signed: %+v", name, rep)
		}
	}
	alice.o.Consent = consent
	alice.Workspace = workspace.Open(alice.o)

	alice.copyFrom(bob)
	text := alice.read(kitDir + "/word.sh")
	alice.write(kitDir+"/word.sh", text+strings.Repeat("x", 2000)+"\n")
	_, _, err := alice.reviews(rye.ReviewRequest{})
	wantCode(t, "a line that nobody reads", err, fault.Limit)
	alice.write(kitDir+"/word.sh", "word=hi # \u202e\n")
	_, _, err = alice.reviews(rye.ReviewRequest{})
	wantCode(t, "an invisible character", err, fault.Denied)
}

// TestGrantPatchBundle: an owner lets one state of a contributor's bundle count, and nothing else.
func TestGrantPatchBundle(t *testing.T) {
	alice := ownsKit(t)
	bob := contributes(t, alice)
	bob.changes(kitDir+"/word.sh", "hello", "howdy")
	bob.sign(kit)
	alice.copyFrom(bob)
	keys, err := bob.Keys().List(t.Context(), rye.Terminal())
	if err != nil {
		t.Fatal(err)
	}
	ref := objects.Ref{Kind: objects.Bundle, ID: "acme/tools/kit"}
	q := rye.TrustPatchRequest{Ref: ref, Key: keys[0].SSH, Digest: objects.DigestOf([]byte("else")).String()}
	_, err = alice.Trust().Patch(t.Context(), rye.Terminal(), q)
	wantCode(t, "another digest", err, fault.Integrity)
	alice.looks = true
	before := len(alice.asks)
	q.Digest = ""
	if _, err = alice.Trust().Patch(t.Context(), rye.Terminal(), q); err != nil {
		t.Fatal(err)
	}
	alice.looks = false
	if lines := strings.Join(alice.asks[before].Lines, "\n"); !strings.Contains(lines, "+word=howdy") {
		t.Errorf("the question does not show the change:\n%s", lines)
	}
	if res, err := alice.run("tool:acme/kit/say", nil); err != nil || !strings.Contains(string(res.Data), "howdy,") || len(res.Metadata.Patched) == 0 {
		t.Errorf("granted: %+v, %v", res, err)
	}
	bob.changes(kitDir+"/word.sh", "howdy", "evil")
	bob.sign(kit)
	alice.copyFrom(bob)
	_, err = alice.run("tool:acme/kit/say", nil)
	wantCode(t, "other bytes", err, fault.Untrusted)
}
