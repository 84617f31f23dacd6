package transport_test

import (
	"context"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/githost"
	"github.com/rye-os/rye/internal/testkit"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/transport"
)

// routes are all ways to the repository root/x.git: git's servers, ours, and
// the local ones.
func routes(t *testing.T, g *git, root string) map[string]*transport.Remote {
	t.Helper()
	m := map[string]*transport.Remote{}
	for name, address := range peers(t, g, root) {
		m[name] = dial(t, address)
	}
	own := httptest.NewServer(&githost.Server{Root: root, AllowPush: true})
	t.Cleanup(own.Close)
	m["own server"] = dial(t, own.URL+"/x.git")
	m["path"] = dial(t, filepath.Join(root, "x.git"))
	m["file URL"] = dial(t, "file://"+filepath.ToSlash(filepath.Join(root, "x.git")))
	if runtime.GOOS != "windows" {
		r, err := transport.Dial("ssh://git@example.org:22"+root+"/x.git", transport.Options{SSH: fakeSSH(t), Env: g.env})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.Close() })
		m["ssh"] = r
	}
	return m
}

// fakeSSH is a program that runs the remote command here, by a shell, as sshd
// does, after checking how it was called.
func fakeSSH(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ssh")
	script := "#!/bin/sh\ncase \"$*\" in *\"BatchMode=yes\"*\"SendEnv=GIT_PROTOCOL\"*\" -- example.org \"*) ;; *) echo \"bad call: $*\" >&2; exit 9;; esac\n" +
		"for last; do :; done\nexec sh -c \"$last\"\n"
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func newStore(t testing.TB) *store.Repo {
	t.Helper()
	r, err := store.Init(filepath.Join(t.TempDir(), "s.git"), "refs/heads/main")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// accept lets a fetch in and sets ref to id.
func accept(t testing.TB, r *store.Repo, q *store.Quarantine, ref string, id store.OID, more ...store.OID) {
	t.Helper()
	ctx := ctxFor(t)
	if err := q.Connected(ctx, append(more, id)...); err != nil {
		t.Fatal(err)
	}
	if err := q.Accept(ctx, append(more, id)...); err != nil {
		t.Fatal(err)
	}
	old, err := r.Ref(ref)
	if err != nil && !fault.Is(err, fault.NotFound) {
		t.Fatal(err)
	}
	if err := r.Swap(ctx, ref, old, id, "test"); err != nil {
		t.Fatal(err)
	}
	q.Release()
}

func TestFetchFromEverywhere(t *testing.T) {
	g, root := newGit(t), t.TempDir()
	b := g.in(g.bare(root, "x.git", 60))
	tip, first, tag := b.oid("rev-parse", "main"), b.oid("rev-parse", "main~20"), b.oid("rev-parse", "v1")
	blob := b.oid("rev-parse", "main:d07/f7.txt")
	for name, r := range routes(t, g, root) {
		t.Run(name, func(t *testing.T) {
			ctx, into := ctxFor(t), newStore(t)
			fetch := func(want, have []store.OID, o transport.FetchOptions) (*store.Quarantine, transport.Stats) {
				t.Helper()
				q, st, err := r.Fetch(ctx, into, want, have, o)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(q.Discard)
				return q, st
			}
			q, st := fetch([]store.OID{blob}, nil, transport.FetchOptions{})
			if len(q.Objects()) != 1 || st.Bytes > 1000 {
				t.Errorf("one blob by id: %+v", st)
			}
			q.Discard()
			q, st = fetch([]store.OID{tip}, nil, transport.FetchOptions{Filter: "tree:0"})
			if !st.Filtered || len(q.Objects()) != 60 {
				t.Errorf("tree:0: %+v, want 60 objects", st)
			}
			q.Discard()
			q, st = fetch([]store.OID{first}, nil, transport.FetchOptions{Filter: "blob:none"})
			if !st.Filtered || q.Has(blob) || len(q.Objects()) < 80 {
				t.Errorf("blob:none: %+v, blob %v", st, q.Has(blob))
			}
			q.Discard()
			q, st = fetch([]store.OID{tip}, nil, transport.FetchOptions{Depth: 1, Filter: "tree:0"})
			if len(st.Shallow) != 1 || st.Shallow[0] != tip || len(q.Objects()) != 1 {
				t.Errorf("depth 1: %+v", st)
			}
			q.Discard()

			q, _ = fetch([]store.OID{first}, nil, transport.FetchOptions{})
			full := len(q.Objects())
			accept(t, into, q, "refs/heads/main", first)
			q, st = fetch([]store.OID{tip, tag}, []store.OID{first}, transport.FetchOptions{})
			if len(q.Objects()) >= full {
				t.Errorf("with what we have: %+v, without: %+v", st, full)
			}
			accept(t, into, q, "refs/heads/main", tip, tag)
			mine := g.in(into.Dir())
			mine.fsck()
			if got := mine.run("log", "--oneline", "main"); strings.Count(got, "\n") != 59 {
				t.Errorf("git log: %s", got)
			}
		})
	}
}

func TestFetchWhatIsNotThere(t *testing.T) {
	g, root := newGit(t), t.TempDir()
	g.bare(root, "x.git", 2)
	none, err := store.ParseOID(strings.Repeat("ab", 20))
	if err != nil {
		t.Fatal(err)
	}
	for name, r := range routes(t, g, root) {
		t.Run(name, func(t *testing.T) {
			into := newStore(t)
			q, _, err := r.Fetch(ctxFor(t), into, []store.OID{none}, nil, transport.FetchOptions{})
			if q != nil || err == nil {
				t.Fatalf("got %v, %v", q, err)
			}
			// git over a v0 stream may only hang up; all others say what is wrong.
			if code := fault.CodeOf(err); code != fault.NotFound && code != fault.Network {
				t.Errorf("%v (%s), want NotFound", err, code)
			}
			untouched(t, into)
			if refs, err := r.Refs(ctxFor(t), "refs/heads/"); err != nil || len(refs) != 2 {
				t.Errorf("afterwards: %v, %v", refs, err)
			}
		})
	}
	r := dial(t, filepath.Join(root, "x.git"))
	for name, o := range map[string]transport.FetchOptions{
		"filter": {Filter: "sparse:oid=1"}, "depth": {Depth: -1}, "line end": {Filter: "blob:none\nx"}, "limit": {Filter: "blob:limit=1k"},
	} {
		if _, _, err := r.Fetch(ctxFor(t), newStore(t), []store.OID{none}, nil, o); !fault.Is(err, fault.Usage) {
			t.Errorf("%s: %v, want Usage", name, err)
		}
	}
	if _, _, err := r.Fetch(ctxFor(t), newStore(t), nil, nil, transport.FetchOptions{}); !fault.Is(err, fault.Usage) {
		t.Errorf("nothing wanted: %v, want Usage", err)
	}
}

// untouched closes r and checks that nothing of a failed fetch was left behind.
func untouched(t *testing.T, r *store.Repo) {
	t.Helper()
	r.Close()
	filepath.WalkDir(r.Dir(), func(path string, d os.DirEntry, err error) error {
		rel, _ := filepath.Rel(r.Dir(), path)
		if err == nil && !d.IsDir() && (strings.HasPrefix(rel, "objects") || strings.Contains(rel, "quarantine") || strings.Contains(rel, "tmp")) {
			t.Errorf("left behind: %s", rel)
		}
		return nil
	})
}

// Packs that are broken, too large or not what was asked for leave nothing.
func TestLyingPacks(t *testing.T) {
	g, root := newGit(t), t.TempDir()
	b := g.in(g.bare(root, "x.git", 3))
	want, other := b.oid("rev-parse", "main:d01/f1.txt"), b.run("rev-parse", "main:d02/f2.txt")
	pack := func(ids string) string {
		c := b.cmd("pack-objects", "--stdout", "-q")
		c.Stdin = strings.NewReader(ids)
		out, err := c.Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	good, wrong := pack(want.String()+"\n"), pack(other+"\n")
	flipped := []byte(good)
	flipped[len(flipped)/2] ^= 1
	bomb := "PACK\x00\x00\x00\x02\xff\xff\xff\xf0" + strings.Repeat("\x00", 20)
	huge := "PACK\x00\x00\x00\x02\x00\x00\x00\x01\xb0\xff\xff\xff\xff\x1f" + strings.Repeat("\x00", 40)
	answer := func(body ...string) string { return pkts(append([]string{"packfile\n"}, body...)...) }
	big := make([]string, 0, 400)
	for range 400 {
		big = append(big, "\x02"+strings.Repeat("x", 60_000))
	}
	for name, row := range map[string]struct {
		answer string
		want   fault.Code // "" = accepted; "any" = some error
	}{
		"sound":               {answer("\x02busy\n", "\x01"+good[:10], "\x01"+good[10:], "0000"), ""},
		"another object":      {answer("\x01"+wrong, "0000"), fault.Integrity},
		"empty pack":          {answer("\x01"+pack(""), "0000"), fault.Integrity},
		"flipped bit":         {answer("\x01"+string(flipped), "0000"), "any"},
		"truncated":           {answer("\x01"+good[:len(good)-5], "0000"), "any"},
		"no flush":            {answer("\x01" + good), "any"},
		"error at the end":    {answer("\x01"+good, "\x03disk full\n", "0000"), fault.Network},
		"error in the middle": {answer("\x01"+good[:20], "\x03disk full\n", "0000"), fault.Network},
		"no pack at all":      {answer("0000"), "any"},
		"no packfile section": {pkts("acknowledgments\n", "NAK\n", "0000"), fault.Network},
		"unknown section":     {pkts("packfile-uris\n", "x\n", "0001", "packfile\n", "\x01"+good, "0000"), ""},
		"4 G objects":         {answer("\x01"+bomb, "0000"), "any"},
		"huge object":         {answer("\x01"+huge, "0000"), "any"},
		"garbage":             {answer("\x01<html>", "0000"), "any"},
		"trailing bytes":      {answer("\x01"+good+"extra", "0000"), "any"},
		"chatter without end": {answer(append(big, "0000")...), fault.Limit},
		"refusal":             {pkts("ERR upload-pack: not our ref x\n"), fault.NotFound},
		"malformed shallow":   {pkts("shallow-info\n", "shallow x\n", "0001", "packfile\n", "\x01"+good, "0000"), fault.Network},
	} {
		t.Run(name, func(t *testing.T) {
			r := dial(t, testkit.Serve(t, &fake{answer: row.answer})+"/x")
			into := newStore(t)
			q, _, err := r.Fetch(ctxFor(t), into, []store.OID{want}, nil, transport.FetchOptions{Limits: store.Limits{Bytes: 1 << 20}})
			if row.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				q.Discard()
				untouched(t, into)
				return
			}
			if err == nil || row.want != "any" && !fault.Is(err, row.want) {
				t.Errorf("got %v (%s), want %s", err, fault.CodeOf(err), row.want)
			}
			if q != nil {
				t.Error("a quarantine beside an error")
			}
			untouched(t, into)
		})
	}
}

func TestLocalRepositoryIsReadSafely(t *testing.T) {
	g, root := newGit(t), t.TempDir()
	work := filepath.Join(root, "work")
	g.run("init", "-q", work)
	w := g.in(work)
	os.WriteFile(filepath.Join(work, "a.txt"), []byte("a\n"), 0o644)
	w.run("add", ".")
	w.run("commit", "-q", "-m", "a")
	mark := filepath.Join(root, "ran")
	for _, hook := range []string{"pre-receive", "update", "post-receive", "post-update", "reference-transaction"} {
		os.WriteFile(filepath.Join(work, ".git", "hooks", hook), []byte("#!/bin/sh\ntouch "+mark+"\n"), 0o755)
	}
	w.run("config", "uploadpack.packObjectsHook", "touch "+mark)
	w.run("config", "core.fsmonitor", "touch "+mark)
	r := dial(t, work)
	into := newStore(t)
	tip := w.oid("rev-parse", "HEAD")
	q, _, err := r.Fetch(ctxFor(t), into, []store.OID{tip}, nil, transport.FetchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	accept(t, into, q, "refs/heads/main", tip)
	if err := r.Push(ctxFor(t), into, []transport.Update{{Name: "refs/heads/other", New: tip}}); err != nil {
		t.Errorf("push of another branch: %v", err)
	}
	err = r.Push(ctxFor(t), into, []transport.Update{{Name: "refs/heads/main", Old: tip}})
	var rej *transport.RejectedError
	if !asRejected(err, &rej) || !fault.Is(err, fault.Denied) {
		t.Errorf("push to the checked-out branch: %v", err)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("a hook or configured program ran")
	}
	if _, err := dial(t, filepath.Join(root, "none")).Refs(ctxFor(t)); !fault.Is(err, fault.NotFound) {
		t.Errorf("missing directory: %v (%s)", err, fault.CodeOf(err))
	}
	if _, err := dial(t, root).Refs(ctxFor(t)); err == nil {
		t.Error("a directory without a repository was read")
	}
}

func TestSSHFailures(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the stand-in for ssh is a shell script")
	}
	script := func(body string) string {
		path := filepath.Join(t.TempDir(), "ssh")
		os.WriteFile(path, []byte("#!/bin/sh\n"+body), 0o700)
		return path
	}
	for name, row := range map[string]struct {
		ssh  string
		want fault.Code
	}{
		"host key": {script("echo 'Host key verification failed.' >&2; exit 255"), fault.Auth},
		"denied":   {script("echo 'git@example.org: Permission denied (publickey).' >&2; exit 255"), fault.Auth},
		"missing":  {script("printf 'fatal: \\033[31m/x does not appear to be a git repository' >&2; exit 128"), fault.NotFound},
		"silent":   {script("exit 1"), fault.Network},
		"no ssh":   {"/nonexistent/ssh", fault.Network},
		"banner":   {script("echo hello there; cat >/dev/null"), fault.Network},
	} {
		r, err := transport.Dial("git@example.org:x", transport.Options{SSH: row.ssh, Env: os.Environ(), Tries: 2})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Refs(ctxFor(t)); !fault.Is(err, row.want) || strings.Contains(err.Error(), "\x1b") {
			t.Errorf("%s: %q (%s), want %s", name, err, fault.CodeOf(err), row.want)
		}
	}
	// A program that hangs and ignores the end of its input is killed.
	r, _ := transport.Dial("git@example.org:x", transport.Options{SSH: script("trap '' TERM HUP PIPE; exec sleep 60"), Env: os.Environ(), Stall: 100e6})
	if _, err := r.Refs(context.Background()); !fault.Is(err, fault.Network) {
		t.Errorf("hanging: %v", err)
	}
}
