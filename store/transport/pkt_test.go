package transport

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
)

func TestPackets(t *testing.T) {
	var b bytes.Buffer
	w := &pktWriter{w: &b}
	w.linef("want %d", 7)
	w.delim()
	w.data(nil)
	w.data(bytes.Repeat([]byte("x"), pktPayload))
	w.flush()
	if w.err != nil {
		t.Fatal(w.err)
	}
	p := newPktReader(&b)
	if kind, line, err := p.line(); kind != pktData || line != "want 7" || err != nil {
		t.Fatalf("line 1: %v %q %v", kind, line, err)
	}
	for i, want := range []pktKind{pktDelim, pktData, pktData, pktFlush} {
		if kind, _, err := p.next(); kind != want || err != nil {
			t.Fatalf("packet %d: %v %v, want %v", i, kind, err, want)
		}
	}
	if _, _, err := p.next(); err != io.EOF {
		t.Fatalf("at the end: %v, want io.EOF", err)
	}
	if w.data(make([]byte, pktPayload+1)); !fault.Is(w.err, fault.Limit) {
		t.Errorf("payload too long: %v, want Limit", w.err)
	}
}

func TestPacketLengthsRefused(t *testing.T) {
	for _, in := range []string{"0003", "fff1", "FFF0", "00x5", "    ", "+005", "-001"} {
		if _, _, err := newPktReader(strings.NewReader(in + "a")).next(); !errors.Is(err, errPktLength) {
			t.Errorf("next(%q) = %v, want errPktLength", in, err)
		}
	}
	if _, _, err := newPktReader(strings.NewReader("0009ab")).next(); err != io.ErrUnexpectedEOF {
		t.Errorf("cut short: %v", err)
	}
}

func TestRemoteErrorCodes(t *testing.T) {
	for text, want := range map[string]fault.Code{
		"upload-pack: not our ref 1234":                    fault.NotFound,
		"access denied or repository not exported: /x":     fault.NotFound,
		"Permission to acme/x denied to user":              fault.Auth,
		"internal server error":                            fault.Network,
		"\x1b[31mred\x1b[0m \u202e evil\x00 not found\x07": fault.NotFound,
	} {
		_, _, err := newPktReader(strings.NewReader(pktString("ERR " + text))).line()
		if fault.CodeOf(err) != want {
			t.Errorf("ERR %q: %v (%s), want %s", text, err, fault.CodeOf(err), want)
		}
		if strings.ContainsAny(err.Error(), "\x1b\x00\x07\u202e") {
			t.Errorf("ERR %q: control characters in %q", text, err)
		}
	}
}

func pktString(lines ...string) string {
	var b bytes.Buffer
	w := &pktWriter{w: &b}
	for _, l := range lines {
		switch l {
		case "0000":
			w.flush()
		case "0001":
			w.delim()
		default:
			w.data([]byte(l))
		}
	}
	return b.String()
}

func TestDemux(t *testing.T) {
	var said []string
	in := pktString("\x01PA", "\x02working\x1b]0;x\x07\n", "\x01", "\x01CK", "0000", "rest")
	p := newPktReader(strings.NewReader(in))
	d := &demux{p: p, progress: func(s string) { said = append(said, s) }, limit: 1 << 20}
	got, err := io.ReadAll(d)
	if string(got) != "PACK" || err != nil {
		t.Errorf("data %q, %v", got, err)
	}
	if len(said) != 1 || said[0] != "working]0;x" {
		t.Errorf("progress %q", said)
	}
	if _, line, _ := p.line(); line != "rest" {
		t.Errorf("after the flush: %q", line)
	}
	for name, row := range map[string]struct {
		in   string
		want fault.Code
	}{
		"error band":   {pktString("\x01PA", "\x03no space\n", "0000"), fault.Network},
		"unknown band": {pktString("\x04x", "0000"), fault.Network},
		"empty packet": {"0004", fault.Network},
		"delimiter":    {"0001", fault.Network},
		"chatter":      {strings.Repeat(pktString("\x02"+strings.Repeat("x", 60000)), 40), fault.Limit},
	} {
		_, err := io.ReadAll(&demux{p: newPktReader(strings.NewReader(row.in)), limit: 1 << 20})
		if fault.CodeOf(err) != row.want {
			t.Errorf("%s: %v, want %s", name, err, row.want)
		}
	}
	if _, err := io.ReadAll(&demux{p: newPktReader(strings.NewReader(pktString("\x01PA"))), limit: 1 << 20}); err != io.ErrUnexpectedEOF {
		t.Errorf("no flush: %v, want unexpected EOF", err)
	}
}

// Packets read and written again are the same bytes.
func FuzzPackets(f *testing.F) {
	f.Add([]byte(pktString("version 2\n", "0001", "x", "0000")))
	f.Add([]byte("0002000400050"))
	f.Fuzz(func(t *testing.T, in []byte) {
		p, out := newPktReader(bytes.NewReader(in)), bytes.Buffer{}
		w := &pktWriter{w: &out}
		for {
			kind, data, err := p.next()
			if err != nil {
				break
			}
			switch kind {
			case pktData:
				w.data(data)
			case pktFlush:
				w.flush()
			case pktDelim:
				w.delim()
			case pktEnd:
				w.write([]byte("0002"))
			}
		}
		if w.err != nil || !bytes.HasPrefix(in, out.Bytes()) {
			t.Fatalf("read %q, wrote %q, %v", in, out.Bytes(), w.err)
		}
	})
}

// Whatever a server says, reading it ends without a panic, and what is kept of
// it obeys our grammar.
func FuzzAnswers(f *testing.F) {
	id := strings.Repeat("1", 40)
	f.Add([]byte(pktString("version 2\n", "agent=x", "fetch=shallow filter", "object-format=sha1", "0000",
		id+" refs/heads/main\n", id+" HEAD symref-target:refs/heads/main", "0000", "acknowledgments\n", "ACK "+id, "0001", "packfile\n", "\x01PACK", "0000")))
	f.Add([]byte(pktString("# service=git-upload-pack\n", "0000", id+" HEAD\x00side-band-64k symref=HEAD:refs/heads/x\n", id+" refs/heads/x\n", "0000")))
	f.Add([]byte(pktString("unpack ok\n", "ok refs/heads/x\n", "ng refs/heads/y non-fast-forward\n", "0000")))
	f.Fuzz(func(t *testing.T, in []byte) {
		p := newPktReader(bytes.NewReader(in))
		a, err := p.readAdvert(uploadPack, []string{"refs/heads/"})
		if err == nil {
			for name := range a.refs {
				if !validRef(name) || !strings.HasPrefix(name, "refs/heads/") {
					t.Fatalf("kept ref %q", name)
				}
			}
		}
		if refs, head, err := p.readLsRefs(nil); err == nil {
			for name := range refs {
				if name != "HEAD" && !validRef(name) {
					t.Fatalf("kept ref %q", name)
				}
			}
			if head != "" && !validRef(head) {
				t.Fatalf("kept head %q", head)
			}
		}
		r := &Remote{o: Options{}.withDefaults()}
		fe := &fetching{r: r, a: &advert{caps: caps{"shallow": ""}}, o: FetchOptions{Depth: 1}, st: &Stats{}}
		fe.sections(newPktReader(bytes.NewReader(in)))
		fe.acks0(newPktReader(bytes.NewReader(in)))
		pu := &pushing{r: r, updates: []Update{{Name: "refs/heads/x"}}}
		if pu.judge(newPktReader(bytes.NewReader(in)).readReport()) == nil && !bytes.Contains(in, []byte("ok refs/heads/x")) {
			t.Fatal("push believed without an ok")
		}
	})
}
