package export

import (
	"bytes"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
)

// memory is what the user's record knows about exports of one directory (docs/format/export.md).
type memory struct {
	clients map[string]bool           // that a person agreed to
	agreed  map[string]objects.Digest // ref to the digest of the programs that a person agreed to
	files   map[string]written        // slash path below the project to what rye wrote there
}

// written is a file or a link that rye wrote.
type written struct {
	ref  string         // of the item
	sum  objects.Digest // of a file
	link string         // the target of a link
}

const (
	memoryName = "exports"
	memoryHead = "rye-exports 1"
	maxMemory  = 16 << 20 // bytes
)

func newMemory() *memory {
	return &memory{clients: map[string]bool{}, agreed: map[string]objects.Digest{}, files: map[string]written{}}
}

// readMemory reads the memory in the directory of a record; "" is none.
func readMemory(record string) (*memory, error) {
	if record == "" {
		return newMemory(), nil
	}
	raw, err := place.Read(filepath.Join(record, memoryName), maxMemory)
	if errors.Is(err, fs.ErrNotExist) {
		return newMemory(), nil
	}
	if err != nil {
		return nil, err
	}
	m, err := parseMemory(raw)
	if err != nil {
		return nil, fault.Wrap(err, "read %s", filepath.Join(record, memoryName)).Advise("remove the file; without it rye asks again, and replaces only exact copies")
	}
	return m, nil
}

func (m *memory) write(record string) error {
	if record == "" {
		return fault.New(fault.NotFound, "export: there is no data directory, in which rye would remember what it wrote").Advise("set HOME, or XDG_DATA_HOME to an absolute path")
	}
	raw := m.encode()
	if len(raw) > maxMemory {
		return fault.New(fault.Limit, "export: too many files for one directory").Advise("name fewer items or clients")
	}
	return place.File(filepath.Join(record, memoryName), raw, 0o600)
}

// encode writes the memory: lines of fields with tabs between them, sorted by bytes.
func (m *memory) encode() []byte {
	var lines []string
	for c := range m.clients {
		lines = append(lines, "client\t"+c)
	}
	for ref, sum := range m.agreed {
		lines = append(lines, "agreed\t"+ref+"\t"+sum.Hex())
	}
	for p, w := range m.files {
		if w.link != "" {
			lines = append(lines, "link\t"+p+"\t"+w.ref+"\t"+w.link)
			continue
		}
		lines = append(lines, "file\t"+p+"\t"+w.ref+"\t"+w.sum.Hex())
	}
	slices.Sort(lines)
	return []byte(memoryHead + "\n" + strings.Join(append(lines, ""), "\n"))
}

func parseMemory(raw []byte) (*memory, error) {
	bad := func(line string) error {
		return fault.New(fault.Malformed, "line %q is not one of format 1", words.Brief(line))
	}
	rest, ok := bytes.CutPrefix(raw, []byte(memoryHead+"\n"))
	if !ok {
		return nil, bad(words.FirstLine(string(raw)))
	}
	m := newMemory()
	for line := range strings.Lines(string(rest)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		sum := func(s string) objects.Digest {
			d, err := objects.ParseDigest("sha256:" + s)
			ok = ok && err == nil
			return d
		}
		switch {
		case len(f) == 2 && f[0] == "client":
			m.clients[f[1]] = true
		case len(f) == 3 && f[0] == "agreed":
			m.agreed[f[1]] = sum(f[2])
		case len(f) == 4 && f[0] == "file" && fs.ValidPath(f[1]):
			m.files[f[1]] = written{ref: f[2], sum: sum(f[3])}
		case len(f) == 4 && f[0] == "link" && fs.ValidPath(f[1]) && f[3] != "":
			m.files[f[1]] = written{ref: f[2], link: f[3]}
		default:
			ok = false
		}
		if !ok {
			return nil, bad(line)
		}
	}
	if !bytes.Equal(m.encode(), raw) {
		return nil, fault.New(fault.Malformed, "it is not in canonical form")
	}
	return m, nil
}
