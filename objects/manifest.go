package objects

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

// ManifestName is the file name of a bundle's manifest. It lies at the root of the
// files that it lists, and does not list itself.
const ManifestName = "rye.bundle.yaml"

// Bounds of a bundle.
const (
	MaxBundleFiles = 20000
	MaxBundleFile  = 64 << 20 // bytes
	MaxBundleBytes = 1 << 30  // of all files
	maxPathLength  = 512
	maxPathDepth   = 16
)

// Manifest lists every file of a bundle: files that cannot carry a signature line, and
// files that must not change alone. docs/format/bundle.md is normative. Each manifest
// has exactly one form, so parsing and encoding give the same bytes.
type Manifest struct {
	ID      ID                // <namespace>/bundle/<name>
	Version string            // semantic
	Origin  *Origin           // where the content came from; nil for content that was written here
	Needs   Needs             // of its programs: files that run and have no metadata of their own
	Deps    map[string]string // dependencies that no member can declare: published item to range
	Files   []File            // sorted by Path, unique also when case is ignored

	item *Item
}

// File is an entry of a manifest.
type File struct {
	Path       string // slash path below the manifest's directory
	Executable bool   // mode 0755, else 0644
	Size       int64  // bytes
	Sum        Digest
}

// Ref returns the ref that the signature binds, and that registries and locks use for a
// bundle: bundle:acme/report for the id acme/bundle/report. It does not depend on the
// file's path.
func (m *Manifest) Ref() Ref { return BundleRef(m.ID) }

// Item returns the manifest as an item, for verification. It is nil for a
// manifest that was not parsed.
func (m *Manifest) Item() *Item { return m.item }

// File returns the entry of a path. A nil manifest has none.
func (m *Manifest) File(path string) (File, bool) {
	if m == nil {
		return File{}, false
	}
	i := m.search(path)
	if i == len(m.Files) || m.Files[i].Path != path {
		return File{}, false
	}
	return m.Files[i], true
}

// search returns the index of the first file whose path is not before path.
func (m *Manifest) search(path string) int {
	i, _ := slices.BinarySearchFunc(m.Files, path, func(f File, p string) int { return strings.Compare(f.Path, p) })
	return i
}

// Format returns the format that the manifest is written in. Format 2 is for what format 1 cannot
// hold: an origin, needs, and names of other programs. So every content has one text.
func (m *Manifest) Format() int {
	if m.Origin != nil || m.Needs.Declared {
		return 2
	}
	for _, f := range m.Files {
		if CheckPath(f.Path) != nil {
			return 2
		}
	}
	return 1
}

// Encode returns the manifest without a signature line. It refuses a manifest
// that ParseManifest would refuse.
func (m *Manifest) Encode() ([]byte, error) {
	if err := m.check(); err != nil {
		return nil, err
	}
	return m.encode(), nil
}

func (m *Manifest) encode() []byte {
	b := make([]byte, 0, 64+len(m.Files)*160)
	b = fmt.Appendf(b, "format: %d\nbundle:\n  id: %s\n  version: %s\n", m.Format(), m.ID, m.Version)
	if m.Origin != nil {
		b = m.Origin.append(b)
	}
	if m.Needs.Declared {
		b = m.Needs.append(b)
	}
	b = append(m.appendDeps(b), "files:\n"...)
	for _, f := range m.Files {
		mode := "0644"
		if f.Executable {
			mode = "0755"
		}
		b = fmt.Appendf(b, "  - {path: %s, mode: \"%s\", size: %d, sha256: \"%s\"}\n", quoteMember(f.Path), mode, f.Size, f.Sum.Hex())
	}
	return b
}

// ParseManifest reads a manifest with or without its signature line. It is
// ordinary YAML, but ParseManifest accepts only the form that Encode writes: every
// text has one meaning, and parsing forty files takes microseconds.
func ParseManifest(raw []byte) (*Manifest, error) {
	body, sig, legacy, err := Split(ManifestName, raw)
	if err != nil {
		return nil, err
	}
	if legacy != nil {
		return nil, malformed(ManifestName, 1, 0, "a manifest of RYE OS").Advise("rye sign <its directory> makes one of ours")
	}
	r := &manifestReader{body: body, line: 0}
	if len(body) != len(raw) {
		r.line = 1
	}
	m, err := r.read()
	if err != nil {
		return nil, err
	}
	m.item = &Item{
		Ref: m.Ref(), Path: ManifestName, Raw: raw, Body: body, Signature: sig,
		Sum: DigestOf(raw), Digest: DigestOf(body),
		Meta: Meta{Name: m.ID.Name(), Version: m.Version, Needs: m.Needs, Deps: m.Deps},
	}
	return m, nil
}

// manifestReader reads a manifest line by line.
type manifestReader struct {
	body   []byte
	line   int // number of the last line read, in the file
	format int
}

func (r *manifestReader) next() (string, bool) {
	n := bytes.IndexByte(r.body, '\n')
	if n < 0 {
		return string(r.body), false
	}
	line := string(r.body[:n])
	r.body = r.body[n+1:]
	r.line++
	return line, true
}

func (r *manifestReader) bad(format string, args ...any) error {
	return malformed(ManifestName, max(r.line, 1), 0, format, args...)
}

// want reads a line and returns the text after the prefix.
func (r *manifestReader) want(prefix string) (string, error) {
	line, ok := r.next()
	rest, cut := strings.CutPrefix(line, prefix)
	if !ok || !cut {
		return "", r.bad("line %q: want %q", words.Brief(line), prefix)
	}
	return rest, nil
}

// take reads a line with a prefix and returns the text after it. It leaves any other line.
func (r *manifestReader) take(prefix string) (string, bool) {
	if !bytes.HasPrefix(r.body, []byte(prefix)) {
		return "", false
	}
	rest, err := r.want(prefix)
	return rest, err == nil
}

// takeLine reads exactly this line, or nothing.
func (r *manifestReader) takeLine(line string) bool {
	if !bytes.HasPrefix(r.body, []byte(line+"\n")) {
		return false
	}
	r.next()
	return true
}

func (r *manifestReader) read() (*Manifest, error) {
	m := &Manifest{}
	for _, l := range []struct {
		text string
		into func(string) error
	}{
		{"format: ", func(s string) error {
			if s != "1" && s != "2" {
				return r.bad("format %q: this rye reads formats 1 and 2", words.Brief(s))
			}
			r.format = int(s[0] - '0')
			return nil
		}},
		{"bundle:", r.empty},
		{"  id: ", func(s string) (err error) {
			if m.ID, err = ParseID(s); err != nil {
				return r.bad("%v", err)
			}
			return nil
		}},
		{"  version: ", func(s string) error { m.Version = s; return nil }},
	} {
		rest, err := r.want(l.text)
		if err == nil {
			err = l.into(rest)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := r.sections(m); err != nil {
		return nil, err
	}
	for len(r.body) > 0 {
		if len(m.Files) == MaxBundleFiles {
			return nil, fault.New(fault.Limit, "%s: more than %d files", ManifestName, MaxBundleFiles)
		}
		f, err := r.file()
		if err != nil {
			return nil, err
		}
		m.Files = append(m.Files, f)
	}
	if err := m.check(); err != nil {
		return nil, err
	}
	if m.Format() != r.format {
		return nil, malformed(ManifestName, 0, 0, "format %d: its content is written in format %d", r.format, m.Format())
	}
	return m, nil
}

// sections reads the lines between the head and the first file.
func (r *manifestReader) sections(m *Manifest) (err error) {
	if r.takeLine("origin:") {
		if m.Origin, err = r.origin(); err != nil {
			return err
		}
	}
	if r.takeLine("needs:") {
		if m.Needs, err = r.needs(); err != nil {
			return err
		}
	}
	line, ok := r.next()
	if ok && line == "deps:" {
		m.Deps, err = r.deps()
		return err
	}
	if !ok || line != "files:" {
		return r.bad("line %q: want %q", words.Brief(line), "files:")
	}
	return nil
}

func (r *manifestReader) empty(s string) error {
	if s != "" {
		return r.bad("%q after the colon: want nothing", words.Brief(s))
	}
	return nil
}

// file reads one entry.
func (r *manifestReader) file() (f File, err error) {
	rest, err := r.want(`  - {path: `)
	if err != nil {
		return f, err
	}
	path, rest, ok0 := unquoteMember(rest)
	rest, ok1 := strings.CutPrefix(rest, `, mode: "`)
	mode, rest, ok2 := strings.Cut(rest, `", size: `)
	size, sum, ok3 := strings.Cut(rest, `, sha256: "`)
	sum, ok4 := strings.CutSuffix(sum, `"}`)
	if !ok0 || !ok1 || !ok2 || !ok3 || !ok4 {
		return f, r.bad(`entry: want {path: "…", mode: "0644", size: 1, sha256: "…"}`)
	}
	if mode != "0644" && mode != "0755" {
		return f, r.bad("mode %q of %q: want 0644 or 0755", words.Brief(mode), words.Brief(path))
	}
	n, err := strconv.ParseInt(size, 10, 64)
	if err != nil || n < 0 || strconv.FormatInt(n, 10) != size {
		return f, r.bad("size %q of %q: want a number of bytes", words.Brief(size), words.Brief(path))
	}
	d, err := ParseDigest("sha256:" + sum)
	if err != nil {
		return f, r.bad("sha256 %q of %q: want 64 lower-case hexadecimal digits", words.Brief(sum), words.Brief(path))
	}
	return File{Path: path, Executable: mode == "0755", Size: n, Sum: d}, nil
}

// check applies the rules for the manifest as a whole.
func (m *Manifest) check() error {
	bad := func(format string, args ...any) error { return malformed(ManifestName, 0, 0, format, args...) }
	if _, err := ParseID(string(m.ID)); err != nil {
		return bad("%v", err)
	}
	if parts := strings.Split(string(m.ID), "/"); len(parts) < 3 || parts[1] != "bundle" {
		return bad("bundle id %q: want <namespace>/bundle/<name>", words.Brief(string(m.ID)))
	}
	if _, ok := parseVersion(m.Version); !ok {
		return bad("bundle version %q is not a semantic version", words.Brief(m.Version))
	}
	if err := m.checkDeps(); err != nil {
		return err
	}
	if m.Origin != nil {
		if err := m.Origin.Check(); err != nil {
			return bad("%v", err)
		}
	}
	if m.Needs.Declared {
		if err := m.Needs.check(); err != nil {
			return err
		}
	}
	if len(m.Files) > MaxBundleFiles {
		return fault.New(fault.Limit, "%s: %d files, at most %d are allowed", ManifestName, len(m.Files), MaxBundleFiles)
	}
	folded := make(map[string]string, len(m.Files))
	total := int64(0)
	for i, f := range m.Files {
		if err := CheckMember(f.Path); err != nil {
			return bad("%v", err)
		}
		if f.Path == ManifestName {
			return bad("the manifest lists itself")
		}
		if i > 0 && m.Files[i-1].Path >= f.Path {
			return bad("%q after %q: files are sorted by path, each once", f.Path, m.Files[i-1].Path)
		}
		if f.Size < 0 || f.Size > MaxBundleFile {
			return fault.New(fault.Limit, "%s: %q has %d bytes, at most %d are allowed", ManifestName, f.Path, f.Size, MaxBundleFile)
		}
		if total += f.Size; total > MaxBundleBytes {
			return fault.New(fault.Limit, "%s: its files have more than %d bytes", ManifestName, MaxBundleBytes)
		}
		if err := collide(folded, f.Path); err != nil {
			return bad("%v", err)
		}
	}
	return nil
}

// collide notes a path and its directories. It refuses two spellings of one name,
// and a name for both a file and a directory.
func collide(folded map[string]string, path string) error {
	for end := len(path); end > 0; end = strings.LastIndexByte(path[:end], '/') {
		name, what := path[:end], path[:end]
		if end < len(path) {
			what += "/" // a directory
		}
		key := fold(name)
		old, seen := folded[key]
		if seen && (old != what || end == len(path)) {
			return fmt.Errorf("%q and %q are one name on some systems", strings.TrimSuffix(old, "/"), path)
		}
		if seen {
			return nil
		}
		folded[key] = what
	}
	return nil
}

// CheckPath refuses a slash path that some system cannot hold or reads differently.
// Names are [A-Za-z0-9_][A-Za-z0-9._-]* of at most 128 bytes, do not end in a dot or
// ".lock", and are not a Windows device. A path has at most 16 names and 512 bytes.
func CheckPath(path string) error {
	bad := func(why string) error { return fault.New(fault.Malformed, "path %q: %s", words.Brief(path), why) }
	if path == "" || len(path) > maxPathLength {
		return bad("want 1 to " + strconv.Itoa(maxPathLength) + " bytes")
	}
	names := strings.Split(path, "/")
	if len(names) > maxPathDepth {
		return bad("more than " + strconv.Itoa(maxPathDepth) + " levels")
	}
	for _, n := range names {
		if why := checkName(n); why != "" {
			return bad(why)
		}
	}
	return nil
}

func checkName(n string) string {
	for i := 0; i < len(n); i++ {
		c := n[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || i > 0 && (c == '.' || c == '-') {
			continue
		}
		return "names are letters, digits, _ . and - (the last two not first)"
	}
	stem, _, _ := strings.Cut(strings.ToLower(n), ".")
	switch {
	case n == "" || len(n) > 128:
		return "a name is empty or longer than 128 bytes"
	case strings.HasSuffix(n, "."):
		return "a name ends in a dot"
	case strings.HasSuffix(strings.ToLower(n), ".lock"):
		return "a name ends in .lock"
	case deviceName(stem):
		return "a name is a device on Windows"
	}
	return ""
}

// BundleError lists the files that differ from a manifest, each list sorted. It comes
// wrapped in a fault.Error with the code Integrity.
type BundleError struct {
	ID      ID
	Extra   []string // in the directory, not in the manifest
	Missing []string // in the manifest, not in the directory
	Changed []string // other bytes, or not a regular file
}

// Error names the first file of each list.
func (e *BundleError) Error() string {
	var parts []string
	for _, l := range []struct {
		word  string
		paths []string
	}{{"changed", e.Changed}, {"missing", e.Missing}, {"extra", e.Extra}} {
		if n := len(l.paths); n == 1 {
			parts = append(parts, fmt.Sprintf("%s: %s", l.word, l.paths[0]))
		} else if n > 1 {
			parts = append(parts, fmt.Sprintf("%s: %s and %d more", l.word, l.paths[0], n-1))
		}
	}
	return fmt.Sprintf("bundle %s: %s", e.ID, strings.Join(parts, "; "))
}

// Check compares every file of fsys, whose root is the manifest's directory, with
// the manifest. It refuses missing, changed and extra files, and anything except
// regular files and directories. It skips the manifest itself, and litter. It does not compare
// modes, because not every disk keeps them. The error wraps a BundleError, or the
// error of fsys.
func (m *Manifest) Check(fsys fs.FS) error {
	return m.Read(fsys, func(File, []byte) error { return nil })
}

// Read is like Check, and passes the bytes of each file to visit, so that a caller
// uses exactly the bytes that were checked. An error from visit ends it. When Read
// fails, the caller must not use the bytes that visit received.
func (m *Manifest) Read(fsys fs.FS, visit func(File, []byte) error) error {
	e := &BundleError{ID: m.ID}
	seen := make(map[string]bool, len(m.Files))
	err := m.walkFiles(fsys, func(path string, d fs.DirEntry) error {
		f, listed := m.File(path)
		if !listed {
			e.Extra = append(e.Extra, path)
			if len(e.Extra) > MaxBundleFiles {
				return fs.SkipAll
			}
			return nil
		}
		seen[path] = true
		if !d.Type().IsRegular() {
			e.Changed = append(e.Changed, path)
			return nil
		}
		data, err := readUpTo(fsys, f.Path, f.Size+1)
		if err != nil {
			return err
		}
		if !f.Matches(data) {
			e.Changed = append(e.Changed, path)
			return nil
		}
		return visit(f, data)
	})
	if err != nil {
		return fmt.Errorf("check bundle %s: %w", m.ID, err)
	}
	for _, f := range m.Files {
		if !seen[f.Path] {
			e.Missing = append(e.Missing, f.Path)
		}
	}
	if len(e.Extra)+len(e.Missing)+len(e.Changed) == 0 {
		return nil
	}
	sort.Strings(e.Extra)
	sort.Strings(e.Changed)
	if m.Origin != nil && len(e.Missing) > 0 && len(e.Changed)+len(e.Extra) == 0 {
		return fault.New(fault.Integrity, "%w", e).Mend("rye pull")
	}
	return fault.New(fault.Integrity, "%w", e).Advise("rye diff %s; then rye sign %[1]s, if the change is yours", m.Ref())
}

// walkFiles calls visit for everything below fsys except directories, the manifest and litter. A
// tree with too many names or levels for any manifest is fault.Limit.
func (m *Manifest) walkFiles(fsys fs.FS, visit func(path string, d fs.DirEntry) error) error {
	names := 0
	return fs.WalkDir(fsys, ".", func(path string, d fs.DirEntry, err error) error {
		names++
		switch {
		case err != nil:
			return err
		case names > 4*MaxBundleFiles, strings.Count(path, "/") > 4*maxPathDepth:
			return fault.New(fault.Limit, "%q: the directory holds more names or levels than a bundle may", words.Brief(path))
		case path == ".", path == ManifestName:
			return nil
		case m.Litter(path) && d.IsDir():
			return fs.SkipDir
		case d.IsDir(), m.Litter(path):
			return nil
		}
		return visit(path, d)
	})
}

// readUpTo returns the file's bytes, at most n.
func readUpTo(fsys fs.FS, path string, n int64) ([]byte, error) {
	r, err := fsys.Open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	size := int64(0)
	if st, err := r.Stat(); err == nil {
		size = min(st.Size(), n)
	}
	b := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead)) // growing would take several times the memory
	_, err = b.ReadFrom(io.LimitReader(r, n))
	return b.Bytes(), err
}

// Matches reports whether data is the file that the manifest lists.
func (f File) Matches(data []byte) bool {
	return int64(len(data)) == f.Size && DigestOf(data) == f.Sum
}

// ManifestOf lists the files of fsys, whose root becomes the manifest's directory. A file is
// executable when its bytes begin with "#!".
func ManifestOf(fsys fs.FS, id ID, version string) (*Manifest, error) {
	var none *Manifest
	return none.Renewed(fsys, id, version, false)
}

// Renewed returns the manifest of the current files. It keeps origin, needs and deps of m, the
// previous manifest, and its version when version is "". m is nil when there was no manifest; then
// the default version is 0.1.0.
//
// A file is executable when its mode on disk says so, which modes makes evidence; else as m lists
// it; else, for a new file, when it begins with "#!". So a mode that a file system or git lost
// takes nothing away.
func (m *Manifest) Renewed(fsys fs.FS, id ID, version string, modes bool) (*Manifest, error) {
	was := Manifest{Version: "0.1.0"}
	if m != nil {
		was = *m
	}
	now := &Manifest{ID: id, Version: cmp.Or(version, was.Version), Origin: was.Origin, Needs: was.Needs, Deps: was.Deps}
	err := m.walkFiles(fsys, func(path string, d fs.DirEntry) error {
		if !d.Type().IsRegular() {
			return fault.New(fault.Malformed, "bundle %s: %q is not a regular file", id, words.Brief(path))
		}
		if err := CheckMember(path); err != nil {
			return err
		}
		b, err := readUpTo(fsys, path, MaxBundleFile+1)
		if err == nil && len(b) > MaxBundleFile {
			err = fault.New(fault.Limit, "%q has more than %d bytes", path, MaxBundleFile)
		}
		if err != nil {
			return err
		}
		f := File{Path: path, Executable: bytes.HasPrefix(b, []byte("#!")), Size: int64(len(b)), Sum: DigestOf(b)}
		if old, listed := m.File(path); listed {
			f.Executable = old.Executable
		}
		if modes && !f.Executable {
			st, err := d.Info()
			if err != nil {
				return err
			}
			f.Executable = st.Mode()&0o111 != 0
		}
		now.Files = append(now.Files, f)
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(now.Files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return now, now.check()
}
