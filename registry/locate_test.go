package registry

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/githost"
	"github.com/rye-os/rye/internal/testkit"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/registry/oplog"
	"github.com/rye-os/rye/store/transport"
)

// locatedElsewhere makes a registry with two operations in acme, which lies in another repository.
func locatedElsewhere(t *testing.T) (w *world, pub *machine, url string) {
	t.Helper()
	w = newWorld(t, oplog.ClaimsGranted)
	pub = w.machine(t)
	w.publish(pub, w.ada, "acme/knowledge/a@1.0.0")
	url = w.another("acme.git")
	w.sync(pub, "acme")
	if _, err := pub.SpreadTo(w.ctx, url, SpreadOptions{Namespaces: []string{"acme"}, Only: true}); err != nil {
		t.Fatal(err)
	}
	w.locate(url)
	return w, pub.reopen(w, func(o *Options) { o.MayAsk = allow(url) }), url
}

func allow(urls ...string) func(string) bool {
	return func(url string) bool {
		for _, u := range urls {
			if u == url {
				return true
			}
		}
		return false
	}
}

// locate has the root say where acme lies.
func (w *world) locate(url string) {
	w.t.Helper()
	m := w.machine(w.t)
	m.o.MayAsk = func(string) bool { return true }
	m = m.reopen(w, nil)
	op, err := m.GrantOp(w.ctx, "acme", w.ada.pub)
	if err != nil {
		w.t.Fatal(err)
	}
	op.Located = url
	if err := m.changeRoot(w.ctx, By{Signer: w.root}, op); err != nil {
		w.t.Fatal(err)
	}
}

// A namespace that lies elsewhere is read, written, verified and rebuilt there.
func TestLocatedNamespace(t *testing.T) {
	w, pub, url := locatedElsewhere(t)
	w.publish(pub, w.ada, "acme/knowledge/b@1.0.0")
	old := testkit.Git(t, w.dir, "rev-parse", "ns/acme")
	dir := filepath.Join(filepath.Dir(w.dir), "acme.git")
	if now := testkit.Git(t, dir, "rev-parse", "ns/acme"); now == old {
		t.Error("the operation went to the old repository")
	}
	if refs := testkit.Git(t, dir, "for-each-ref", "--format=%(refname)"); refs != "refs/heads/content/acme\nrefs/heads/ns/acme" {
		t.Errorf("the other repository holds %q", refs)
	}
	m := w.machine(t).reopen(w, func(o *Options) { o.MayAsk = allow(url) })
	w.sync(m, "acme")
	if err := fetchFirst(t, w, m, "acme/knowledge/b"); err != nil {
		t.Fatal(err)
	}
	if c, err := m.Verify(w.ctx, "acme", true); err != nil || len(c.Missing) > 0 || c.Operations != 3 {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err := pub.Rebuild(w.ctx, By{Signer: w.ada}, "acme", false); err != nil {
		t.Fatal(err)
	}
	if err := changeKeys(w, pub, By{Signer: w.ada}, oplog.Op{Kind: oplog.OpKeyRetire, Key: newKey("bob").pub.Fingerprint()}); err == nil {
		t.Error("an unknown key was retired")
	}
	testkit.Git(t, dir, "fsck", "--strict", "--full")

	// What was left behind is asked when the other is down; it is behind, and that is 13.
	os.Rename(dir, dir+".away")
	m = m.reopen(w, nil)
	wantCode(t, m.Sync(w.ctx, "acme"), fault.Rollback)
	fresh := w.machine(t).reopen(w, func(o *Options) { o.MayAsk = allow(url) })
	w.sync(fresh, "acme") // knows no better, and is told
	if notes := fresh.Notes(); len(notes) != 1 || !strings.Contains(notes[0], url) {
		t.Errorf("notes %q", notes)
	}
	os.Rename(dir+".away", dir)
	all, err := fresh.Survey(w.ctx, "acme")
	if err != nil || len(all) != 2 || all[0].Problem() != w.url+" is behind: acme: 2 of 3 operations" {
		t.Errorf("%v, %v", all, err)
	}
}

// Where the root says that a namespace lies is a proposal (attack 78): nothing is asked there
// before the user agreed, and what no yes should allow has to be named by the user.
func TestLocationIsAProposal(t *testing.T) {
	w, _, url := locatedElsewhere(t)
	m := w.machine(t)
	err := m.Sync(w.ctx, "acme")
	wantCode(t, err, fault.Untrusted)
	var lies *LocatedError
	if !errors.As(err, &lies) || lies.URL != url || lies.Namespace != "acme" || lies.Since != 3 || lies.Far != "" {
		t.Errorf("%+v", lies)
	}
	if _, err := m.Root(w.ctx); err != nil {
		t.Error("the root was not read")
	}
	_, err = m.Publish(w.ctx, publication(t, w.ada, "acme/knowledge/c@1.0.0"))
	wantCode(t, err, fault.Untrusted)

	here := []*mirror{{url: "https://git.example.org/registry.git"}}
	for text, far := range map[string]bool{
		"https://git.example.org/acme.git":          false,
		"https://other.example.net/acme.git":        false,
		"https://[2001:4860:4860::8888]/acme.git":   false,
		"file:///home/user/repo.git":                true,
		"ssh://git@git.example.org/acme.git":        true,
		"git://git.example.org/acme.git":            true,
		"http://git.example.org/acme.git":           true,
		"https://localhost/acme.git":                true,
		"https://LOCALHOST./acme.git":               true,
		"https://intranet/acme.git":                 true,
		"https://127.0.0.1:8443/acme.git":           true,
		"https://10.0.0.1/acme.git":                 true,
		"https://169.254.169.254/latest":            true,
		"https://[::1]/acme.git":                    true,
		"https://[::ffff:192.168.1.1]/acme.git":     true,
		"https://[fd00::1]/acme.git":                true,
		"https://100.64.0.1/acme.git":               true, // carrier NAT
		"https://100.100.100.200/acme.git":          true, // a cloud's metadata
		"https://168.63.129.16/acme.git":            true, // another cloud's
		"https://192.0.0.192/acme.git":              true,
		"https://198.18.0.1/acme.git":               true,
		"https://240.0.0.1/acme.git":                true,
		"https://203.0.113.9/acme.git":              true,
		"https://[64:ff9b::a9fe:a9fe]/acme.git":     true, // NAT64 of 169.254.169.254
		"https://[64:ff9b:1::1]/acme.git":           true,
		"https://[2002:7f00:1::]/acme.git":          true, // 6to4 of 127.0.0.1
		"https://[fec0::1]/acme.git":                true,
		"https://[::7f00:1]/acme.git":               true,
		"https://127.1/acme.git":                    true,
		"https://2130706433/acme.git":               true,
		"https://0x7f.1/acme.git":                   true,
		"https://metadata.google.internal/acme.git": true,
		"https://printer.local/acme.git":            true,
		"https://8.8.8.8/acme.git":                  false,
		"https://git.example.org:9443/internal.git": false,
	} {
		if err := oplog.CheckRepository(text); err != nil {
			t.Errorf("%v", err)
		}
		if got := tooFar(here, text) != ""; got != far {
			t.Errorf("tooFar(%q) = %v", text, got)
		}
	}
	if tooFar([]*mirror{{url: "/srv/registry.git"}}, "file:///srv/acme.git") != "" {
		t.Error("a registry on this disk may name another place on it")
	}
	if tooFar([]*mirror{{url: "/srv/registry.git"}}, "ssh://host/acme.git") == "" {
		t.Error("ssh by the word of a root on this disk")
	}
	if tooFar([]*mirror{{url: "ssh://git@host/registry.git"}}, "ssh://git@host/acme.git") != "" {
		t.Error("the same host by ssh")
	}
}

// Who moves a namespace brings it there first; then it moves without anybody noticing more
// than the question.
func TestMayLocate(t *testing.T) {
	w, pub, url := locatedElsewhere(t)
	w.publish(pub, w.ada, "acme/knowledge/b@1.0.0")
	third := w.another("third.git")
	w.sync(pub, "acme")
	wantCode(t, pub.MayLocate(w.ctx, "acme", third), fault.Rollback)
	if _, err := pub.SpreadTo(w.ctx, third, SpreadOptions{Namespaces: []string{"acme"}, Only: true}); err != nil {
		t.Fatal(err)
	}
	if err := pub.MayLocate(w.ctx, "acme", third); err != nil {
		t.Fatal(err)
	}
	wantCode(t, pub.MayLocate(w.ctx, "acme", w.url), fault.Rollback) // the old one is behind
	w.locate(third)
	m := w.machine(t).reopen(w, func(o *Options) { o.MayAsk = allow(url) })
	wantCode(t, m.Sync(w.ctx, "acme"), fault.Untrusted) // another address, another question
	m = m.reopen(w, func(o *Options) { o.MayAsk = allow(third) })
	w.sync(m, "acme")
	w.locate("")
	m = m.reopen(w, nil)
	wantCode(t, m.Sync(w.ctx, "acme"), fault.Rollback) // the root's own repository was left behind
	if _, err := w.reading(t, third).SpreadTo(w.ctx, w.url, SpreadOptions{Namespaces: []string{"acme"}, Only: true}); err == nil {
		w.sync(m.reopen(w, nil), "acme")
	}
}

// reading returns a registry that knows a further address, surveyed.
func (w *world) reading(t *testing.T, urls ...string) *Registry {
	t.Helper()
	o := w.options(t)
	o.Mirrors = urls
	m := w.open(t, o)
	w.sync(m, "acme")
	if _, err := m.Survey(w.ctx, "acme"); err != nil {
		t.Fatal(err)
	}
	return m.Registry
}

// A mirror of the root's repository does not carry what lies elsewhere, unless it is brought
// there; then it answers for that, too.
func TestMirrorOfALocatedNamespace(t *testing.T) {
	w, pub, url := locatedElsewhere(t)
	copied := w.another("copy.git")
	o := pub.o
	o.Mirrors = []string{copied}
	m := w.open(t, o)
	w.sync(m, "acme")
	got, err := m.SpreadTo(w.ctx, copied, SpreadOptions{Namespaces: []string{"acme"}})
	if err != nil || len(got.Moved) != 1 || got.Moved[0] != mainBranch {
		t.Fatalf("%v, %v", got.Moved, err)
	}
	all, err := m.Survey(w.ctx, "acme")
	if err != nil || len(all) != 3 || all[1].Problem() != "" {
		t.Fatalf("%v, %v", all, err)
	}
	if _, err = m.SpreadTo(w.ctx, copied, SpreadOptions{Namespaces: []string{"acme"}, Only: true}); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(filepath.Dir(w.dir), "acme.git")
	os.Rename(dir, dir+".away")
	os.Rename(w.dir, w.dir+".away")
	fresh := w.options(t)
	fresh.Mirrors, fresh.MayAsk = []string{copied}, allow(url)
	r := w.open(t, fresh)
	w.sync(r, "acme")
	if err := fetchFirst(t, w, r, "acme/knowledge/a"); err != nil {
		t.Fatal(err)
	}
}

// The root's word on where a namespace lies is part of its state, and of the operation.
func TestLocatedGrantIsSigned(t *testing.T) {
	op := oplog.RootOp{Kind: oplog.OpGrant, Namespace: "acme", Keys: []trust.PublicKey{newKey("ada").pub}, Located: "https://example.org/acme.git",
		Seq: 2, Registry: objects.DigestOf([]byte{1}), Prev: objects.DigestOf([]byte{2}), State: objects.DigestOf([]byte{3})}
	text := op.Message()
	if !strings.Contains(text, "\nRye-Repository: https://example.org/acme.git\n") {
		t.Fatal(text)
	}
	back, err := oplog.ParseProposal(text)
	if err != nil || back.Located != op.Located || back.Message() != text {
		t.Errorf("%+v, %v", back, err)
	}
	for name, bad := range map[string]string{
		"a password": strings.Replace(text, "https://", "https://a:b@", 1),
		"twice":      strings.Replace(text, "Rye-Key", "Rye-Repository: https://example.org/acme.git\nRye-Key", 1),
		"empty":      strings.Replace(text, "https://example.org/acme.git", "", 1),
		"after keys": strings.Replace(strings.Replace(text, "Rye-Repository: https://example.org/acme.git\n", "", 1), "Rye-Key", "Rye-Repository: x\nRye-Key", 1),
	} {
		if _, err := oplog.ParseProposal(bad); err == nil {
			t.Errorf("%s: is read", name)
		}
	}
	a, b := &oplog.Grant{Namespace: "acme", Keys: op.Keys, Since: 2}, &oplog.Grant{Namespace: "acme", Keys: op.Keys, Since: 2, Located: op.Located}
	a.Seal()
	b.Seal()
	if a.Sum == b.Sum {
		t.Error("the state does not cover the address")
	}
}

// Credentials for the registry's host do not go to where its root locates a namespace.
func TestLocationGetsNoCredentials(t *testing.T) {
	w, _, _ := locatedElsewhere(t)
	var sent []string
	var mu sync.Mutex
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		sent = append(sent, r.Header.Get("Authorization"))
		w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer other.Close()
	guarded := httptest.NewServer(&githost.Server{Root: filepath.Dir(w.dir), Authorize: func(r *http.Request, _ string, _ bool) bool {
		_, secret, _ := r.BasicAuth()
		return secret == "secret"
	}})
	defer guarded.Close()
	w.locate(other.URL + "/acme.git")
	m := w.machine(t).reopen(w, func(o *Options) {
		o.URL, o.MayAsk = guarded.URL+"/reg.git", func(string) bool { return true }
		o.Transport.Token = func(host string) string {
			if "http://"+host == guarded.URL {
				return "secret"
			}
			return ""
		}
	})
	w.sync(m) // the root
	if err := m.Sync(w.ctx, "acme"); err != nil {
		t.Fatal(err) // what was left behind in the root's repository answers
	}
	if len(sent) == 0 || strings.Join(sent, "") != "" {
		t.Errorf("the other host was sent %q", sent)
	}
}

// TestLocatedAddressesCanBeDialled: what a log may say of a repository does not depend on this
// program's transport, which refuses none of it.
func TestLocatedAddressesCanBeDialled(t *testing.T) {
	for _, scheme := range []string{"https://", "http://", "ssh://", "git://", "file://"} {
		for _, user := range []string{"", "git@", "-o@", "a%2fb@", "a%0ab@", "a%25@", "a:b@", "$x@"} {
			for _, host := range []string{"", "host", "host:22", "host:0", "host:99999", "[::1]", "[::1%25x]:22", "-host", "h_o", "h%41", "h!", "h'", strings.Repeat("h", 254)} {
				for _, path := range []string{"", "/", "/a.git", "/~a/b", "/~", "/-a", "/~-a", "/a%0a", "/%7f", "/a%20b", "//", "/a?b", "/a#"} {
					text := scheme + user + host + path
					_, dial := transport.Dial(text, transport.Options{Insecure: true})
					err := oplog.CheckRepository(text)
					if err == nil && dial != nil {
						t.Errorf("%q may stand in a log, and is not dialled: %v", text, dial)
					}
					if err != nil && strings.HasPrefix(err.Error(), "repository: ") && (dial == nil || err.Error() != "repository: "+dial.Error()) {
						t.Errorf("%q: %v; by the transport %v", text, err, dial)
					}
				}
			}
		}
	}
}
