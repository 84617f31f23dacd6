package transport_test

import (
	"bufio"
	"context"
	"io"
	"maps"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/store/transport"
)

func ctxFor(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func dial(t testing.TB, address string) *transport.Remote {
	t.Helper()
	r, err := transport.Dial(address, transport.Options{Stall: 20 * time.Second, Tries: 3})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// peers are the ways to a repository root/x.git with every server at hand.
func peers(t *testing.T, g *git, root string) map[string]string {
	return map[string]string{
		"http-backend v2":             g.backend(root, true).URL + "/x.git",
		"http-backend without chunks": g.cgi(root, true, true).URL + "/x.git",
		"http-backend v0":             g.backend(root, false).URL + "/x.git",
		"git daemon":                  g.daemon(root) + "/x.git",
	}
}

func TestRefsOfGit(t *testing.T) {
	g, root := newGit(t), t.TempDir()
	dir := g.bare(root, "x.git", 3)
	b := g.in(dir)
	tip, tag := b.oid("rev-parse", "main"), b.oid("rev-parse", "refs/tags/v1")
	b.run("update-ref", "refs/heads/ödd", tip.String())
	for name, address := range peers(t, g, root) {
		t.Run(name, func(t *testing.T) {
			r := dial(t, address)
			for range 2 { // the second time on a kept connection
				refs, err := r.Refs(ctxFor(t), "refs/heads/")
				if err != nil || len(refs) != 2 || refs["refs/heads/main"] != tip || refs["refs/heads/side"] != tip {
					t.Fatalf("heads: %v, %v", refs, err)
				}
			}
			refs, err := r.Refs(ctxFor(t))
			if err != nil || len(refs) != 4 || refs["refs/tags/v1"] != tag || refs["HEAD"] != tip {
				t.Fatalf("all: %v, %v", maps.Collect(maps.All(refs)), err)
			}
			if head, err := r.Head(ctxFor(t)); head != "refs/heads/main" || err != nil {
				t.Errorf("head %q, %v", head, err)
			}
			if refs, err := r.Refs(ctxFor(t), "refs/none/"); err != nil || len(refs) != 0 {
				t.Errorf("none: %v, %v", refs, err)
			}
			missing := dial(t, address[:len(address)-5]+"y.git")
			if _, err := missing.Refs(ctxFor(t)); !fault.Is(err, fault.NotFound) {
				t.Errorf("missing repository: %v (%s), want NotFound", err, fault.CodeOf(err))
			}
		})
	}
}

// A connection is kept between operations, made anew when the remote has closed
// it meanwhile, and ended by Close.
func TestKeptConnections(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	served, ended := make(chan int, 10), make(chan error, 10)
	go func() {
		for n := 0; ; n++ {
			c, err := l.Accept()
			if err != nil {
				return
			}
			served <- n
			go func() {
				defer c.Close()
				r := bufio.NewReader(c)
				untilFlush := func() error {
					for {
						var head [4]byte
						if _, err := io.ReadFull(r, head[:]); err != nil || string(head[:]) == "0000" {
							return err
						}
						size, err := strconv.ParseUint(string(head[:]), 16, 16)
						if err != nil {
							return err
						}
						if _, err := r.Discard(max(int(size)-4, 0)); err != nil {
							return err
						}
					}
				}
				r.ReadBytes(0)
				r.ReadBytes(0)
				r.ReadBytes(0)
				r.ReadBytes(0) // "git-upload-pack /x", "host=…", "", "version=2"
				io.WriteString(c, v2Advert)
				for i := 0; n > 0 || i < 2; i++ { // the first connection takes two commands only
					if err := untilFlush(); err != nil {
						ended <- err
						return
					}
					if _, err := io.WriteString(c, oneRef); err != nil {
						return
					}
				}
			}()
		}
	}()
	r := dial(t, "git://"+l.Addr().String()+"/x")
	for i := range 5 {
		if refs, err := r.Refs(ctxFor(t)); err != nil || len(refs) != 1 {
			t.Fatalf("operation %d: %v, %v", i, refs, err)
		}
	}
	if n := len(served); n != 2 {
		t.Errorf("%d connections, want 2", n)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Error("Close left the connection open")
	}
}
