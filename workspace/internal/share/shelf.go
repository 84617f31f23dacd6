package share

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/registry/oplog"
	"github.com/rye-os/rye/search"
	"github.com/rye-os/rye/workspace/internal/custody"
)

// A catalogue has a line of JSON for every version, and each has to be compared with its one
// spelling. A search needs the items at once. So after a catalogue was fetched, the parts for
// a search are kept among the caches: a shelf for each namespace. It can be deleted at any
// time, and proves nothing: rye add reads the catalogue itself.
//
//	rye shelf 1 <SHA-256 of the rest>
//	<namespace> <seq> <when it was brought, Unix> <versions> <files at hand> <files> <operation dated, Unix>
//	acme/tool/hello <tab> 1.4.0 <tab> ok <tab> <published, Unix> <tab> <versions> <tab> <reason> <tab> <description>
//
// The lines are sorted by search.CompareEntries. No text of a catalogue contains a tab or the
// end of a line.
const shelfHead = "rye shelf 1 "

// maxShelf bounds a shelf, in bytes.
const maxShelf = 64 << 20

// shelfState is a shelf's description of its catalogue.
type shelfState struct {
	namespace   string
	seq         uint64
	brought     time.Time
	published   uint64
	have, parts int
	dated       time.Time
}

func (s *shelfState) complete() bool { return s.have == s.parts }

// shelfPath is the path of a namespace's shelf; "" where there is no cache.
func shelfPath(s *custody.Desk, id, ns string) string {
	digest, err := objects.ParseDigest(id)
	if s.CacheDir == "" || err != nil {
		return ""
	}
	return filepath.Join(s.CacheDir, "shelves", digest.Hex(), ns+".txt")
}

// A maker makes a shelf from the lines of a catalogue, in which an item's lines are adjacent.
type maker struct {
	lines [][]byte
	bytes int
	item  string
	best  oplog.Entry
	count int
}

// errFull reports that a shelf would be too large.
var errFull = errors.New("more than rye can search")

func (m *maker) add(e *oplog.Entry) error {
	if item := e.Ref.Published(); item != m.item {
		m.end()
		m.item, m.best, m.count = item, *e, 0
	}
	if m.count++; newer(e, &m.best) {
		m.best = *e
	}
	if m.bytes > maxShelf-(64<<10) {
		return fault.New(fault.Limit, "namespace %s: %w: its items take more than %d bytes", e.Ref.ID.Namespace(), errFull, maxShelf)
	}
	return nil
}

// end adds the current item.
func (m *maker) end() {
	if m.item == "" {
		return
	}
	b := &m.best
	line := fmt.Appendf(nil, "%s\t%s\t%s\t%d\t%d\t%s\t%s\n", m.item, b.Version, b.Status, b.Time.Unix(), m.count, b.Reason, b.Meta.Description)
	m.lines, m.bytes, m.item = append(m.lines, line), m.bytes+len(line), ""
}

// newer reports whether rye add would prefer the first of two versions of an item: usable ones
// before others, releases before pre-releases, and then by their order.
func newer(a, b *oplog.Entry) bool {
	v, _ := objects.ParseVersion(a.Version) // the catalogue has no others
	w, _ := objects.ParseVersion(b.Version)
	rank := func(e *oplog.Entry, v objects.Version) int {
		n := 0
		if e.Status == oplog.StatusOK || e.Status == oplog.StatusDeprecated {
			n = 2
		}
		if v.Pre == "" {
			n++
		}
		return n
	}
	if x, y := rank(a, v), rank(b, w); x != y {
		return x > y
	}
	return v.Compare(w) > 0
}

func itemOf(line []byte) []byte {
	item, _, _ := bytes.Cut(line, []byte{'\t'})
	return item
}

// keep writes the shelf.
func (m *maker) keep(path string, st shelfState) error {
	m.end()
	slices.SortFunc(m.lines, func(a, b []byte) int { return search.CompareEntries(itemOf(a), itemOf(b)) })
	body := fmt.Appendf(make([]byte, 0, m.bytes+256), "%s %d %d %d %d %d %d\n", st.namespace, st.seq, st.brought.Unix(), st.published, st.have, st.parts, st.dated.Unix())
	for _, l := range m.lines {
		body = append(body, l...)
	}
	head := fmt.Appendf(nil, "%s%x\n", shelfHead, sha256.Sum256(body))
	return place.Cache(path, append(head, body...), 0o600)
}

// A shelf holds the items of one namespace, from the time when its catalogue was fetched.
type shelf struct {
	shelfState
	lines [][]byte
}

// readShelf reads one; nil where there is none. A damaged one is an error (Integrity), and rye
// fetch --catalogue makes it anew.
func readShelf(path, ns string) (*shelf, error) {
	raw, err := place.Read(path, maxShelf+(1<<10))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return parseShelf(raw, ns)
}

func parseShelf(raw []byte, ns string) (*shelf, error) {
	broken := func(why string) (*shelf, error) {
		return nil, fault.New(fault.Integrity, "the stored catalogue of %s %s", ns, why).Mend("rye fetch --catalogue %s", ns)
	}
	head, body, ok := bytes.Cut(raw, []byte{'\n'})
	if !ok || string(head) != fmt.Sprintf("%s%x", shelfHead, sha256.Sum256(body)) {
		return broken("is damaged, or of another version of rye")
	}
	first, rest, _ := bytes.Cut(body, []byte{'\n'})
	sh := &shelf{}
	if sh.shelfState, ok = parseState(string(first)); !ok || sh.namespace != ns {
		return broken("belongs to another namespace")
	}
	sh.lines = make([][]byte, 0, bytes.Count(rest, []byte{'\n'}))
	for len(rest) > 0 {
		line, after, ok := bytes.Cut(rest, []byte{'\n'})
		if !ok || bytes.Count(line, []byte{'\t'}) != 6 || !strings.HasPrefix(string(line[:min(len(line), len(ns)+1)]), ns+"/") {
			return broken("has an invalid line")
		}
		if n := len(sh.lines); n > 0 && search.CompareEntries(itemOf(sh.lines[n-1]), itemOf(line)) >= 0 {
			return broken("is not sorted")
		}
		sh.lines, rest = append(sh.lines, line), after
	}
	return sh, nil
}

func parseState(line string) (st shelfState, ok bool) {
	f := strings.Split(line, " ")
	if len(f) != 7 {
		return st, false
	}
	var n [6]int64
	for i := range n {
		var err error
		if n[i], err = strconv.ParseInt(f[i+1], 10, 62); err != nil || n[i] < 0 && i != 5 {
			return st, false
		}
	}
	return shelfState{f[0], uint64(n[0]), time.Unix(n[1], 0).UTC(), uint64(n[2]), int(n[3]), int(n[4]), time.Unix(n[5], 0).UTC()}, true
}

// offer is one parsed line of a shelf.
type offer struct {
	item, version, status string
	published             time.Time
	versions              int
	reason, description   string
}

func parseOffer(line []byte) (o offer) {
	f := strings.SplitN(strings.TrimSuffix(string(line), "\n"), "\t", 7) // parseShelf counted the tabs
	at, _ := strconv.ParseInt(f[3], 10, 62)
	o.versions, _ = strconv.Atoi(f[4])
	o.item, o.version, o.status, o.published, o.reason, o.description = f[0], f[1], f[2], time.Unix(at, 0), f[5], f[6]
	return o
}
