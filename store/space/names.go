package space

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/store"
)

// names holds all versions that a record ever had under each name: its annals, or a stored
// index of them (docs/format/record.md, "What other directories recorded"). It does not
// change.
type names struct {
	file  string // of the index
	tip   store.OID
	all   map[string]*versions // of annals
	lines []byte               // of an index, sorted by name
	fresh bool                 // the annals were read because this commit has no index
}

const (
	namesMagic = "rye-names 1 "
	maxNames   = 16 << 20 // bytes of an index
)

// readNames reads an index; nil if it is missing, damaged, or for another commit.
func readNames(file string, tip store.OID) *names {
	raw, err := place.Read(file, maxNames)
	head, lines, ok := bytes.Cut(raw, []byte("\n"))
	if err != nil || !ok || string(head) != namesMagic+tip.String() || len(lines) > 0 && lines[len(lines)-1] != '\n' {
		return nil
	}
	return &names{file: file, tip: tip, lines: lines}
}

// find returns all versions that the record ever had under a name; nil for none.
func (n *names) find(name string) (*versions, error) {
	if n.all != nil {
		return n.all[name].copy(), nil
	}
	key := []byte(name + "\t")
	low, high := 0, len(n.lines)
	for low < high {
		begin := bytes.LastIndexByte(n.lines[low:low+(high-low)/2], '\n') + 1 + low
		end := begin + bytes.IndexByte(n.lines[begin:], '\n') // the last line also has a line feed
		if bytes.Compare(n.lines[begin:end], key) < 0 {
			low = end + 1
		} else {
			high = begin
		}
	}
	if !bytes.HasPrefix(n.lines[low:], key) {
		return nil, nil
	}
	line, _, _ := bytes.Cut(n.lines[low:], []byte("\n"))
	_, h := parseVersions(string(line))
	if h == nil {
		return nil, n.damaged()
	}
	return h, nil
}

func (n *names) damaged() error {
	return fault.New(fault.Integrity, "%s is damaged", n.file).Mend("rm %s", n.file)
}

// each calls visit for every name, in order.
func (n *names) each(visit func(name string, h *versions) error) error {
	for _, name := range slices.Sorted(maps.Keys(n.all)) {
		if err := visit(name, n.all[name].copy()); err != nil {
			return err
		}
	}
	for line := range strings.Lines(string(n.lines)) {
		name, h := parseVersions(strings.TrimSuffix(line, "\n"))
		if h == nil {
			return n.damaged()
		}
		if err := visit(name, h); err != nil {
			return err
		}
	}
	return nil
}

// write writes the index.
func (n *names) write(file string) error {
	b := fmt.Appendf(nil, "%s%s\n", namesMagic, n.tip)
	for _, name := range slices.Sorted(maps.Keys(n.all)) {
		h := n.all[name]
		b = fmt.Appendf(b, "%s\t%d\t%d", name, unixOf(h.changed), unixOf(h.removed))
		for _, v := range h.versions {
			if strings.ContainsAny(v.path, "\t\n") {
				return nil // no item has such a path: without an index the record is read each time
			}
			b = fmt.Appendf(b, "\t%s %s %s", v.blob, v.tree, v.path)
		}
		b = append(b, '\n')
	}
	if len(b) > maxNames {
		return nil
	}
	return place.File(file, b, 0o600)
}

// unixOf returns a time in seconds, 0 for the zero time.
func unixOf(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

// parseVersions reads one line of an index; nil if it is invalid.
func parseVersions(line string) (name string, h *versions) {
	fields := strings.Split(line, "\t")
	if len(fields) < 3 {
		return "", nil
	}
	changed, err1 := strconv.ParseInt(fields[1], 10, 64)
	removed, err2 := strconv.ParseInt(fields[2], 10, 64)
	h = &versions{changed: time.Unix(changed, 0)}
	if removed != 0 {
		h.removed = time.Unix(removed, 0)
	}
	for _, f := range fields[3:] {
		parts := strings.SplitN(f, " ", 3)
		if len(parts) != 3 {
			return "", nil
		}
		blob, berr := store.ParseOID(parts[0])
		tree, terr := store.ParseOID(parts[1])
		if berr != nil || terr != nil {
			return "", nil
		}
		h.versions = append(h.versions, version{path: parts[2], blob: blob, tree: tree})
	}
	if err1 != nil || err2 != nil {
		return "", nil
	}
	return fields[0], h
}
