package main_test

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// A hostileRepo is what a host serves, byte by byte, honest or not.
type hostileRepo struct {
	pack  packOf
	refs  [][2]string // name, id
	fetch []byte      // the whole answer to a fetch; nil: the pack
}

// packOf is a pack being made.
type packOf struct {
	b bytes.Buffer
	n int
	z *zlib.Writer
}

// The types of entries in a pack.
const (
	commitType, treeType, blobType, tagType = 1, 2, 3, 4
	ofsDelta, refDelta                      = 6, 7
)

func (p *packOf) begin() {
	if p.b.Len() == 0 {
		p.b.WriteString("PACK\x00\x00\x00\x02\x00\x00\x00\x00")
	}
}

// entry adds an entry that claims a size and a base, and returns where it begins.
func (p *packOf) entry(typ byte, declared int64, base []byte, data []byte) int {
	var z bytes.Buffer
	if p.z == nil {
		p.z, _ = zlib.NewWriterLevel(&z, zlib.BestSpeed)
	} else {
		p.z.Reset(&z)
	}
	p.z.Write(data)
	p.z.Close()
	return p.raw(typ, declared, base, z.Bytes())
}

func (p *packOf) raw(typ byte, declared int64, base, deflated []byte) int {
	p.begin()
	p.n++
	at := p.b.Len()
	c := typ<<4 | byte(declared&15)
	for declared >>= 4; declared != 0; declared >>= 7 {
		p.b.WriteByte(c | 0x80)
		c = byte(declared & 0x7f)
	}
	p.b.WriteByte(c)
	p.b.Write(base)
	p.b.Write(deflated)
	return at
}

// put adds a whole object and returns its id.
func (p *packOf) put(typ byte, data string) string {
	p.entry(typ, int64(len(data)), nil, []byte(data))
	return idOf(typ, data)
}

func idOf(typ byte, data string) string {
	name := map[byte]string{commitType: "commit", treeType: "tree", blobType: "blob", tagType: "tag"}[typ]
	sum := sha1.Sum([]byte(fmt.Sprintf("%s %d\x00%s", name, len(data), data)))
	return hex.EncodeToString(sum[:])
}

// ofs adds a delta on the entry that begins at base.
func (p *packOf) ofs(base int, delta []byte) int {
	p.begin()
	back := p.b.Len() - base
	enc := []byte{byte(back & 0x7f)}
	for back >>= 7; back > 0; back >>= 7 {
		back--
		enc = append([]byte{byte(back&0x7f) | 0x80}, enc...)
	}
	return p.entry(ofsDelta, int64(len(delta)), enc, delta)
}

func (p *packOf) ref(base string, delta []byte) int {
	raw, _ := hex.DecodeString(base)
	return p.entry(refDelta, int64(len(delta)), raw, delta)
}

// done ends the pack with a head that claims count objects; -1: as many as it has.
func (p *packOf) done(count int) []byte {
	p.begin()
	if count < 0 {
		count = p.n
	}
	b := bytes.Clone(p.b.Bytes())
	binary.BigEndian.PutUint32(b[8:], uint32(count))
	return seal(b)
}

func seal(b []byte) []byte {
	sum := sha1.Sum(b)
	return append(b, sum[:]...)
}

func varint(n int64) (b []byte) {
	for ; n >= 0x80; n >>= 7 {
		b = append(b, byte(n)|0x80)
	}
	return append(b, byte(n))
}

// copies is a delta that copies the first size bytes of its base times times, then
// adds text.
func copies(base, size, times int, text string) []byte {
	b := append(varint(int64(base)), varint(int64(size*times+len(text)))...)
	for range times {
		b = append(b, 0xf0, byte(size), byte(size>>8), byte(size>>16))
	}
	if text != "" {
		b = append(append(b, byte(len(text))), text...)
	}
	return b
}

// treeEntry is one entry of a tree, unchecked.
func treeEntry(mode, name, id string) string {
	raw, _ := hex.DecodeString(id)
	return mode + " " + name + "\x00" + string(raw)
}

const hostileStamp = "Eve <eve@example.org> 1700000000 +0000"

// commit adds a commit of the tree and lets HEAD name it.
func (h *hostileRepo) commit(tree string) {
	h.rawCommit("tree " + tree + "\nauthor " + hostileStamp + "\ncommitter " + hostileStamp + "\n\nx\n")
}

func (h *hostileRepo) rawCommit(text string) {
	id := h.pack.put(commitType, text)
	h.refs = [][2]string{{"HEAD", id}, {"refs/heads/main", id}}
}

// tools adds a commit whose .ai/tools is the tree id.
func (h *hostileRepo) tools(id string) {
	ai := h.pack.put(treeType, treeEntry("40000", "tools", id))
	h.commit(h.pack.put(treeType, treeEntry("40000", ".ai", ai)))
}

// toolsTree is tools for the bytes of a tree, which name blobs that are there.
func (h *hostileRepo) toolsTree(raw string) { h.tools(h.pack.put(treeType, raw)) }

// item adds a commit with one item at a path below .ai.
func (h *hostileRepo) item(path, text string) {
	parts := strings.Split(path, "/")
	id, mode := h.pack.put(blobType, text), "100644"
	for i := len(parts) - 1; i >= 0; i-- {
		id, mode = h.pack.put(treeType, treeEntry(mode, parts[i], id)), "40000"
	}
	h.commit(h.pack.put(treeType, treeEntry("40000", ".ai", id)))
}

const emptyBlob = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"

// blob adds the empty blob.
func (h *hostileRepo) blob() string { return h.pack.put(blobType, "") }

func pkt(s string) string { return fmt.Sprintf("%04x%s", len(s)+4, s) }

// answer is the answer to a fetch: the pack, in packets.
func (h *hostileRepo) answer(w io.Writer) {
	if h.fetch != nil {
		w.Write(h.fetch)
		return
	}
	h.stream(w, h.pack.done(-1))
}

func (h *hostileRepo) stream(w io.Writer, pack []byte) {
	io.WriteString(w, pkt("packfile\n"))
	for len(pack) > 0 {
		n := min(len(pack), 60_000)
		io.WriteString(w, pkt("\x01"+string(pack[:n])))
		pack = pack[n:]
	}
	io.WriteString(w, "0000")
}

// serves makes the answer to a fetch of these bytes of a pack.
func (h *hostileRepo) serves(pack []byte) {
	var b bytes.Buffer
	h.stream(&b, pack)
	h.fetch = b.Bytes()
}

// hostileHost serves repositories (name to *hostileRepo) over loopback, in git's protocol
// version 2.
func hostileHost(t *testing.T, repos *sync.Map) string {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		name, rest, _ := strings.Cut(strings.TrimPrefix(q.URL.Path, "/"), ".git/")
		found, ok := repos.Load(name)
		if !ok {
			http.NotFound(w, q)
			return
		}
		h := found.(*hostileRepo)
		if rest == "info/refs" {
			w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
			io.WriteString(w, pkt("# service=git-upload-pack\n")+"0000"+pkt("version 2\n")+pkt("ls-refs\n")+pkt("fetch=shallow filter\n")+pkt("object-format=sha1\n")+"0000")
			return
		}
		w.Header().Set("Content-Type", "application/x-git-upload-pack-result")
		body, _ := io.ReadAll(q.Body)
		if !bytes.Contains(body, []byte("command=ls-refs")) {
			h.answer(w)
			return
		}
		for _, ref := range h.refs {
			io.WriteString(w, pkt(ref[1]+" "+ref[0]+"\n"))
		}
		io.WriteString(w, "0000")
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}
