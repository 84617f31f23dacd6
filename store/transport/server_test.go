package transport_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	gogit "github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/config"
	"github.com/go-git/go-git/v5/storage/memory"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/githost"
	"github.com/rye-os/rye/internal/testkit"
	"github.com/rye-os/rye/store/transport"
)

func TestGitReadsFromServer(t *testing.T) {
	g, root := newGit(t), t.TempDir()
	b := g.in(g.bare(root, "x.git", 40))
	address := testkit.Serve(t, &githost.Server{Root: root}) + "/x.git"
	for _, version := range []string{"0", "1", "2"} {
		t.Run("version "+version, func(t *testing.T) {
			v := func(args ...string) []string { return append([]string{"-c", "protocol.version=" + version}, args...) }
			if got, want := g.run(v("ls-remote", address)...), b.run("ls-remote", "."); got != want {
				t.Errorf("ls-remote:\n%s\nwant\n%s", got, want)
			}
			dir := filepath.Join(t.TempDir(), "c")
			g.run(v("clone", "-q", address, dir)...)
			c := g.in(dir)
			if got := c.run("rev-parse", "HEAD", "v1"); got != b.run("rev-parse", "main", "v1") {
				t.Errorf("clone is at %s", got)
			}
			if got := c.run("symbolic-ref", "HEAD"); got != "refs/heads/main" {
				t.Errorf("HEAD is %s", got)
			}
			// A fetch that has to negotiate.
			old := filepath.Join(t.TempDir(), "o")
			g.run("init", "-q", old)
			o := g.in(old)
			o.run(v("fetch", "-q", address, b.run("rev-parse", "main~15")+":refs/heads/x")...)
			o.run("checkout", "-q", "x")
			for i := range 40 {
				o.run("commit", "-q", "--allow-empty", "-m", fmt.Sprint(i))
			}
			o.run(v("fetch", "-q", address, "main:refs/heads/y")...)
			if got := o.run("rev-parse", "y"); got != b.run("rev-parse", "main") {
				t.Errorf("fetched %s", got)
			}
			o.fsck()
			// Shallow, deepened, unshallowed, and partial.
			sh := filepath.Join(t.TempDir(), "s")
			g.run(v("clone", "-q", "--depth", "2", address, sh)...)
			s := g.in(sh)
			for _, row := range [][2]string{{"", "2"}, {"--deepen=3", "5"}, {"--unshallow", "40"}} {
				if row[0] == "--deepen=3" {
					row[0] = "--depth=5" // deepen-relative is not offered
				}
				if row[0] != "" {
					s.run(v("fetch", "-q", row[0])...)
				}
				if got := s.run("rev-list", "--count", "HEAD"); got != row[1] {
					t.Errorf("%s: %s commits, want %s", row[0], got, row[1])
				}
			}
			for _, f := range []string{"blob:none", "tree:0", "blob:limit=100"} {
				p := filepath.Join(t.TempDir(), "p")
				g.run(v("clone", "-q", "--filter="+f, address, p)...)
				if got := g.in(p).run("rev-parse", "HEAD"); got != b.run("rev-parse", "main") {
					t.Errorf("%s: at %s", f, got)
				}
				if got := g.in(p).run("cat-file", "-p", "main~30:d07/f7.txt"); !strings.HasPrefix(got, "item 7") {
					t.Errorf("%s: lazily fetched %q", f, got)
				}
			}
		})
	}
}

func TestGitPushesToServer(t *testing.T) {
	g, root := newGit(t), t.TempDir()
	b := g.in(g.bare(root, "x.git", 0))
	mark := filepath.Join(root, "ran")
	os.WriteFile(filepath.Join(root, "x.git", "hooks", "post-receive"), []byte("#!/bin/sh\ntouch "+mark+"\n"), 0o755)
	address := testkit.Serve(t, &githost.Server{Root: root, AllowPush: true, FastForwardOnly: true, DenyDeletes: true}) + "/x.git"
	work := filepath.Join(t.TempDir(), "w")
	g.run("init", "-q", work)
	w := g.in(work)
	commit := func(name string, size int) {
		data := bytes.Repeat([]byte(name), size/len(name)+1)
		for i, x := 0, uint32(7); i < len(data); i += 3 {
			x = x*1664525 + 1013904223
			data[i] = byte(x >> 24)
		}
		os.WriteFile(filepath.Join(work, name), data, 0o644)
		w.run("add", ".")
		w.run("commit", "-q", "-m", name)
	}
	commit("a", 10)
	w.run("push", "-q", address, "main")
	commit("b", 3<<20) // more than http.postBuffer: chunked
	w.run("push", "-q", address, "main", "main:refs/heads/side")
	w.run("tag", "-a", "-m", "x", "acme/tool/hi@1.0.0")
	w.run("push", "-q", "--atomic", address, "main:refs/heads/third", "acme/tool/hi@1.0.0")
	if got := b.run("rev-parse", "main", "side", "third"); got != strings.Repeat(w.run("rev-parse", "HEAD")+"\n", 3)[:122] {
		t.Errorf("remote: %s", got)
	}
	w.run("checkout", "-q", "HEAD~1")
	commit("c", 10)
	for name, row := range map[string]struct{ args, want string }{
		"not a fast-forward": {"+HEAD:refs/heads/main", "non-fast-forward"},
		"deletion":           {":refs/heads/side", "deletion prohibited"},
		"odd name":           {"HEAD:refs/heads/a'b", "invalid ref name"},
		"tag as branch":      {"acme/tool/hi@1.0.0:refs/heads/tagged", "a branch needs a commit"},
	} {
		out, err := w.try("push", address, row.args)
		if err == nil || !strings.Contains(out, row.want) {
			t.Errorf("%s: %v %s", name, err, out)
		}
	}
	out, err := w.try("push", "--atomic", address, "HEAD:refs/heads/new", "+HEAD:refs/heads/main")
	if err == nil || !strings.Contains(out, "atomic") {
		t.Errorf("atomic: %v %s", err, out)
	}
	if out, err := b.try("rev-parse", "--verify", "refs/heads/new"); err == nil {
		t.Errorf("half of an atomic push landed: %s", out)
	}
	b.fsck()
	if _, err := os.Stat(mark); err == nil {
		t.Error("a hook ran")
	}
}

// go-git, an implementation that is neither git's nor ours, understands us.
func TestGoGitSpeaksWithServer(t *testing.T) {
	g, root := newGit(t), t.TempDir()
	b := g.in(g.bare(root, "x.git", 5))
	address := testkit.Serve(t, &githost.Server{Root: root, AllowPush: true}) + "/x.git"
	r, err := gogit.Clone(memory.NewStorage(), nil, &gogit.CloneOptions{URL: address})
	if err != nil {
		t.Fatal(err)
	}
	head, err := r.Head()
	if err != nil || head.Hash().String() != b.run("rev-parse", "main") {
		t.Fatalf("go-git cloned %v, %v", head, err)
	}
	if err := r.Push(&gogit.PushOptions{RefSpecs: []config.RefSpec{"refs/heads/main:refs/heads/gg"}}); err != nil {
		t.Fatal(err)
	}
	if got := b.run("rev-parse", "gg"); got != head.Hash().String() {
		t.Errorf("go-git pushed %s", got)
	}
}

func TestServerRefuses(t *testing.T) {
	g, root := newGit(t), t.TempDir()
	head := g.in(g.bare(root, "x.git", 2)).run("rev-parse", "HEAD")
	g.bare(root, "sub/y.git", 1)
	outside := t.TempDir()
	g.bare(outside, "z.git", 1)
	os.Symlink(filepath.Join(outside, "z.git"), filepath.Join(root, "link.git"))
	address := testkit.Serve(t, &githost.Server{Root: root, MaxRequest: 64 << 10})
	const adv = "/info/refs?service=git-upload-pack"
	up := map[string]string{"Content-Type": "application/x-git-upload-pack-request", "Git-Protocol": "version=2"}
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	z.Write(bytes.Repeat([]byte("0009want\n"), 1<<20))
	z.Close()
	for name, row := range map[string]struct {
		method, path string
		head         map[string]string
		body         string
		status       int
		text         string
	}{
		"sound":                {"GET", "/x.git" + adv, nil, "", 200, anyText},
		"without .git":         {"GET", "/x" + adv, nil, "", 200, anyText},
		"in a directory":       {"GET", "/sub/y.git" + adv, nil, "", 200, anyText},
		"missing":              {"GET", "/y.git" + adv, nil, "", 404, anyText},
		"root":                 {"GET", adv, nil, "", 404, anyText},
		"dots":                 {"GET", "/sub/%2e%2e/x.git" + adv, nil, "", 404, anyText},
		"dots encoded":         {"GET", "/sub/..%2f..%2fetc" + adv, nil, "", 404, anyText},
		"double slash":         {"GET", "/sub//y.git" + adv, nil, "", 404, anyText},
		"backslash":            {"GET", "/sub%5cy.git" + adv, nil, "", 404, anyText},
		"NUL":                  {"GET", "/x.git%00" + adv, nil, "", 404, anyText},
		"link out of the root": {"GET", "/link.git" + adv, nil, "", 404, anyText},
		"a file of git":        {"GET", "/x.git/config", nil, "", 404, anyText},
		"dumb protocol":        {"GET", "/x.git/info/refs", nil, "", 404, anyText},
		"unknown service":      {"GET", "/x.git/info/refs?service=git-upload-archive", nil, "", 404, anyText},
		"wrong method":         {"POST", "/x.git" + adv, nil, "", 405, anyText},
		"push not allowed":     {"GET", "/x.git/info/refs?service=git-receive-pack", nil, "", 403, anyText},
		"push body":            {"POST", "/x.git/git-receive-pack", map[string]string{"Content-Type": "application/x-git-receive-pack-request"}, "0000", 403, anyText},
		"simple content type":  {"POST", "/x.git/git-upload-pack", map[string]string{"Content-Type": "text/plain"}, "0000", 415, anyText},
		"unknown encoding":     {"POST", "/x.git/git-upload-pack", with(up, "Content-Encoding", "br"), "0000", 400, anyText},
		"not gzip":             {"POST", "/x.git/git-upload-pack", with(up, "Content-Encoding", "gzip"), "0000", 400, anyText},
		"gzip bomb":            {"POST", "/x.git/git-upload-pack", with(up, "Content-Encoding", "gzip"), bomb.String(), 200, "ERR"},
		"garbage":              {"POST", "/x.git/git-upload-pack", up, "zzzz", 200, "ERR"},
		"unknown command":      {"POST", "/x.git/git-upload-pack", up, pkts("command=rm\n", "0000"), 200, "ERR unknown command"},
		"unknown argument":     {"POST", "/x.git/git-upload-pack", up, pkts("command=fetch", "0001", "want-ref refs/heads/x\n", "0000"), 200, "ERR"},
		"other format":         {"POST", "/x.git/git-upload-pack", up, pkts("command=ls-refs", "object-format=sha256", "0000"), 200, "ERR"},
		"malformed want":       {"POST", "/x.git/git-upload-pack", up, pkts("command=fetch", "0001", "want xyz\n", "done\n", "0000"), 200, "ERR"},
		"want of nothing":      {"POST", "/x.git/git-upload-pack", up, pkts("command=fetch", "0001", "done\n", "0000"), 200, "ERR"},
		"missing want":         {"POST", "/x.git/git-upload-pack", up, pkts("command=fetch", "0001", "want "+anID+"\n", "done\n", "0000"), 200, "ERR upload-pack: not our ref"},
		"v0 no have":           {"POST", "/x.git/git-upload-pack", map[string]string{"Content-Type": up["Content-Type"]}, pkts("want "+head, "0000", "shallow "+head, "done\n"), 200, "ERR"},
		"v0 garbage":           {"POST", "/x.git/git-upload-pack", map[string]string{"Content-Type": up["Content-Type"]}, pkts("have x", "0000"), 200, "ERR"},
	} {
		t.Run(name, func(t *testing.T) {
			req, err := http.NewRequest(row.method, address+row.path, strings.NewReader(row.body))
			if err != nil {
				t.Fatal(err)
			}
			for k, v := range row.head {
				req.Header.Set(k, v)
			}
			resp, err := http.DefaultTransport.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			text, _ := io.ReadAll(resp.Body)
			if resp.StatusCode != row.status || !strings.Contains(string(text), row.text) {
				t.Errorf("HTTP %d %q, want %d %q", resp.StatusCode, text, row.status, row.text)
			}
			if strings.Contains(string(text), root) {
				t.Errorf("the answer shows a path of the server: %q", text)
			}
		})
	}
}

const anyText = ""

func with(m map[string]string, k, v string) map[string]string {
	n := map[string]string{k: v}
	for k, v := range m {
		n[k] = v
	}
	return n
}

func TestServerAuthorize(t *testing.T) {
	g, root := newGit(t), t.TempDir()
	g.bare(root, "x.git", 1)
	address := testkit.Serve(t, &githost.Server{Root: root, AllowPush: true, Authorize: func(r *http.Request, repo string, push bool) bool {
		return !push && repo == "x.git" || wantToken(r) == http.StatusOK
	}}) + "/x.git"
	from := newStore(t)
	one := commitTo(t, from, "refs/heads/main", "a", []byte("1"))
	up := []transport.Update{{Name: "refs/heads/new", New: one}}
	if err := dial(t, address).Push(ctxFor(t), from, up); !fault.Is(err, fault.Auth) {
		t.Errorf("without a token: %v", err)
	}
	r, err := transport.Dial(address, transport.Options{Token: func(string) string { return theToken }})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Push(ctxFor(t), from, up); err != nil {
		t.Errorf("with the token: %v", err)
	}
}

// What is pushed is complete and sound, or no ref moves.
func TestServerRefusesBrokenPushes(t *testing.T) {
	g, root := newGit(t), t.TempDir()
	b := g.in(g.bare(root, "x.git", 0))
	src := g.in(g.bare(t.TempDir(), "src.git", 2))
	tip := src.run("rev-parse", "main")
	pack := func(ids ...string) string {
		c := src.cmd("pack-objects", "--stdout", "-q")
		c.Stdin = strings.NewReader(strings.Join(ids, "\n") + "\n")
		out, err := c.Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	all := strings.Fields(src.run("rev-list", "--objects", "--no-object-names", "main"))
	zero := strings.Repeat("0", 40)
	order := func(line string) string { return pkts(line+"\x00 report-status", "0000") }
	whole := pack(all...)
	address := testkit.Serve(t, &githost.Server{Root: root, AllowPush: true, MaxRequest: 1 << 20}) + "/x.git"
	for name, row := range map[string]struct{ body, want string }{
		"commit without its tree": {order(zero+" "+tip+" refs/heads/x") + pack(tip), "ng refs/heads/x"},
		"one blob missing":        {order(zero+" "+tip+" refs/heads/x") + pack(all[:len(all)-1]...), "ng refs/heads/x"},
		"tip missing":             {order(zero+" "+tip+" refs/heads/x") + pack(all[1:]...), "ng refs/heads/x"},
		"flipped bit":             {order(zero+" "+tip+" refs/heads/x") + whole[:len(whole)/2] + "~" + whole[len(whole)/2+1:], "unpack "},
		"truncated":               {order(zero+" "+tip+" refs/heads/x") + whole[:len(whole)-9], "unpack "},
		"no pack":                 {order(zero + " " + tip + " refs/heads/x"), "unpack "},
		"ref outside refs/":       {order(zero+" "+tip+" hooks/post-update") + whole, "ng hooks/post-update"},
		"ref with dots":           {order(zero+" "+tip+" refs/heads/../../x") + whole, "ng refs/heads/../../x"},
		"HEAD":                    {order(zero+" "+tip+" HEAD") + whole, "ng HEAD"},
		"wrong old":               {order(tip+" "+tip+" refs/heads/x") + whole, "ng refs/heads/x is at"},
		"malformed":               {order("x y z") + whole, "ERR"},
		"too large":               {order(zero+" "+tip+" refs/heads/x") + "PACK\x00\x00\x00\x02\x00\x00\x00\x01" + strings.Repeat("x", 10<<20), "unpack "},
	} {
		t.Run(name, func(t *testing.T) {
			resp, err := http.Post(address+"/git-receive-pack", "application/x-git-receive-pack-request", strings.NewReader(row.body))
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			text, _ := io.ReadAll(resp.Body)
			if !strings.Contains(string(text), row.want) || strings.Contains(string(text), "0014ok refs/heads/x") {
				t.Errorf("answer %q, want %q", text, row.want)
			}
			if strings.Contains(string(text), root) {
				t.Errorf("the answer shows a path of the server: %q", text)
			}
		})
	}
	if got := b.run("for-each-ref", "--format=%(refname)"); got != "" {
		t.Errorf("refs appeared: %s", got)
	}
	resp, err := http.Post(address+"/git-receive-pack", "application/x-git-receive-pack-request",
		strings.NewReader(order(zero+" "+tip+" refs/heads/sound")+whole))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if got := b.run("rev-parse", "refs/heads/sound"); got != tip {
		t.Errorf("a sound push left %s", got)
	}
	b.fsck()
}
