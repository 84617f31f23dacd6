package space

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store"
)

// The intent of a change is a file in the store. It exists from before the first change of a
// file or ref until after the last; docs/format/record.md describes it.
const (
	intentName = "rye-change"
	intentLock = intentName + ".held" // locked by the process that changes the record
	maxIntent  = 64 << 20             // bytes: MaxFiles files with long names
	maxHead    = 32 << 10             // bytes of its first four lines
)

// Change changes files and commits changes of the record: both, or neither. A file with Was must
// still have that content (fault.Conflict). After an error
// files and record are as before. After a kill the next Change or Record of the layer finishes
// a committed change. Until then, or until every file has changed, the record reads as before.
// The first line of the message names the change for people.
func (l *Layer) Change(ctx context.Context, files, record []store.Change, o store.CommitOptions) (store.OID, error) {
	unlock, err := alone(ctx, l)
	if err != nil {
		return store.OID{}, err
	}
	defer unlock()
	w, err := l.plan(files, record, words.Brief(words.FirstLine(o.Message)))
	if err != nil {
		return store.OID{}, err
	}
	err = w.stage(ctx)
	if err == nil {
		err = w.begin()
	}
	var id store.OID
	if err == nil {
		id, err = l.repo.Edit(ctx, l.Ref(), record, o)
	}
	if err == nil {
		err = w.apply()
	}
	if err != nil {
		return store.OID{}, w.takeBack(context.WithoutCancel(ctx), err, o)
	}
	return id, w.end()
}

// alone locks the layer's record for this process until unlock. It finishes the change of a
// killed process first.
func alone(ctx context.Context, l *Layer) (unlock func(), err error) {
	if err := l.Create(); err != nil {
		return nil, err
	}
	if unlock, err = place.Lock(ctx, filepath.Join(l.Store, intentLock)); err != nil {
		return nil, err
	}
	if _, err = finish(l); err != nil {
		unlock()
		return nil, err
	}
	return unlock, nil
}

// Finish finishes the change of a killed process, or drops it if it was not committed. It
// returns the name of the finished change; "" for none.
func Finish(ctx context.Context, l *Layer) (what string, err error) {
	if what, err := l.Unfinished(); what == "" || err != nil {
		return "", err
	}
	unlock, err := place.Lock(ctx, filepath.Join(l.Store, intentLock))
	if err != nil {
		return "", err
	}
	defer unlock()
	return finish(l)
}

// Unfinished returns the name of a change that has begun and not ended; "" for none. Its
// process was killed, or is still working.
func (l *Layer) Unfinished() (what string, err error) {
	if err := l.load(); err != nil {
		return "", err
	}
	w, err := l.begun()
	if w == nil || err != nil {
		return "", err
	}
	return w.what, nil
}

// finish is Finish for a caller that holds the lock.
func finish(l *Layer) (what string, err error) {
	raw, err := place.Read(intentPath(l), maxIntent)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	w, err := parseIntent(l, string(raw))
	if err != nil {
		return "", err
	}
	committed, err := w.committed()
	if err != nil {
		return "", err
	}
	if committed {
		what = w.what
		if err := w.put(false); err != nil {
			return "", fault.Wrap(err, "finish the interrupted %q", what)
		}
	}
	return what, w.end()
}

// begun reads the head of the intent and the file that changes last; nil if there is no
// intent.
func (l *Layer) begun() (*work, error) {
	if l.repo == nil {
		return nil, nil
	}
	f, err := place.Open(intentPath(l))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.New(fault.Failed, "read %s: %w", intentPath(l), err).Mend("chmod -R u+rwX %s", l.Store)
	}
	defer f.Close()
	head := make([]byte, maxHead)
	n, err := f.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fault.New(fault.Failed, "read %s: %w", intentPath(l), err)
	}
	w, rest, err := parseHead(l, string(head[:n]))
	if err != nil {
		return nil, err
	}
	if last, isFile, ok := parsePath(l, words.FirstLine(rest)); ok && isFile {
		w.files = []changing{last}
	}
	return w, nil
}

// before returns the commit for judging files during an unfinished change: the one before the
// change, as long as not all files have changed. ok is false if the ref's commit applies.
func before(l *Layer) (tip store.OID, ok bool, err error) {
	w, err := l.begun()
	if w == nil || err != nil {
		return tip, false, err
	}
	if len(w.files) > 0 {
		is, _, err := contentAt(l, w.files[0].path)
		if err != nil || is == w.files[0].after {
			return tip, false, err
		}
	}
	return w.tip, true, nil
}

func intentPath(l *Layer) string { return filepath.Join(l.Store, intentName) }

// work is one change in progress.
type work struct {
	l      *Layer
	what   string
	tip    store.OID // the commit before it; zero for none
	files  []changing
	modes  []changing // files whose modes alone change, after everything else
	record []changing // paths of the record: their contents only
	made   []string   // created folders, each after its parent
	begun  bool       // files may have changed
}

// changing is a path that a change affects.
type changing struct {
	path          string
	before, after content
	mode          fs.FileMode // before
	wanted        store.Mode  // after; zero follows the content
	was, data     []byte      // the bytes before and after; nil if read from an intent
	temp          string      // the staged file
}

// turn orders files: new files come before removals, and a manifest after the files that it
// lists.
func (f *changing) turn() int {
	switch {
	case f.after == vacant:
		return 2
	case path.Base(f.path) == objects.ManifestName:
		return 1
	}
	return 0
}

// content is the content at a path: the id of a blob, vacant or notPlain.
type content string

const (
	vacant   content = "-"
	notPlain content = "?" // a link, or a file too large to be an item
)

func contentOf(id store.OID) content {
	if id.IsZero() {
		return vacant
	}
	return content(id.String())
}

// id returns the id of the blob; zero for vacant.
func (c content) id() store.OID {
	id, _ := store.ParseOID(string(c))
	return id
}

// contentAt returns the current content at p.
func contentAt(l *Layer, p string) (content, []byte, error) {
	raw, err := l.Read(p)
	switch {
	case err == nil:
		return contentOf(l.BlobID(raw)), raw, nil
	case errors.Is(err, fs.ErrNotExist):
		return vacant, nil, nil
	case fault.Is(err, fault.Malformed), fault.Is(err, fault.Limit):
		return notPlain, nil, nil
	}
	return "", nil, err
}

// recordedAt returns the content that the layer's ref has at each path, and the ref's commit.
func recordedAt(l *Layer, paths []changing) (all []content, tip store.OID, err error) {
	all = make([]content, len(paths))
	tip, err = l.repo.Ref(l.Ref())
	if errors.Is(err, store.ErrNotExist) {
		for i := range all {
			all[i] = vacant
		}
		return all, tip, nil
	}
	if err != nil {
		return nil, tip, err
	}
	c, err := l.repo.Commit(tip)
	if err != nil {
		return nil, tip, l.damaged(err)
	}
	for i := range paths {
		e, err := l.repo.Lookup(c.Tree, paths[i].path)
		if err != nil && !errors.Is(err, store.ErrNotExist) {
			return nil, tip, l.damaged(err)
		}
		all[i] = contentOf(e.ID)
	}
	return all, tip, nil
}

// plan reads the current content of all paths that will change.
func (l *Layer) plan(files, record []store.Change, what string) (*work, error) {
	w := &work{l: l, what: what}
	for _, c := range files {
		f := changing{path: c.Path, after: vacant, data: c.Data, wanted: c.Mode}
		if !c.Delete {
			f.after = contentOf(l.BlobID(c.Data))
			if err := l.Free(c.Path); err != nil {
				return nil, err
			}
		}
		var err error
		if f.before, f.was, err = contentAt(l, c.Path); err != nil {
			return nil, err
		}
		if st, err := l.root.Lstat(c.Path); err == nil {
			f.mode = st.Mode().Perm()
		}
		if c.Was != nil && f.before != contentOf(*c.Was) {
			return nil, fault.New(fault.Conflict, ".ai/%s changed since rye read it, so nothing was written", c.Path).Advise("look at it again")
		}
		switch {
		case f.before != f.after:
			w.files = append(w.files, f)
		case f.after != vacant && c.Mode != 0 && (f.mode&0o100 != 0) != (c.Mode == store.ModeExec):
			w.modes = append(w.modes, f)
		}
	}
	slices.SortStableFunc(w.files, func(a, b changing) int { return a.turn() - b.turn() })
	for _, c := range record {
		if c.Was != nil {
			continue // this change may be skipped
		}
		f := changing{path: c.Path, after: vacant}
		if !c.Delete {
			if f.after = contentOf(c.ID); c.ID.IsZero() {
				f.after = contentOf(l.BlobID(c.Data))
			}
		}
		w.record = append(w.record, f)
	}
	held, tip, err := recordedAt(l, w.record)
	for i := range held {
		w.record[i].before = held[i]
	}
	w.tip = tip
	return w, err
}

// stage writes the new files under temporary names, and tests that files can be removed.
func (w *work) stage(ctx context.Context) error {
	wait, tried := WaitFor(len(w.files)), map[string]bool{}
	for i := range w.files {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		f := &w.files[i]
		dir := path.Dir(f.path)
		if f.after == vacant {
			if !tried[dir] {
				probe, name, err := createTemp(w.l.root, dir, 0o600)
				if err != nil {
					return fmt.Errorf("remove .ai/%s: %w", f.path, err)
				}
				probe.Close()
				if err := w.l.root.Remove(name); err != nil {
					return fmt.Errorf("remove .ai/%s: %w", f.path, err)
				}
				tried[dir] = true
			}
			continue
		}
		var err error
		if f.temp, err = w.stageFile(f, wait); err != nil {
			return fmt.Errorf("write .ai/%s: %w", f.path, err)
		}
		tried[dir] = true
	}
	return nil
}

// stageFile writes one file. It gets the wanted mode, else that of the file that it replaces. A
// new file gets 0644, or 0755 if it begins with "#!". A file that becomes a script, or stops being
// one, gets the mode of a new file.
func (w *work) stageFile(f *changing, wait Wait) (temp string, err error) {
	dir := path.Dir(f.path)
	for up := dir; up != "."; up = path.Dir(up) {
		if _, err := w.l.root.Lstat(up); err == nil {
			break
		}
		w.made = append(w.made, up)
	}
	if err := makeFolders(w.l.root, dir); err != nil {
		return "", err
	}
	mode := freshMode(f.data)
	switch {
	case f.wanted != 0:
		mode = fs.FileMode(f.wanted) & fs.ModePerm
	case f.before != vacant && f.before != notPlain && freshMode(f.was) == mode:
		mode = f.mode
	}
	file, temp, err := createTemp(w.l.root, dir, mode)
	if err != nil {
		return "", err
	}
	_, err = file.Write(f.data)
	if err == nil && wait != WaitNone {
		err = synced(file, temp)
	}
	return temp, cmp.Or(err, file.Close())
}

// begin writes the intent.
func (w *work) begin() error {
	raw := w.encode()
	if len(raw) > maxIntent {
		return fault.New(fault.Limit, "%s: too many files for one change", w.what).Advise("name fewer at a time")
	}
	return place.File(intentPath(w.l), raw, 0o600)
}

// apply moves the staged files into place and performs the removals.
func (w *work) apply() error {
	w.begun = true
	for i := range w.files {
		f := &w.files[i]
		if f.after == vacant {
			if err := w.l.Remove(f.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("remove .ai/%s: %w", f.path, err)
			}
			continue
		}
		if err := w.l.root.Rename(f.temp, f.path); err != nil {
			return fmt.Errorf("write .ai/%s: %w", f.path, err)
		}
		f.temp = ""
	}
	for i := range w.modes {
		if err := w.setMode(&w.modes[i]); err != nil {
			return err
		}
	}
	return w.syncNames()
}

// setMode gives a file the wanted mode, and nobody a right to read it who had none.
func (w *work) setMode(f *changing) error {
	st, err := w.l.root.Lstat(f.path)
	if err != nil || !st.Mode().IsRegular() {
		return err
	}
	mode := st.Mode().Perm() &^ 0o111
	if f.wanted == store.ModeExec {
		mode |= mode >> 2 & 0o111
	}
	return w.l.root.Chmod(f.path, mode)
}

func (w *work) syncNames() error {
	names := make([]store.Change, len(w.files))
	for i := range w.files {
		names[i].Path = w.files[i].path
	}
	return w.l.SyncNames(names...)
}

// put changes each file that still has its content from before to the new content; with back,
// the reverse. It leaves files that were changed since.
func (w *work) put(back bool) error {
	for i := range w.files {
		f := &w.files[i]
		from, to, raw := f.before, f.after, f.data
		if back {
			from, to, raw = f.after, f.before, f.was
		}
		is, _, err := contentAt(w.l, f.path)
		if err != nil {
			return err
		}
		if is != from || is == to || to == notPlain {
			continue
		}
		if err := w.putFile(f, to, raw, back); err != nil {
			return fmt.Errorf(".ai/%s: %w", f.path, err)
		}
	}
	return w.syncNames()
}

func (w *work) putFile(f *changing, to content, raw []byte, back bool) (err error) {
	if to == vacant {
		return w.l.Remove(f.path)
	}
	if raw == nil {
		if raw, err = w.l.repo.Blob(to.id(), MaxItem); err != nil {
			return w.l.damaged(err)
		}
	}
	if err := w.l.Write(f.path, raw, WaitFile); err != nil {
		return err
	}
	if back {
		return w.l.root.Chmod(f.path, f.mode)
	}
	if f.wanted = w.recordedMode(f.path); f.wanted == 0 {
		return nil
	}
	return w.setMode(f)
}

// recordedMode returns the mode that the record has for a path below bundles/; zero for any other
// path, whose mode follows its content.
func (w *work) recordedMode(p string) store.Mode {
	if _, in := objects.InBundles(p); !in {
		return 0
	}
	tip, err := w.l.repo.Ref(w.l.Ref())
	if err != nil {
		return 0
	}
	c, err := w.l.repo.Commit(tip)
	if err != nil {
		return 0
	}
	e, err := w.l.repo.Lookup(c.Tree, p)
	if err != nil || !e.Mode.IsFile() {
		return 0
	}
	return e.Mode
}

// committed reports whether the record holds the new content.
func (w *work) committed() (bool, error) {
	held, _, err := recordedAt(w.l, w.record)
	for i := range held {
		if held[i] != w.record[i].after {
			return false, nil
		}
	}
	return err == nil, err
}

// takeBack restores record and files, and returns cause. If that fails, the intent stays, and
// the next change finishes a committed change.
func (w *work) takeBack(ctx context.Context, cause error, o store.CommitOptions) error {
	err := w.revert(ctx, o)
	if err == nil && w.begun {
		err = w.put(true)
	}
	w.unstage()
	if err == nil {
		err = w.end()
	}
	if err != nil {
		return fault.New(fault.CodeOf(cause), "%w; and rye cannot undo it: %v", cause, err).Advise("make room, or the directories writable, then rye status")
	}
	return cause
}

// revert records the old content again.
func (w *work) revert(ctx context.Context, o store.CommitOptions) error {
	held, tip, err := recordedAt(w.l, w.record)
	if err != nil || tip == w.tip {
		return err
	}
	var changes []store.Change
	for i, f := range w.record {
		if held[i] == f.after && f.before != f.after {
			was := f.after.id()
			changes = append(changes, store.Change{Path: f.path, ID: f.before.id(), Delete: f.before == vacant, Was: &was})
		}
	}
	if len(changes) == 0 {
		return nil
	}
	o.Message = "take back: " + o.Message
	_, err = w.l.repo.Edit(ctx, w.l.Ref(), changes, o)
	return err
}

// unstage removes staged files that are not in place, and the folders that were created for
// them.
func (w *work) unstage() {
	for _, f := range w.files {
		if f.temp != "" {
			w.l.root.Remove(f.temp)
		}
	}
	slices.SortFunc(w.made, func(a, b string) int { return strings.Compare(b, a) }) // deeper folders come first
	for _, dir := range w.made {
		w.l.root.Remove(dir) // fails, as intended, if it is not empty
	}
}

// end removes the intent.
func (w *work) end() error {
	if err := os.Remove(intentPath(w.l)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fault.New(fault.Failed, "end %q: %w", w.what, err)
	}
	return nil
}

// encode returns the intent's file.
func (w *work) encode() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "rye-change 1\nwhat %s\ntip %s\n", strconv.Quote(w.what), contentOf(w.tip))
	for _, f := range slices.Backward(w.files) {
		fmt.Fprintf(&b, "file %04o %s %s %s\n", f.mode, f.before, f.after, strconv.Quote(f.path))
	}
	for _, f := range w.record {
		fmt.Fprintf(&b, "record %s %s %s\n", f.before, f.after, strconv.Quote(f.path))
	}
	b.WriteString("end\n")
	return []byte(b.String())
}

func badIntent(l *Layer, why string) error {
	return fault.New(fault.Malformed, "read %s: %s", intentPath(l), why).Advise("look at rye log, then remove that file")
}

// parseHead reads the first three lines of an intent.
func parseHead(l *Layer, text string) (w *work, rest string, err error) {
	w = &work{l: l}
	first, text, _ := strings.Cut(text, "\n")
	what, text, _ := strings.Cut(text, "\n")
	tip, rest, ok := strings.Cut(text, "\n")
	if first != "rye-change 1" || !ok {
		return nil, "", badIntent(l, "it is not one of format 1")
	}
	what, is := strings.CutPrefix(what, "what ")
	if w.what, err = strconv.Unquote(what); err != nil || !is {
		return nil, "", badIntent(l, "line 2 is not a name")
	}
	tip, is = strings.CutPrefix(tip, "tip ")
	if !is || !isContent(l, content(tip)) || content(tip) == notPlain {
		return nil, "", badIntent(l, "line 3 is not a commit")
	}
	w.tip = content(tip).id()
	return w, rest, nil
}

// parseIntent reads an intent.
func parseIntent(l *Layer, text string) (*work, error) {
	w, rest, err := parseHead(l, text)
	if err != nil {
		return nil, err
	}
	rest, ok := strings.CutSuffix(rest, "end\n")
	if !ok {
		return nil, badIntent(l, "its end is missing")
	}
	for line := range strings.Lines(rest) {
		f, isFile, ok := parsePath(l, strings.TrimSuffix(line, "\n"))
		switch {
		case !ok:
			return nil, badIntent(l, fmt.Sprintf("line %q", words.Brief(line)))
		case isFile:
			w.files = append(w.files, f)
		default:
			w.record = append(w.record, f)
		}
	}
	if slices.Reverse(w.files); string(w.encode()) != text {
		return nil, badIntent(l, "it is not in canonical form")
	}
	return w, nil
}

func parsePath(l *Layer, line string) (f changing, isFile, ok bool) {
	kind, line, _ := strings.Cut(line, " ")
	if isFile = kind == "file"; isFile {
		var mode string
		mode, line, _ = strings.Cut(line, " ")
		n, err := strconv.ParseUint(mode, 8, 9)
		if f.mode = fs.FileMode(n); err != nil {
			return f, isFile, false
		}
	} else if kind != "record" {
		return f, isFile, false
	}
	before, line, _ := strings.Cut(line, " ")
	after, quoted, _ := strings.Cut(line, " ")
	var err error
	f.before, f.after = content(before), content(after)
	f.path, err = strconv.Unquote(quoted)
	return f, isFile, err == nil && fs.ValidPath(f.path) && f.path != "." && isContent(l, f.before) && isContent(l, f.after) && f.after != notPlain
}

func isContent(l *Layer, c content) bool {
	if c == vacant || c == notPlain {
		return true
	}
	id, err := store.ParseOID(string(c))
	return err == nil && !id.IsZero() && len(c) == len(l.BlobID(nil).String())
}
