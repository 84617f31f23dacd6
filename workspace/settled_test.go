package workspace_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rye-os/rye"
)

// fetched returns the warnings of a fetch.
func (p *person) fetched() string {
	p.t.Helper()
	all, err := p.Registry().Fetch(p.t.Context(), rye.Terminal())
	if err != nil {
		p.t.Fatal(err)
	}
	var lines []string
	for _, info := range all {
		lines = append(lines, info.Warnings...)
	}
	return strings.Join(lines, "\n")
}

// A warning is shown by every fetch, until its cause is gone.
func TestFetchRepeatsItsWarnings(t *testing.T) {
	_, bob, url := published(t)
	bob.add("acme/tool/greet")
	plain := bob.read("rye.yaml")
	mirror := strings.Replace(plain, "\n    id:", "\n    mirrors:\n      - "+url+".mirror\n    id:", 1)
	if mirror == plain {
		t.Fatalf("no registry in rye.yaml:\n%s", plain)
	}
	if got := bob.fetched(); got != "" { // now all of it is settled
		t.Errorf("before: %s", got)
	}
	bob.write("rye.yaml", mirror)
	for i := range 3 {
		if got := bob.fetched(); !strings.Contains(got, "you have not accepted this mirror") {
			t.Errorf("fetch %d warns %q, want of the mirror", i+1, got)
		}
	}
	bob.write("rye.yaml", plain)
	if got := bob.fetched(); got != "" {
		t.Errorf("after: %s", got)
	}
}

// Where nothing is new, a fetch still warns as soon as the first of several namespaces is
// not fresh any more.
func TestFetchWarnsOfTheFirstStaleNamespace(t *testing.T) {
	alice, url := project(t), filepath.Join(t.TempDir(), "tools.git")
	alice.write("tools/acme/greet.sh", greet)
	alice.sign("*")
	if _, err := alice.Registry().Init(t.Context(), rye.Terminal(), rye.RegistryInitRequest{URL: url, Namespaces: []string{"acme", "beta"}}); err != nil {
		t.Fatal(err)
	}
	alice.push("tool:acme/greet")
	first, second := alice.dir, t.TempDir()
	if _, err := alice.Init(t.Context(), rye.Terminal(), rye.InitRequest{Dir: second, Namespace: "beta"}); err != nil {
		t.Fatal(err)
	}
	alice.enter(second)
	if _, err := alice.Registry().Add(t.Context(), rye.Terminal(), rye.RegistryAddRequest{URL: url}); err != nil {
		t.Fatal(err)
	}
	alice.write("tools/beta/greet.sh", strings.ReplaceAll(greet, "acme", "beta"))
	alice.sign("*")
	alice.push("tool:beta/greet")
	alice.enter(first)
	for ns, fresh := range map[string]time.Duration{"acme": time.Hour, "beta": 100 * time.Hour} {
		if _, err := alice.Registry().Checkpoint(t.Context(), rye.Terminal(), rye.CheckpointRequest{Namespaces: []string{ns}, Fresh: fresh}); err != nil {
			t.Fatal(err)
		}
	}
	bob := newPerson(t)
	if _, err := bob.Init(t.Context(), rye.Terminal(), rye.InitRequest{Dir: bob.dir}); err != nil {
		t.Fatal(err)
	}
	bob.enter(bob.dir)
	if _, err := bob.Registry().Add(t.Context(), rye.Terminal(), rye.RegistryAddRequest{URL: url, Scopes: []string{"acme", "beta"}}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got := bob.fetched(); got != "" {
			t.Fatalf("fresh: %s", got)
		}
	}
	now := bob.o.Now
	bob.o.Now = func() time.Time { return now().Add(2 * time.Hour) }
	bob.enter(bob.dir)
	if got := bob.fetched(); !strings.Contains(got, "acme: its checkpoint expired on") || strings.Contains(got, "beta") {
		t.Errorf("two hours later: %q, want a warning of acme", got)
	}
}
