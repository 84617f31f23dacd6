package workspace_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/registry"
	"github.com/rye-os/rye/registry/oplog"
)

// bash is the text of a bash tool with more lines of metadata, "; " between them.
func bash(version, more string) string {
	text := strings.Replace(greet, "1.0.0", version, 1)
	if strings.Contains(more, "needs:") {
		text = strings.Replace(text, "# needs: {read: [.]}\n", "", 1)
	}
	if more != "" {
		text = strings.Replace(text, "# category", "# "+strings.ReplaceAll(more, "; ", "\n# ")+"\n# category", 1)
	}
	return text + "# of " + version + "\n"
}

// publish signs and publishes versions of alice's tools, "lib 1.0.0: needs: {net: []}".
func (p *person) publish(lines ...string) {
	p.t.Helper()
	for _, line := range lines {
		head, more, _ := strings.Cut(line, ": ")
		name, version, _ := strings.Cut(head, " ")
		p.write("tools/acme/"+name+".sh", bash(version, more))
		p.sign("tool:acme/" + rye.Target(name))
		p.push("tool:acme/" + rye.Target(name))
	}
}

func (p *person) mark(do, name string) {
	p.t.Helper()
	if _, err := p.Registry().Mark(p.t.Context(), rye.Terminal(), rye.MarkRequest{Do: do, Names: []string{name}, Reason: "it leaks"}); err != nil {
		p.t.Fatal(err)
	}
}

// install is one call, and what it says of the lock: "lib@1.0.0 tool@2.0.0".
func (p *person) install(q rye.InstallRequest) (*rye.InstallReport, error) {
	p.t.Helper()
	return p.Registry().Install(p.t.Context(), rye.Terminal(), q)
}

// locked lists the registry items of the lock.
func (p *person) locked() string {
	var all []string
	ref, from := "", false
	for line := range strings.Lines(p.read("rye.lock")) {
		f := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "  tool:"):
			ref, from = strings.TrimSuffix(strings.TrimPrefix(f[0], "tool:acme/"), ":"), false
		case len(f) == 2 && f[0] == "from:":
			from = true
		case len(f) == 2 && f[0] == "version:" && from:
			all = append(all, ref+"@"+f[1])
		}
	}
	return strings.Join(all, " ")
}

func (p *person) lastQuestion() string {
	if len(p.asks) == 0 {
		return ""
	}
	q := p.asks[len(p.asks)-1]
	return q.Topic + "\n" + strings.Join(q.Lines, "\n")
}

func wantText(t *testing.T, what, got string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(got, part) {
			t.Errorf("%s does not say %q:\n%s", what, part, got)
		}
	}
}

func TestDepsComeAlong(t *testing.T) {
	alice, bob, _ := published(t)
	alice.publish("lib 1.0.0", "lib 1.1.0", "lib 2.0.0", "tool 1.0.0: deps: {acme/tool/lib: ^1, acme/tool/greet: '*'}")
	asked := len(bob.asks)
	rep, err := bob.install(rye.InstallRequest{Names: []string{"acme/tool/tool"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := bob.locked(); got != "greet@1.0.0 lib@1.1.0 tool@1.0.0" {
		t.Errorf("locked %s", got)
	}
	if len(bob.asks) != asked+1 {
		t.Errorf("%d questions for one command", len(bob.asks)-asked)
	}
	wantText(t, "the question", bob.lastQuestion(), "and 2 more items", "acme/tool/lib@1.1.0", "dependency: acme/tool/tool@1.0.0 wants ^1", "uses     acme/tool/greet *, acme/tool/lib ^1")
	if deps := bob.read("rye.yaml"); !strings.Contains(deps, "acme/tool/tool: ^1.0.0") || strings.Contains(deps, "acme/tool/lib") {
		t.Errorf("rye.yaml lists what only came along:\n%s", deps)
	}
	direct := map[string]bool{}
	for _, c := range rep.Changes {
		direct[c.Name] = c.Direct
	}
	if !direct["acme/tool/tool"] || direct["acme/tool/lib"] || len(direct) != 3 {
		t.Errorf("changes %+v", rep.Changes)
	}
	before := bob.read("rye.lock") + bob.read("rye.yaml")
	if rep, err := bob.install(rye.InstallRequest{Names: []string{"acme/tool/tool"}}); err != nil || len(rep.Changes) != 0 || bob.read("rye.lock")+bob.read("rye.yaml") != before {
		t.Errorf("adding what is there changed something: %+v, %v", rep, err)
	}

	// A clone has none of it, and brings all that the lock names, asking nothing.
	if err := os.RemoveAll(bob.record()); err != nil {
		t.Fatal(err)
	}
	asked = len(bob.asks)
	if _, err := bob.install(rye.InstallRequest{}); err != nil || len(bob.asks) != asked || bob.read("rye.lock")+bob.read("rye.yaml") != before {
		t.Errorf("pull of everything: %v", err)
	}
	for _, ref := range []string{"tool:acme/tool", "tool:acme/lib", "tool:acme/greet"} {
		if _, err := bob.run(ref, nil); err != nil {
			t.Errorf("after a pull: %v", err)
		}
	}

	// What came along moves by its name, and is not asked for because of that.
	alice.publish("lib 1.2.0")
	if _, err := bob.install(rye.InstallRequest{Update: true, Names: []string{"acme/tool/lib", "acme/tool/lib"}}); err != nil || bob.locked() != "greet@1.0.0 lib@1.2.0 tool@1.0.0" {
		t.Errorf("update of what came along: %v, %s", err, bob.locked())
	}
	if deps := bob.read("rye.yaml"); strings.Contains(deps, "acme/tool/lib") {
		t.Errorf("an update asks for what only came along:\n%s", deps)
	}
	_, err = bob.install(rye.InstallRequest{Names: []string{"acme/tool/lib@^1", "acme/tool/lib@^2"}})
	wantCode(t, "one item with two ranges", err, fault.Usage)
	before = bob.read("rye.lock") + bob.read("rye.yaml")

	// A range moves what it names, and is written down; what keeps it from moving is told.
	_, err = bob.install(rye.InstallRequest{Names: []string{"acme/tool/lib@^2"}})
	wantCode(t, "a range that excludes another", err, fault.Conflict)
	wantText(t, "the conflict", fmt.Sprint(err), "acme/tool/lib: no version fits", "this command wants ^2", "acme/tool/tool@1.0.0 wants ^1")
	if bob.read("rye.lock")+bob.read("rye.yaml") != before {
		t.Error("a conflict changed something")
	}
	alice.publish("tool 1.1.0: deps: {acme/tool/lib: ^2}")
	if _, err = bob.install(rye.InstallRequest{Names: []string{"acme/tool/lib@^2"}}); err != nil || bob.locked() != "lib@2.0.0 tool@1.1.0" {
		t.Errorf("what stands in the way moves, too, and what it wants no more goes: %v, %s", err, bob.locked())
	}
	wantText(t, "rye.yaml", bob.read("rye.yaml"), "acme/tool/lib: ^2\n")
	if _, err = bob.install(rye.InstallRequest{Names: []string{"acme/tool/lib@*"}}); err != nil {
		t.Error(err)
	}
	wantText(t, "rye.yaml", bob.read("rye.yaml"), "acme/tool/lib: '*'\n")
}

// What came along for an item goes when that wants it no more, unless somebody else does.
func TestDepsGo(t *testing.T) {
	alice, bob, _ := published(t)
	alice.publish("deep 1.0.0", "lib 1.0.0: deps: {acme/tool/deep: '*'}", "tool 1.0.0: deps: {acme/tool/lib: '*', acme/tool/greet: '*'}", "other 1.0.0: deps: {acme/tool/greet: '*'}")
	bob.add("acme/tool/tool", "acme/tool/other")
	if got := bob.locked(); got != "deep@1.0.0 greet@1.0.0 lib@1.0.0 other@1.0.0 tool@1.0.0" {
		t.Fatalf("locked %s", got)
	}
	alice.publish("tool 1.1.0")
	rep, err := bob.install(rye.InstallRequest{Update: true})
	if err != nil || bob.locked() != "greet@1.0.0 other@1.0.0 tool@1.1.0" {
		t.Fatalf("%v, locked %s", err, bob.locked())
	}
	i := slices.IndexFunc(rep.Changes, func(c rye.Change) bool { return c.Name == "acme/tool/tool" })
	if i < 0 || rep.Changes[i].Was != "1.0.0" || len(rep.Changes[i].DepsGone) != 2 {
		t.Errorf("changes %+v", rep.Changes)
	}
	wantText(t, "the question", bob.lastQuestion(), "acme/tool/lib@1.0.0 is removed", "no longer uses acme/tool/greet, acme/tool/lib", "moves    1.0.0 -> 1.1.0, +")
}

// After a yank nothing jams: what is locked stays and works, and is told what to take.
func TestYankedDoesNotJam(t *testing.T) {
	alice, bob, _ := published(t)
	alice.publish("lib 1.2.0")
	bob.add("acme/tool/lib@~1.2")
	alice.publish("lib 1.3.0")
	alice.mark("yank", "acme/tool/lib@1.2.0")
	for _, q := range []rye.InstallRequest{{Update: true}, {Names: []string{"acme/tool/lib"}}, {Update: true, Names: []string{"acme/tool/lib"}}, {}} {
		rep, err := bob.install(q)
		if err != nil || bob.locked() != "lib@1.2.0" {
			t.Fatalf("%+v: %v, %s", q, err, bob.locked())
		}
		wantText(t, "a report", strings.Join(rep.Warnings, "\n"), "acme/tool/lib@1.2.0 was yanked: it leaks; rye add acme/tool/lib@^1.3.0")
	}
	if _, err := bob.run("tool:acme/lib", nil); err != nil {
		t.Errorf("what is locked works: %v", err)
	}
	_, err := newOf(t, bob).install(rye.InstallRequest{Names: []string{"acme/tool/lib@~1.2"}})
	wantCode(t, "what was yanked, anew", err, fault.Conflict)
	if hint := fault.HintOf(err).String(); hint != "rye add acme/tool/lib@^1.3.0" {
		t.Errorf("hint %q", hint)
	}
	if _, err := bob.install(rye.InstallRequest{Names: []string{"acme/tool/lib@*"}}); err != nil || bob.locked() != "lib@1.3.0" {
		t.Errorf("add @*: %v, %s", err, bob.locked())
	}
	alice.mark("revoke", "acme/tool/lib@1.3.0")
	_, err = bob.install(rye.InstallRequest{})
	wantCode(t, "a pull of what was revoked", err, fault.Revoked)
	if hint := fault.HintOf(err).String(); hint != "rye update acme/tool/lib" {
		t.Errorf("hint %q", hint)
	}
}

// newOf is somebody else with an empty project and the registry of p's.
func newOf(t *testing.T, p *person) *person {
	t.Helper()
	other := newPerson(t)
	if _, err := other.Init(t.Context(), rye.Terminal(), rye.InitRequest{Dir: other.dir}); err != nil {
		t.Fatal(err)
	}
	other.enter(other.dir)
	url := ""
	for line := range strings.Lines(p.read("rye.yaml")) {
		if u, ok := strings.CutPrefix(strings.TrimSpace(line), "url: "); ok {
			url = u
		}
	}
	if _, err := other.Registry().Add(t.Context(), rye.Terminal(), rye.RegistryAddRequest{URL: url}); err != nil {
		t.Fatal(err)
	}
	return other
}

// The flag that says yes says it to what was there before. More needs, other signers and new
// tools take a flag of their own, or a person (attacks 75 and 76).
func TestMoreIsAgreedToApart(t *testing.T) {
	alice, bob, _ := published(t)
	alice.publish("lib 1.0.0: needs: {read: [src], net: []}", "tool 1.0.0: needs: {net: []}; deps: {acme/tool/lib: ^1}")
	_, err := bob.install(rye.InstallRequest{Names: []string{"acme/tool/tool"}})
	wantCode(t, "a dependency that reads more than who uses it (76)", err, fault.Denied)
	wantText(t, "the question", bob.lastQuestion(), `NOW ALSO reads "src", which acme/tool/tool@1.0.0 does not`)
	if _, serr := os.Stat(bob.path("rye.lock")); serr == nil {
		t.Error("refused, and written")
	}
	if hint := fault.HintOf(err).String(); hint != "rye add acme/tool/tool --accept-needs --yes" {
		t.Errorf("hint %q", hint)
	}
	if _, err := bob.install(rye.InstallRequest{Names: []string{"acme/tool/tool"}, AcceptNeeds: true}); err != nil {
		t.Fatal(err)
	}
	alice.publish("tool 1.1.0: needs: {net: [example.org]}; deps: {acme/tool/lib: ^1}")
	lock := bob.read("rye.lock")
	for _, who := range []string{"a flag", "nobody"} {
		if who == "nobody" {
			bob.o.Consent = nil
			bob.enter(bob.dir)
		}
		_, err = bob.install(rye.InstallRequest{Update: true})
		wantCode(t, "more needs, by "+who+" (75)", err, fault.Denied)
		if hint := fault.HintOf(err).String(); hint != "rye update --accept-needs --yes" || bob.read("rye.lock") != lock {
			t.Errorf("hint %q", hint)
		}
	}
	rep, err := bob.install(rye.InstallRequest{Update: true, DryRun: true, Diff: true})
	if err != nil || len(rep.Changes) != 1 || bob.read("rye.lock") != lock {
		t.Fatalf("%+v, %v", rep, err)
	}
	c := rep.Changes[0]
	if c.Was != "1.0.0" || c.Version != "1.1.0" || c.NeedsWas != "no files, no network" || c.Needs != "network example.org" || c.Added != 4 || c.Removed != 4 ||
		!slices.Contains(c.Diff, "+# needs: {net: [example.org]}") || fmt.Sprint(c.Wider) != `[reaches "example.org"]` {
		t.Errorf("%+v", c)
	}
}

func TestNewToolsTakeAFlag(t *testing.T) {
	alice, bob, _ := published(t)
	alice.publish("lib 1.0.0", "tool 1.0.0")
	bob.add("acme/tool/tool")
	alice.publish("tool 1.1.0: deps: {acme/tool/lib: ^1}")
	_, err := bob.install(rye.InstallRequest{Update: true})
	wantCode(t, "a new tool comes along", err, fault.Denied)
	wantText(t, "the question", bob.lastQuestion(), "NOW ALSO brings a new tool")
	bob.looks = true
	if _, err := bob.install(rye.InstallRequest{Update: true}); err != nil || bob.locked() != "lib@1.0.0 tool@1.1.0" {
		t.Errorf("a person says yes: %v, %s", err, bob.locked())
	}
}

func TestOtherSignersTakeAFlag(t *testing.T) {
	alice, bob, _ := published(t)
	bob.add("acme/tool/greet")
	if _, err := alice.Keys().Rotate(t.Context(), rye.Terminal(), rye.KeyRotateRequest{}); err != nil {
		t.Fatal(err)
	}
	alice.release("1.1.0")
	lock := bob.read("rye.lock")
	bob.yes = true
	_, err := bob.install(rye.InstallRequest{Update: true})
	wantCode(t, "a flag says yes to another signer", err, fault.Denied)
	wantText(t, "the question", bob.lastQuestion(), "SIGNER CHANGED", "PUBLISHER CHANGED")
	consent := bob.o.Consent
	bob.o.Consent = nil
	bob.enter(bob.dir)
	_, err = bob.install(rye.InstallRequest{Update: true})
	wantCode(t, "nobody is asked about another signer", err, fault.Untrusted)
	if hint := fault.HintOf(err).String(); hint != "rye update --accept-signer --yes" || bob.read("rye.lock") != lock {
		t.Errorf("hint %q", hint)
	}
	bob.o.Consent = consent
	bob.enter(bob.dir)
	if _, err := bob.install(rye.InstallRequest{Update: true, AcceptSigner: true}); err != nil || bob.locked() != "greet@1.1.0" {
		t.Errorf("%v, %s", err, bob.locked())
	}
}

// What is too young is passed over and named; a date in the log that is older than it can be
// gains nothing where the log was known (attack 74).
func TestTooYoungIsPassedOver(t *testing.T) {
	alice, bob, _ := published(t)
	day := func(n int) func() time.Time {
		return func() time.Time { return time.Date(2026, 3, n, 12, 0, 0, 0, time.UTC) }
	}
	if err := os.WriteFile(filepath.Join(bob.home, "config", "policy.yaml"), []byte("policy: 1\nmin_age: 7d\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	at := func(p *person, n int) {
		p.o.Now = day(n)
		p.enter(p.dir)
	}
	at(alice, 1)
	alice.publish("lib 1.0.0")
	at(bob, 9)
	bob.add("acme/tool/lib")
	alice.publish("lib 1.1.0") // dated the 1st, published after the 9th
	rep, err := bob.install(rye.InstallRequest{Update: true})
	if err != nil || bob.locked() != "lib@1.0.0" {
		t.Fatalf("a version that is dated back: %v, %s", err, bob.locked())
	}
	wantText(t, "the report", strings.Join(rep.Warnings, "\n"), "acme/tool/lib@1.1.0 is skipped: it is too young, until 2026-03-16T12:00:00Z")
	_, err = bob.install(rye.InstallRequest{Names: []string{"acme/tool/lib@^1.1"}})
	wantCode(t, "only what is too young", err, fault.Denied)
	at(bob, 16)
	if _, err := bob.install(rye.InstallRequest{Update: true}); err != nil || bob.locked() != "lib@1.1.0" {
		t.Errorf("a week later: %v, %s", err, bob.locked())
	}
	at(alice, 16)
	alice.publish("lib 1.2.0")
	if err := os.WriteFile(filepath.Join(bob.home, "config", "policy.yaml"), []byte("policy: 1\nmin_age: 7d\nmin_age_except: [acme/*]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	at(bob, 16)
	if _, err := bob.install(rye.InstallRequest{Update: true}); err != nil || bob.locked() != "lib@1.2.0" {
		t.Errorf("excepted: %v, %s", err, bob.locked())
	}
}

// What the project has of its own counts as what others want of it, and is never replaced.
func TestOwnItemsCount(t *testing.T) {
	alice, bob, _ := published(t)
	alice.publish("lib 1.0.0", "tool 1.0.0: deps: {acme/tool/lib: ^2}", "more 1.0.0: deps: {acme/tool/lib: ^1}")
	bob.write("tools/acme/lib.sh", bash("2.1.0", ""))
	if _, err := bob.install(rye.InstallRequest{Names: []string{"acme/tool/tool"}, AcceptNeeds: true}); err != nil || bob.locked() != "tool@1.0.0" {
		t.Errorf("%v, %s", err, bob.locked())
	}
	_, err := bob.install(rye.InstallRequest{Names: []string{"acme/tool/more"}})
	wantCode(t, "another version of what the project has", err, fault.Conflict)
	_, err = bob.install(rye.InstallRequest{Names: []string{"acme/tool/lib"}})
	wantCode(t, "what the project has", err, fault.Conflict)
	alice.publish("std 1.0.0: deps: {rye/tool/core/runtimes/bash_runtime: '*'}", "none 1.0.0: deps: {rye/tool/no/such: '*'}")
	if _, err = bob.install(rye.InstallRequest{Names: []string{"acme/tool/std"}}); err != nil || bob.locked() != "std@1.0.0 tool@1.0.0" {
		t.Errorf("what the standard library has: %v, %s", err, bob.locked())
	}
	_, err = bob.install(rye.InstallRequest{Names: []string{"acme/tool/none"}})
	wantCode(t, "what the standard library lacks", err, fault.NotFound)
	wantText(t, "the refusal", fmt.Sprint(err), "acme/tool/none@1.0.0 wants *", "the standard library has no such item")
}

// A person who declines is not told of signers; nothing is asked in a dry run.
func TestDeclined(t *testing.T) {
	alice, bob, _ := published(t)
	alice.publish("tool 1.0.0: deps: {acme/tool/greet: '*'}")
	asked := len(bob.asks)
	if rep, err := bob.install(rye.InstallRequest{Names: []string{"acme/tool/tool"}, DryRun: true}); err != nil || len(rep.Installed) != 2 || len(rep.Changes) != 2 || len(bob.asks) != asked {
		t.Errorf("dry run: %+v, %v", rep, err)
	}
	bob.o.Consent = func(context.Context, rye.Question) (bool, error) { return false, nil }
	bob.enter(bob.dir)
	_, err := bob.install(rye.InstallRequest{Names: []string{"acme/tool/tool"}})
	wantCode(t, "declined", err, fault.Denied)
	if _, serr := os.Stat(bob.path("rye.lock")); serr == nil {
		t.Error("declined, and written")
	}
}

// A line of the catalogue that says other than the file is found when that arrives, whichever
// of them names more.
func TestLineSaysOtherThanFile(t *testing.T) {
	alice, bob, url := published(t)
	key, err := trust.LoadKey(filepath.Join(alice.o.ConfigDir, "keys", "default"), nil)
	if err != nil {
		t.Fatal(err)
	}
	st, err := trust.LoadStore(filepath.Join(alice.o.ConfigDir, "trust.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	b, _ := st.Binding("acme")
	id, err := objects.ParseDigest(b.Registry)
	if err != nil {
		t.Fatal(err)
	}
	reg, err := registry.Open(registry.Options{URL: url, ID: id, CacheDir: t.TempDir(), StateDir: t.TempDir(), Now: alice.o.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer reg.Close()
	own, err := trust.LoadStore(filepath.Join(t.TempDir(), "trust.yaml"))
	if err == nil {
		err = own.AddOwn(key.Public(), "test")
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, lie := range map[string][2]string{"hides": {"deps: {acme/tool/greet: ^1}", ""}, "invents": {"", "acme/tool/greet"}} {
		path := "tools/acme/" + name + ".sh"
		alice.write(path, bash("1.0.0", lie[0]))
		alice.sign("tool:acme/" + rye.Target(name))
		it, err := objects.Parse(path, []byte(alice.read(path)))
		if err != nil {
			t.Fatal(err)
		}
		v, err := trust.Verify(it, trust.Scope{Space: objects.User}, own)
		if err != nil {
			t.Fatal(err)
		}
		var meta oplog.Meta
		if lie[1] != "" {
			meta.Deps = map[string]string{lie[1]: "^1"}
		}
		item, err := registry.NewItem(v, meta, func(string) ([]byte, error) { return it.Raw, nil })
		if err != nil {
			t.Fatal(err)
		}
		if _, err := reg.Publish(t.Context(), registry.Publication{Namespace: "acme", Items: []*registry.Item{item}, By: registry.By{Signer: key}}); err != nil {
			t.Fatal(err)
		}
		_, err = bob.install(rye.InstallRequest{Names: []string{"acme/tool/" + name}})
		wantCode(t, name, err, fault.Integrity)
		wantText(t, "the refusal", fmt.Sprint(err), "the registry lists the dependencies")
		if _, serr := os.Stat(bob.path("rye.lock")); serr == nil {
			t.Error("refused, and written")
		}
	}
}

// What executes a tool comes along from a registry as what it uses does, and goes as that goes.
func TestExecutorsComeAlong(t *testing.T) {
	alice, bob, _ := published(t)
	const runtime = "version: %s\ntool_type: runtime\nexecutor_id: rye/core/primitives/subprocess\ndescription: Runs.\nneeds: {net: []}\nconfig: {command: /bin/true}\n"
	for _, v := range []string{"1.0.0", "1.1.0"} {
		alice.write("tools/acme/runs.yaml", fmt.Sprintf(runtime, v))
		alice.sign("tool:acme/runs")
		alice.push("tool:acme/runs")
	}
	through := func(version, executor string) {
		alice.write("tools/acme/tool.sh", strings.Replace(bash(version, "needs: {net: []}"), "rye/core/runtimes/bash_runtime", executor, 1))
		alice.sign("tool:acme/tool")
		alice.push("tool:acme/tool")
	}
	through("1.0.0", "acme/runs")
	bob.add("acme/tool/tool")
	if bob.locked() != "runs@1.1.0 tool@1.0.0" {
		t.Fatalf("locked %s", bob.locked())
	}
	wantText(t, "the question", bob.lastQuestion(), "dependency: acme/tool/tool@1.0.0 wants *")
	before := bob.read("rye.lock")
	if rep, err := bob.install(rye.InstallRequest{Update: true}); err != nil || len(rep.Changes) != 0 || bob.read("rye.lock") != before {
		t.Errorf("an update of what is newest: %+v, %v", rep, err)
	}
	bob.add("acme/tool/greet") // which leaves both where they are
	if bob.locked() != "greet@1.0.0 runs@1.1.0 tool@1.0.0" {
		t.Errorf("locked %s", bob.locked())
	}
	through("1.1.0", "rye/core/runtimes/bash_runtime")
	_, err := bob.install(rye.InstallRequest{Update: true})
	wantCode(t, "another executor", err, fault.Denied)
	wantText(t, "the question", bob.lastQuestion(), `NOW ALSO is executed by "rye/core/runtimes/bash_runtime"`, "acme/tool/runs@1.1.0 is removed")
	if _, err := bob.install(rye.InstallRequest{Update: true, AcceptNeeds: true}); err != nil || bob.locked() != "greet@1.0.0 tool@1.1.0" {
		t.Errorf("%v, %s", err, bob.locked())
	}
}
