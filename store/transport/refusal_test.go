package transport_test

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/transport"
)

// What a host says when it refuses is shown, with what can be done about it: by every way to
// a real receive-pack, and never as more than text.
func TestHostsWords(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("hooks of git are shell scripts")
	}
	g, root := newGit(t), t.TempDir()
	dir := g.bare(root, "x.git", 0)
	from := newStore(t)
	one := commitTo(t, from, "refs/heads/ns/acme", "a", noise(40<<10))
	hook := filepath.Join(dir, "hooks", "pre-receive")
	for name, row := range map[string]struct {
		config, hook string
		ref          string
		code         fault.Code
		says, hint   string
	}{
		"protected branch": {hook: `printf '\033[31mGH006: Protected branch\033[0m\nupdate failed for refs/heads/ns/acme.\r\n=====\nerror:\n' >&2; exit 1`,
			code: fault.Denied, says: "GH006: Protected branch; update failed for refs/heads/ns/acme.", hint: "push to the branch ns/acme"},
		"unsigned":   {hook: `echo "commits must have verified signatures" >&2; exit 1`, code: fault.Denied, says: "must have verified signatures", hint: "rye config author.email"},
		"committer":  {hook: `echo "committer address is not yours" >&2; exit 1`, code: fault.Denied, says: "committer address", hint: "rye config author.email"},
		"file size":  {hook: `echo "file is too large: 40 KiB" >&2; exit 1`, code: fault.Limit, says: "too large", hint: "fewer or smaller"},
		"own rule":   {hook: `echo "not on a Friday" >&2; exit 1`, code: fault.Denied, says: "not on a Friday", hint: "account push"},
		"silent":     {hook: `exit 1`, code: fault.Denied, says: "pre-receive hook declined", hint: "account push"},
		"endless":    {hook: `i=0; while [ $i -lt 3000 ]; do echo "word $i of a rule that says much"; i=$((i+1)); done >&2; exit 1`, code: fault.Denied, says: "word 1 of a rule", hint: "account push"},
		"pack size":  {config: "receive.maxInputSize", code: fault.Limit, says: "maximum allowed size", hint: "fewer or smaller"},
		"hidden ref": {config: "receive.hideRefs", ref: "refs/heads/hidden/x", code: fault.Denied, says: "hidden ref", hint: "a rule of the host refused it"},
	} {
		os.Remove(hook)
		b := g.in(dir)
		b.try("config", "--unset", "receive.maxInputSize")
		b.try("config", "--unset", "receive.hideRefs")
		switch row.config {
		case "receive.maxInputSize":
			b.run("config", row.config, "20000")
		case "receive.hideRefs":
			b.run("config", row.config, "refs/heads/hidden")
		}
		if row.hook != "" {
			if err := os.WriteFile(hook, []byte("#!/bin/sh\n"+row.hook+"\n"), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		for way, address := range map[string]string{"http": g.backend(root, true).URL + "/x.git", "git": g.daemon(root) + "/x.git"} {
			ref := row.ref
			if ref == "" {
				ref = "refs/heads/ns/acme"
			}
			err := dial(t, address).Push(ctxFor(t), from, []transport.Update{{Name: ref, New: one}})
			if err == nil {
				t.Errorf("%s by %s: accepted", name, way)
				continue
			}
			if name == "pack size" && way == "git" && fault.Is(err, fault.Network) {
				continue // who hangs up on what is still being sent takes its own words back
			}
			text := err.Error()
			if !fault.Is(err, row.code) || !strings.Contains(text, row.says) || !strings.Contains(fault.HintOf(err).String(), row.hint) {
				t.Errorf("%s by %s: %q (%s, hint %q), want %q (%s, hint %q)", name, way, text, fault.CodeOf(err), fault.HintOf(err), row.says, row.code, row.hint)
			}
			if strings.ContainsAny(text, "\x1b\r\n") || len(text) > 1500 {
				t.Errorf("%s by %s: %d bytes, or control characters: %q", name, way, len(text), text)
			}
			if rows := b.run("for-each-ref"); rows != "" {
				t.Fatalf("%s by %s: moved %s", name, way, rows)
			}
		}
	}
}

func noise(n int) []byte {
	b := make([]byte, n)
	rand.Read(b)
	return b
}

// A body of unknown length that a server cannot take is sent again with its length, however
// the server shows it: by a status, by an answer before the end, by an empty answer.
func TestChunksFallBackToALength(t *testing.T) {
	g, root := newGit(t), t.TempDir()
	for name, early := range map[string]func(w http.ResponseWriter, r *http.Request){
		"411": func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusLengthRequired) },
		"400 after reading": func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			w.WriteHeader(http.StatusBadRequest)
		},
		"500 at once": func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
		"an empty answer at once": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/x-git-receive-pack-result")
		},
		"an empty answer after reading": func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", "application/x-git-receive-pack-result")
		},
		"hangs up": func(w http.ResponseWriter, r *http.Request) {
			c, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				c.Close()
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			repo := fmt.Sprintf("%x.git", name)
			b := g.in(g.bare(root, repo, 0))
			behind, chunked := g.backend(root, true), new(atomic.Int32)
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.ContentLength < 0 {
					chunked.Add(1)
					early(w, r)
					return
				}
				behind.Config.Handler.ServeHTTP(w, r)
			}))
			t.Cleanup(s.Close)
			from, r := newStore(t), dial(t, s.URL+"/"+repo)
			tip, size := store.OID{}, 1200<<10
			if name == "hangs up" {
				size = 8 << 20 // more than sockets hold: what was taken completely may have been acted on
			}
			for i := range 2 {
				next := commitTo(t, from, "refs/heads/main", fmt.Sprint(i), noise(size))
				if err := r.Push(ctxFor(t), from, []transport.Update{{Name: "refs/heads/main", Old: tip, New: next}}); err != nil {
					t.Fatal(err)
				}
				tip, size = next, 1200<<10
			}
			if got := b.oid("rev-parse", "main"); got != tip || chunked.Load() != 1 {
				t.Errorf("main is %s, want %s; %d chunked bodies, want 1: it is remembered", got, tip, chunked.Load())
			}
			b.fsck()
		})
	}
}

// Whoever was hung up on before anything was said asks again.
func TestBusyHosts(t *testing.T) {
	g, root := newGit(t), t.TempDir()
	b := g.in(g.bare(root, "x.git", 3))
	behind := g.backend(root, true)
	for name, busy := range map[string]func(w http.ResponseWriter){
		"503": func(w http.ResponseWriter) { w.WriteHeader(http.StatusServiceUnavailable) },
		"429": func(w http.ResponseWriter) { w.WriteHeader(http.StatusTooManyRequests) },
		"reset": func(w http.ResponseWriter) {
			if c, _, err := w.(http.Hijacker).Hijack(); err == nil {
				c.(*net.TCPConn).SetLinger(0)
				c.Close()
			}
		},
	} {
		n := new(atomic.Int32)
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet && n.Add(1)%3 != 0 {
				busy(w)
				return
			}
			behind.Config.Handler.ServeHTTP(w, r)
		}))
		t.Cleanup(s.Close)
		r, from := dial(t, s.URL+"/x.git"), newStore(t)
		if refs, err := r.Refs(ctxFor(t), "refs/heads/main"); err != nil || refs["refs/heads/main"] != b.oid("rev-parse", "main") {
			t.Errorf("%s: %v, %v", name, refs, err)
		}
		one := commitTo(t, from, "refs/heads/main", "a", []byte(name))
		if err := r.Push(ctxFor(t), from, []transport.Update{{Name: "refs/heads/" + name, New: one}}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if n.Load() != 6 {
			t.Errorf("%s: asked %d times, want 6", name, n.Load())
		}
	}
	// One that never has time is an error of the network, after few tries.
	n := new(atomic.Int32)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.Add(1)
		w.WriteHeader(http.StatusBadGateway)
	}))
	t.Cleanup(s.Close)
	if _, err := dial(t, s.URL+"/x.git").Refs(ctxFor(t)); !fault.Is(err, fault.Network) || !strings.Contains(err.Error(), "busy (HTTP 502)") || n.Load() != 3 {
		t.Errorf("%v after %d tries", err, n.Load())
	}
}

// FuzzHostsWords: whatever a host prints is shown in one bounded line without control characters.
func FuzzHostsWords(f *testing.F) {
	f.Add([]byte("remote: GitLab: \x1b[31mYou are not allowed\x1b[0m\n====\n"), 7)
	f.Add(bytes.Repeat([]byte("Resolving deltas: 100% (1/1)\r"), 20), 3)
	f.Fuzz(func(t *testing.T, raw []byte, cut int) {
		said := transport.SaidOf(raw, cut)
		if strings.ContainsFunc(said, func(r rune) bool { return r < ' ' || r == 0x7f || 0x80 <= r && r < 0xa0 || r == 0x202e }) || len(said) > 1400 {
			t.Fatalf("%d bytes: %q", len(said), said)
		}
	})
}
