package registry

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/testkit"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/registry/oplog"
	"github.com/rye-os/rye/store"
)

// oldHosts serve the directories below a root by git's own programs, which are not told of
// version 2 of the protocol, and serve only what a ref names.
var oldHosts = map[string]func(t *testing.T, root string) (url string){
	"http-backend": func(t *testing.T, root string) string {
		path := testkit.Git(t, root, "--exec-path") + "/git-http-backend"
		if _, err := os.Stat(path); err != nil {
			t.Skip("git http-backend is not installed")
		}
		env := []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=x", "GIT_CONFIG_NOSYSTEM=1", "HOME=" + t.TempDir()}
		h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.TransferEncoding = nil
			testkit.GitBackend(w, r, path, "/git", env)
		}))
		t.Cleanup(h.Close)
		return h.URL + "/git"
	},
	"git daemon": func(t *testing.T, root string) string {
		testkit.Git(t, root, "--exec-path")
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		t.Cleanup(func() { l.Close(); all.Wait() })
		home := t.TempDir()
		all.Go(func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				all.Go(func() { serveOld(c, root, home) })
			}
		})
		return "git://" + l.Addr().String()
	},
}

// serveOld serves one connection by git daemon, without the part of its first line that asks
// for a version.
func serveOld(c net.Conn, root, home string) {
	defer c.Close()
	size := make([]byte, 4)
	if _, err := io.ReadFull(c, size); err != nil {
		return
	}
	n, err := strconv.ParseUint(string(size), 16, 16)
	if err != nil || n < 4 {
		return
	}
	line := make([]byte, n-4)
	if _, err := io.ReadFull(c, line); err != nil {
		return
	}
	plain, _, _ := strings.Cut(string(line), "\x00\x00")
	plain = strings.TrimSuffix(plain, "\x00") + "\x00"
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", "daemon", "--inetd", "--export-all", "--enable=receive-pack", "--base-path="+root, root)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "GIT_CONFIG_NOSYSTEM=1"}
	in, err := cmd.StdinPipe()
	if err != nil {
		return
	}
	cmd.Stdout = c
	if cmd.Start() != nil {
		return
	}
	fmt.Fprintf(in, "%04x%s", len(plain)+4, plain)
	go func() { io.Copy(in, c); in.Close() }()
	cmd.Wait()
}

// oldWorld is a registry on an old host.
func oldWorld(t *testing.T, serve func(*testing.T, string) string, tags bool) *world {
	t.Helper()
	w := emptyWorld(t)
	w.url = serve(t, filepath.Dir(w.dir)) + "/reg.git"
	for _, kv := range []string{"uploadpack.allowAnySHA1InWant", "uploadpack.allowReachableSHA1InWant", "uploadpack.allowTipSHA1InWant"} {
		testkit.Git(t, w.dir, "config", kv, "false")
	}
	testkit.Git(t, w.dir, "config", "http.receivepack", "true")
	var err error
	if w.id, err = Create(w.ctx, w.url, CreateOptions{Name: "Test", By: By{Signer: w.root}, TempDir: t.TempDir(), Tags: tags,
		Namespaces: map[string][]trust.PublicKey{"acme": {w.ada.pub}}, Now: w.options(t).Now}); err != nil {
		t.Fatal(err)
	}
	return w
}

// asksWhole opens a machine that counts how often content is fetched whole.
func (w *world) asksWhole(t *testing.T, asked *[]WholeFetch, answer error) *machine {
	o := w.options(t)
	o.Whole = func(_ context.Context, q WholeFetch) error {
		*asked = append(*asked, q)
		return answer
	}
	return w.open(t, o)
}

// A registry with tags works on a host that serves only what a ref names, object by object.
func TestTagsOnOldHosts(t *testing.T) {
	for name, serve := range oldHosts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := oldWorld(t, serve, true)
			pub := w.machine(t)
			w.publish(pub, w.ada, "acme/knowledge/a@1.0.0", "acme/knowledge/b@1.0.0")
			w.publish(pub, w.ada, "acme/knowledge/a@1.1.0-rc.1")
			tags := testkit.Git(t, w.dir, "for-each-ref", "--format=%(refname)", "refs/tags")
			want := "refs/tags/acme/knowledge/a/v1.0.0\nrefs/tags/acme/knowledge/a/v1.1.0-rc.1\nrefs/tags/acme/knowledge/b/v1.0.0\n" +
				"refs/tags/acme/state/1\nrefs/tags/acme/state/2\nrefs/tags/acme/state/3"
			if tags != want {
				t.Errorf("tags:\n%s\nwant\n%s", tags, want)
			}
			var asked []WholeFetch
			m := w.asksWhole(t, &asked, nil)
			w.sync(m, "acme")
			for _, item := range []string{"acme/knowledge/a", "acme/knowledge/b"} {
				if err := fetchFirst(t, w, m, item); err != nil {
					t.Fatal(err)
				}
			}
			if len(asked) > 0 {
				t.Errorf("fetched whole: %v", asked)
			}
			if _, err := m.Examine(w.ctx, "acme"); err != nil {
				t.Error(err)
			}
			if len(asked) > 0 {
				t.Errorf("fetched whole to examine: %v", asked)
			}
			if c, err := m.Verify(w.ctx, "acme", true); err != nil || len(c.Missing) > 0 || c.Fetched != 3 {
				t.Errorf("%+v, %v", c, err)
			}
			testkit.Git(t, w.dir, "fsck", "--strict", "--full")
		})
	}
}

// Without tags the content is fetched whole, once, after that was said; then only what is new.
func TestOldHostsWithoutTags(t *testing.T) {
	for name, serve := range oldHosts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := oldWorld(t, serve, false)
			pub := w.machine(t)
			w.publish(pub, w.ada, "acme/knowledge/a@1.0.0", "acme/knowledge/b@1.0.0")
			var asked []WholeFetch
			m := w.asksWhole(t, &asked, nil)
			w.sync(m, "acme")
			for _, item := range []string{"acme/knowledge/a", "acme/knowledge/b"} {
				if err := fetchFirst(t, w, m, item); err != nil {
					t.Fatal(err)
				}
			}
			if len(asked) != 1 || asked[0].Versions != 2 || asked[0].Namespace != "acme" {
				t.Errorf("asked %v: want once, of two versions", asked)
			}
			w.publish(pub, w.ada, "acme/knowledge/c@1.0.0")
			before := m.Stats().Bytes
			w.sync(m, "acme")
			if err := fetchFirst(t, w, m, "acme/knowledge/c"); err != nil {
				t.Fatal(err)
			}
			if got := m.Stats().Bytes - before; len(asked) != 2 || got > 8<<10 {
				t.Errorf("asked %v, and %d bytes for one item more", asked, got)
			}
			if c, err := m.Verify(w.ctx, "acme", true); err != nil || len(c.Missing) > 0 || c.Fetched != 3 {
				t.Errorf("%+v, %v", c, err)
			}
			no := w.asksWhole(t, &asked, fault.New(fault.Denied, "no"))
			wantCode(t, no.Sync(w.ctx, "acme"), fault.Denied)
		})
	}
}

// First contact begins at a checkpoint, which such a host does not serve: the log is read whole.
func TestCheckpointOnOldHost(t *testing.T) {
	w := oldWorld(t, oldHosts["http-backend"], true)
	pub := w.machine(t)
	w.publish(pub, w.ada, "acme/knowledge/a@1.0.0")
	if err := pub.Checkpoint(w.ctx, By{Signer: w.root}, "acme"); err != nil {
		t.Fatal(err)
	}
	w.publish(pub, w.ada, "acme/knowledge/b@1.0.0")
	m := w.machine(t)
	w.sync(m, "acme")
	if err := fetchFirst(t, w, m, "acme/knowledge/a"); err != nil {
		t.Fatal(err)
	}
}

// A tag proves nothing: one that somebody else moved or left behind is moved back by the next
// publisher, and a reader takes no other bytes for it.
func TestTagsProveNothing(t *testing.T) {
	w := oldWorld(t, oldHosts["http-backend"], true)
	pub := w.machine(t)
	w.publish(pub, w.ada, "acme/knowledge/a@1.0.0")
	evil := testkit.Git(t, w.dir, "rev-parse", "main")
	testkit.Git(t, w.dir, "update-ref", "refs/tags/acme/knowledge/a/v1.0.0", evil)
	testkit.Git(t, w.dir, "update-ref", "refs/tags/acme/knowledge/b/v1.0.0", evil)
	var asked []WholeFetch
	m := w.asksWhole(t, &asked, nil)
	w.sync(m, "acme")
	if err := fetchFirst(t, w, m, "acme/knowledge/a"); err != nil || len(asked) != 1 {
		t.Errorf("%v, asked %v: want the branch of the content instead", err, asked)
	}
	w.publish(pub, w.ada, "acme/knowledge/b@1.0.0")
	if at := testkit.Git(t, w.dir, "rev-parse", "refs/tags/acme/knowledge/b/v1.0.0"); at == evil {
		t.Error("the foreign tag stayed")
	}
}

// What is redacted is named by no tag after a rebuild, and neither are old states.
func TestRebuildDropsTags(t *testing.T) {
	w := oldWorld(t, oldHosts["http-backend"], true)
	pub := w.machine(t)
	w.publish(pub, w.ada, "acme/knowledge/a@1.0.0", "acme/knowledge/b@1.0.0")
	if err := pub.Mark(w.ctx, oplog.OpRedact, StatusChange{Names: []string{"acme/knowledge/b@1.0.0"}, Reason: "a password", By: By{Signer: w.ada}}); err != nil {
		t.Fatal(err)
	}
	testkit.Git(t, w.dir, "config", "receive.denyNonFastForwards", "false")
	if _, err := pub.Rebuild(w.ctx, By{Signer: w.ada}, "acme", false); err != nil {
		t.Fatal(err)
	}
	tags := testkit.Git(t, w.dir, "for-each-ref", "--format=%(refname)", "refs/tags")
	if tags != "refs/tags/acme/knowledge/a/v1.0.0\nrefs/tags/acme/state/3" {
		t.Errorf("tags after the rebuild:\n%s", tags)
	}
}

// A host that moves both or none still gets the log last.
func TestTagsOnAnyHost(t *testing.T) {
	w := emptyWorld(t)
	var err error
	if w.id, err = Create(w.ctx, w.url, CreateOptions{Name: "Test", By: By{Signer: w.root}, TempDir: t.TempDir(), Tags: true,
		Namespaces: map[string][]trust.PublicKey{"acme": {w.ada.pub}}, Now: w.options(t).Now}); err != nil {
		t.Fatal(err)
	}
	pub := w.machine(t)
	w.publish(pub, w.ada, "acme/knowledge/a@1.0.0")
	m := w.machine(t)
	w.sync(m, "acme")
	root, err := m.Root(w.ctx)
	if err != nil || !root.Tags || !strings.Contains(string(root.EncodeRegistry()), "\ntags: true\n") {
		t.Errorf("the root does not say so: %v", err)
	}
	op, err := root.NewRoots(1, w.root.pub, w.ada.pub)
	if err != nil || !op.Tags {
		t.Errorf("other root keys take the tags away: %v", err)
	}
	if store.CheckRefName(versionTag(&oplog.Entry{Ref: mustRef("acme/knowledge/a"), Version: "1.0.0-x.lock"})) == nil {
		t.Error("a version that cannot be a tag")
	}
}
