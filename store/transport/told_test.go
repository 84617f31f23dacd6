package transport_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/testkit"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/transport"
)

// asked notes what a handler is asked.
type asked struct {
	http.Handler
	mu  sync.Mutex
	all []string
}

func (a *asked) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	a.all = append(a.all, r.Method+" "+r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:])
	a.mu.Unlock()
	a.Handler.ServeHTTP(w, r)
}

// since returns what was asked since the last call.
func (a *asked) since() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	text := strings.Join(a.all, ", ")
	a.all = nil
	return text
}

// A host is asked once what it can do, also by the processes that follow: listing and fetching
// are one request each then.
func TestToldHostIsAskedOnce(t *testing.T) {
	g, root, cache := newGit(t), t.TempDir(), t.TempDir()
	b := g.in(g.bare(root, "x.git", 3))
	a := &asked{Handler: g.backend(root, true).Config.Handler}
	s := httptest.NewServer(a)
	t.Cleanup(s.Close)
	for i, want := range []string{"GET refs, POST git-upload-pack, POST git-upload-pack", "POST git-upload-pack, POST git-upload-pack"} {
		r, err := transport.Dial(s.URL+"/x.git", transport.Options{Cache: cache})
		if err != nil {
			t.Fatal(err)
		}
		refs, err := r.Refs(ctxFor(t), "refs/heads/")
		if err != nil || refs["refs/heads/main"] != b.oid("rev-parse", "main") {
			t.Fatalf("%v, %v", refs, err)
		}
		q, _, err := r.Fetch(ctxFor(t), newStore(t), []store.OID{refs["refs/heads/main"]}, nil, transport.FetchOptions{})
		if err != nil {
			t.Fatal(err)
		}
		q.Discard()
		r.Close()
		if got := a.since(); got != want {
			t.Errorf("process %d: asked %s, want %s", i, got, want)
		}
	}
}

// What was told is a hint: whatever became of the host, or of the file, the answer is the one
// that it gives when it is asked anew, and nothing wrong is kept.
func TestToldIsOnlyAHint(t *testing.T) {
	sound := v2Advert
	for name, row := range map[string]struct {
		file string // what is kept; "" nothing
		post func(n int) int
		ref  string
		want fault.Code
	}{
		"as before":                 {file: sound},
		"nothing kept":              {},
		"it does not speak so":      {file: sound, post: func(n int) int { return []int{500, 200}[min(n, 1)] }},
		"it moved":                  {file: sound, post: func(n int) int { return []int{301, 200}[min(n, 1)] }},
		"it wants to be asked":      {file: sound, post: func(n int) int { return []int{403, 200}[min(n, 1)] }},
		"it is gone":                {file: sound, post: func(int) int { return 404 }, want: fault.NotFound},
		"another object format":     {file: strings.Replace(sound, "0017object-format=sha1", "001aobject-format=sha0000", 1)},
		"the file is cut off":       {file: sound[:len(sound)/2]},
		"the file is something":     {file: "# a note\n"},
		"the file lies and is long": {file: sound[:14] + strings.Repeat("0009agent=x\n"[:9], 1<<14) + "0000"},
		"the file has no ls-refs":   {file: pkts("version 2\n", "agent=x\n", "0000")},
	} {
		t.Run(name, func(t *testing.T) {
			cache, posts := t.TempDir(), 0
			f := &fake{answer: oneRef}
			address := testkit.Serve(t, f)
			dial := func() *transport.Remote {
				r, err := transport.Dial(address+"/x.git", transport.Options{Cache: cache, Tries: 1})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { r.Close() })
				return r
			}
			if row.file != "" {
				if _, err := dial().Refs(ctxFor(t)); err != nil { // so that the file has its name
					t.Fatal(err)
				}
				if err := os.WriteFile(kept(t, cache), []byte(row.file), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			f.check = func(r *http.Request) int {
				if r.Method != http.MethodPost || row.post == nil {
					return 200
				}
				posts++
				return row.post(posts - 1)
			}
			refs, err := dial().Refs(ctxFor(t))
			if fault.CodeOf(err) != row.want || err == nil && refs["refs/heads/main"].IsZero() {
				t.Fatalf("%v, %v (%s), want code %q", refs, err, fault.CodeOf(err), row.want)
			}
			if err != nil {
				if found, _ := filepath.Glob(filepath.Join(cache, "*")); len(found) > 0 {
					if raw, _ := os.ReadFile(found[0]); string(raw) != v2Advert {
						t.Errorf("%q is still kept", raw)
					}
				}
				return
			}
			if raw, err := os.ReadFile(kept(t, cache)); row.post != nil && (err != nil || string(raw) != v2Advert) {
				t.Errorf("kept %q, %v", raw, err)
			}
		})
	}
}

// kept returns the one file that is kept of hosts.
func kept(t *testing.T, cache string) string {
	t.Helper()
	found, _ := filepath.Glob(filepath.Join(cache, "*"))
	if len(found) != 1 {
		t.Fatalf("kept: %q", found)
	}
	return found[0]
}

// A host that asks for a credential is told it as before, and hears it from nobody else.
func TestToldHostAsksForACredential(t *testing.T) {
	cache := t.TempDir()
	f := &fake{answer: oneRef, check: wantToken}
	address := testkit.Serve(t, f)
	host := strings.TrimPrefix(address, "http://")
	for i, want := range [][]string{
		{"GET /x.git/info/refs?service=git-upload-pack", "GET /x.git/info/refs?service=git-upload-pack", "POST /x.git/git-upload-pack"},
		{"POST /x.git/git-upload-pack", "POST /x.git/git-upload-pack"},
	} {
		before, _ := f.seen()
		r, err := transport.Dial(address+"/x.git", transport.Options{Cache: cache, Token: tokenFor(host, theToken)})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Refs(ctxFor(t)); err != nil {
			t.Fatal(err)
		}
		r.Close()
		auth, paths := f.seen()
		if got := paths[len(before):]; !slices.Equal(got, want) {
			t.Errorf("process %d asked %q, want %q", i, got, want)
		}
		if auth[len(before)] != "" {
			t.Errorf("process %d: a credential that nobody asked for", i)
		}
	}
	raw, err := os.ReadFile(kept(t, cache))
	if err != nil || strings.Contains(string(raw), theToken) {
		t.Errorf("kept %q, %v", raw, err)
	}
}

// What a redirect led to is not kept: where it leads is the host's to say each time.
func TestToldByARedirectIsNotKept(t *testing.T) {
	cache := t.TempDir()
	there := testkit.Serve(t, &fake{answer: oneRef})
	here := testkit.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, there+r.URL.RequestURI(), http.StatusFound)
	}))
	r, err := transport.Dial(here+"/x.git", transport.Options{Cache: cache})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := r.Refs(ctxFor(t)); err != nil {
		t.Fatal(err)
	}
	if found, _ := filepath.Glob(filepath.Join(cache, "*")); len(found) > 0 {
		t.Errorf("kept %q", found)
	}
}

// A writer asks one question for the listing and the push, on every route, and what happens
// between the two is found out.
func TestRefsToPush(t *testing.T) {
	g, root := newGit(t), t.TempDir()
	b := g.in(g.bare(root, "x.git", 2))
	for name, r := range routes(t, g, root) {
		t.Run(name, func(t *testing.T) {
			ctx, from := ctxFor(t), newStore(t)
			branch := "refs/heads/w-" + strings.ReplaceAll(name, " ", "-")
			refs, err := r.RefsToPush(ctx, "refs/heads/main", branch)
			if err != nil || len(refs) != 1 || refs["refs/heads/main"] != b.oid("rev-parse", "main") {
				t.Fatalf("%v, %v", refs, err)
			}
			one := commitTo(t, from, branch, "a.txt", []byte("one\n"))
			if err := r.Push(ctx, from, []transport.Update{{Name: branch, New: one}}); err != nil {
				t.Fatal(err)
			}
			if refs, err = r.RefsToPush(ctx, branch); err != nil || refs[branch] != one {
				t.Fatalf("%v, %v", refs, err)
			}
			two := commitTo(t, from, branch, "a.txt", []byte("two\n"))
			b.run("update-ref", branch, b.run("rev-parse", "main")) // somebody is faster
			var rej *transport.RejectedError
			if err := r.Push(ctx, from, []transport.Update{{Name: branch, Old: one, New: two}}); !asRejected(err, &rej) || !fault.Is(err, fault.Conflict) {
				t.Fatalf("over somebody else's: %v", err)
			}
			at := b.oid("rev-parse", "main")
			if _, err := r.RefsToPush(ctx, branch); err != nil {
				t.Fatal(err)
			}
			q, _, err := r.Fetch(ctx, from, []store.OID{at}, nil, transport.FetchOptions{}) // in between
			if err != nil {
				t.Fatal(err)
			}
			if err := q.Accept(ctx, at); err != nil {
				t.Fatal(err)
			}
			q.Release()
			if err := r.Push(ctx, from, []transport.Update{{Name: branch, Old: at, New: two}}); err != nil {
				t.Fatal(err)
			}
			if _, err := r.RefsToPush(ctx); err != nil { // and no push
				t.Fatal(err)
			}
		})
	}
	b.fsck()
}

func TestRefsToPushIsOneRequest(t *testing.T) {
	g, root := newGit(t), t.TempDir()
	g.bare(root, "x.git", 2)
	a := &asked{Handler: g.backend(root, true).Config.Handler}
	s := httptest.NewServer(a)
	t.Cleanup(s.Close)
	r, from := dial(t, s.URL+"/x.git"), newStore(t)
	if _, err := r.RefsToPush(ctxFor(t), "refs/heads/"); err != nil {
		t.Fatal(err)
	}
	one := commitTo(t, from, "refs/heads/new", "a.txt", []byte("one\n"))
	if err := r.Push(ctxFor(t), from, []transport.Update{{Name: "refs/heads/new", New: one}}); err != nil {
		t.Fatal(err)
	}
	if got := a.since(); got != "GET refs, POST git-receive-pack" {
		t.Errorf("asked %s", got)
	}
	only, err := transport.Dial(s.URL+"/x.git", transport.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := only.RefsToPush(ctxFor(t)); !fault.Is(err, fault.Denied) {
		t.Errorf("for reading only: %v", err)
	}
}
