package transport

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"github.com/rye-os/rye/store"
)

// Whatever a client sends, reading it ends without a panic and within bounds.
func FuzzRequests(f *testing.F) {
	id := strings.Repeat("1", 40)
	zero := strings.Repeat("0", 40)
	f.Add([]byte(pktString("command=fetch", "agent=x", "0001", "want "+id, "have "+id, "filter tree:0", "deepen 3", "shallow "+id, "done", "0000")))
	f.Add([]byte(pktString(zero+" "+id+" refs/heads/x\x00 report-status atomic side-band-64k", id+" "+zero+" refs/heads/y", "0000") + "PACK"))
	f.Fuzz(func(t *testing.T, in []byte) {
		if cmd, err := newPktReader(bytes.NewReader(in)).readCommand(); err == nil {
			n := &needs{}
			for _, a := range cmd.args {
				if n.arg(a) != nil {
					break
				}
			}
			if n.depth < 0 || n.filter.blobLimit < 0 {
				t.Fatalf("%+v", n)
			}
		}
		if o, err := newPktReader(bytes.NewReader(in)).readOrders(store.SHA1); err == nil && o != nil {
			again := encodeOrders(o)
			o2, err := newPktReader(bytes.NewReader(again)).readOrders(store.SHA1)
			if err != nil || len(o2.updates) != len(o.updates) {
				t.Fatalf("read again: %v", err)
			}
			for i := range o.updates {
				if o.updates[i] != o2.updates[i] {
					t.Fatalf("%v read again as %v", o.updates[i], o2.updates[i])
				}
			}
		}
	})
}

func encodeOrders(o *orders) []byte {
	var b bytes.Buffer
	w := &pktWriter{w: &b}
	for i, u := range o.updates {
		caps := ""
		if i == 0 {
			caps = "\x00 report-status"
		}
		w.linef("%s %s %s%s", hexOID(u.Old, store.SHA1), hexOID(u.New, store.SHA1), u.Name, caps)
	}
	w.flush()
	return b.Bytes()
}

// A conversation over a stream in which the client sends whatever it likes ends.
func FuzzServeStream(f *testing.F) {
	repo, err := store.Init(f.TempDir()+"/x.git", "refs/heads/main")
	if err != nil {
		f.Fatal(err)
	}
	defer repo.Close()
	id, err := repo.Put(context.Background(), store.TypeBlob, []byte("x"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(false, []byte(pktString("command=ls-refs", "0001", "peel", "symrefs", "unborn", "0000", "0000")))
	f.Add(false, []byte(pktString("command=fetch", "0001", "want "+id.String(), "done", "0000", "0000")))
	f.Add(true, []byte(pktString(id.String()+" "+strings.Repeat("0", 40)+" refs/heads/x\x00 report-status side-band-64k", "0000")))
	f.Fuzz(func(t *testing.T, push bool, in []byte) {
		s, service := &Server{Repo: repo}, uploadPack
		if push {
			service = receivePack
		}
		var out bytes.Buffer
		s.Serve(context.Background(), service, bytes.NewReader(in), &out)
		for p := newPktReader(&out); ; { // what we say is always packets
			if _, _, err := p.next(); err == io.EOF {
				return
			} else if err != nil {
				t.Fatalf("answered %q: %v", out.Bytes(), err)
			}
		}
	})
}
