package aside

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/workspace/internal/session"
)

// Restore shows what runs left, and with paths puts it back or ends the notices about it. It
// overwrites nothing.
func Restore(ctx context.Context, s *session.Session, q rye.TakenRequest) (*rye.TakenReport, error) {
	all, err := All(s)
	if err != nil && len(all) == 0 {
		return nil, err
	}
	if q.Dismiss {
		all = slices.DeleteFunc(all, func(n *Notice) bool { return n.Dismissed })
	}
	chosen, missing := choose(all, q)
	if len(missing) > 0 {
		return nil, fault.New(fault.NotFound, "restore --taken: rye has moved away nothing called %s", words.Brief(missing[0])).Advise("rye restore --taken shows what there is")
	}
	rep := &rye.TakenReport{DryRun: q.DryRun}
	switch {
	case q.Dismiss:
		return rep, dismiss(rep, chosen, q)
	case len(q.Paths) == 0:
		for _, c := range chosen {
			rep.Notices = append(rep.Notices, c.show())
		}
		return rep, err
	}
	return rep, putBack(ctx, s, rep, chosen, q)
}

// A choice is a part of a notice.
type choice struct {
	*Notice
	things []Thing
}

// choose returns the things that a request names, and the names without a thing. A directory names
// what was in it.
func choose(all []*Notice, q rye.TakenRequest) (chosen []choice, missing []string) {
	found := map[string]bool{}
	for _, n := range all {
		c := choice{Notice: n}
		for _, t := range n.Things {
			named := len(q.Paths) == 0
			for _, p := range q.Paths {
				if clean := path.Clean(filepath.ToSlash(p)); t.Path == clean || strings.HasPrefix(t.Path, clean+"/") {
					found[p], named = true, true
				}
			}
			if named {
				c.things = append(c.things, t)
			}
		}
		if len(c.things) > 0 {
			chosen = append(chosen, c)
		}
	}
	for _, p := range q.Paths {
		if !found[p] {
			missing = append(missing, p)
		}
	}
	return chosen, missing
}

func dismiss(rep *rye.TakenReport, chosen []choice, q rye.TakenRequest) error {
	for _, c := range chosen {
		rep.Dismissed = append(rep.Dismissed, c.info()...)
		if q.DryRun {
			continue
		}
		if len(c.things) == len(c.Things) {
			if err := c.Dismiss(); err != nil {
				return err
			}
			continue
		}
		for _, t := range c.things { // a part of a notice ends; the files stay
			if err := c.drop(t); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c choice) info() []rye.TakenInfo { return (&Notice{Things: c.things}).Info() }

// show returns a notice with the content of its files.
func (c choice) show() rye.TakenNotice {
	n := rye.TakenNotice{Tool: c.Tool, At: c.At.UTC().Format("2006-01-02T15:04:05Z"), Killed: c.Killed, Dismissed: c.Dismissed}
	for _, t := range c.things {
		n.Things = append(n.Things, rye.TakenContent{TakenInfo: rye.TakenInfo{Path: t.Path, Kind: t.Kind, How: t.How, Where: t.File, Need: t.Need}, Lines: content(t)})
	}
	return n
}

// Bounds of the shown content of one thing.
const (
	maxLines = 60
	maxShown = 64 << 10 // bytes read of one file
	maxFiles = 200      // names looked at
)

// content returns the text of a moved file, or of the files in a moved directory.
func content(t Thing) (lines []string) {
	if t.File == "" {
		return nil
	}
	root, err := place.Tree(filepath.Dir(t.File))
	if err != nil {
		return []string{"(it is no longer there)"}
	}
	defer root.Close()
	top, seen := filepath.Base(t.File), 0
	err = fs.WalkDir(root.FS(), top, func(name string, d fs.DirEntry, err error) error {
		if seen++; seen > maxFiles || len(lines) > maxLines {
			lines = append(lines, "…")
			return fs.SkipAll
		}
		switch {
		case err != nil:
			lines = append(lines, "("+name+" cannot be read)")
		case d.Type() == fs.ModeSymlink:
			to, _ := root.Readlink(name)
			lines = append(lines, name+" -> "+to)
		case d.Type().IsRegular():
			if name != top {
				lines = append(lines, name+":")
			}
			lines = append(lines, textOf(root, name)...)
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return []string{"(it is no longer there)"}
	}
	for i, l := range lines {
		lines[i] = words.Clip(words.Printable(l), 500)
	}
	return lines
}

func textOf(root *os.Root, name string) []string {
	raw, err := place.ReadIn(root, name, maxShown)
	switch {
	case fault.Is(err, fault.Limit):
		return []string{fmt.Sprintf("(more than %d bytes)", maxShown)}
	case err != nil:
		return []string{"(it cannot be read)"}
	case !utf8.Valid(raw) || strings.ContainsRune(string(raw), 0):
		return []string{fmt.Sprintf("(%s that are no text)", words.Plural(len(raw), "byte"))}
	}
	all := strings.Split(strings.TrimSuffix(string(raw), "\n"), "\n")
	if len(all) > maxLines {
		all = append(all[:maxLines], fmt.Sprintf("… %s more", words.Plural(len(all)-maxLines, "line")))
	}
	return all
}

// putBack asks, and then moves things back to where they were.
func putBack(ctx context.Context, s *session.Session, rep *rye.TakenReport, chosen []choice, q rye.TakenRequest) error {
	var lines, names []string
	for _, c := range chosen {
		for _, t := range c.show().Things {
			lines = append(lines, t.Path+"  ("+t.Kind+", while "+c.Tool+" ran)")
			for _, l := range t.Lines {
				lines = append(lines, "  | "+l)
			}
			names = append(names, t.Path)
		}
	}
	if !q.DryRun {
		ask := rye.Question{Topic: "put them back", Text: "Other programs run " + words.Plural(len(names), "path") + " by themselves. Put them back into the project?", Lines: lines,
			Mend: fault.CommandOf(append([]string{"rye", "restore", "--taken", "--yes"}, names...)...)}
		if err := s.Ask(ctx, ask); err != nil {
			return err
		}
	}
	root, err := place.Tree(s.ProjectDir)
	if err != nil {
		return err
	}
	defer root.Close()
	var failed []error
	for _, c := range chosen {
		for _, t := range c.things {
			info := rye.TakenInfo{Path: t.Path, Kind: t.Kind, How: t.How, Where: t.File, Need: t.Need}
			if err := c.restore(root, t, q.DryRun); err != nil {
				failed = append(failed, err)
				continue
			}
			rep.Restored = append(rep.Restored, info)
		}
	}
	return errors.Join(failed...)
}

// restore puts one thing back.
func (n *Notice) restore(root *os.Root, t Thing, dry bool) error {
	to := filepath.FromSlash(t.Path)
	if !filepath.IsLocal(to) {
		return fault.New(fault.Malformed, "restore --taken %s: it is no path of the project", words.Brief(t.Path))
	}
	if t.File == "" {
		return fault.New(fault.NotFound, "restore --taken %s: it had no content, and nothing was kept", words.Brief(t.Path)).Mend("rye restore --taken --dismiss %s", t.Path)
	}
	if _, err := root.Lstat(to); err == nil {
		return fault.New(fault.Conflict, "restore --taken %s: there is another file in its place", words.Brief(t.Path)).Advise("compare it with %s", t.File)
	}
	if _, err := os.Lstat(t.File); err != nil {
		return fault.New(fault.NotFound, "restore --taken %s: %w", words.Brief(t.Path), err).Mend("rye restore --taken --dismiss %s", t.Path)
	}
	if dry {
		return nil
	}
	if err := root.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return fault.New(fault.Failed, "restore --taken %s: %w", words.Brief(t.Path), err)
	}
	c := copier{root: root, left: maxCopied}
	from, err := place.Tree(filepath.Dir(t.File))
	if err == nil {
		err = c.copy(from, filepath.Base(t.File), to)
		from.Close()
	}
	if err != nil {
		if c.made {
			root.RemoveAll(to)
		}
		return fault.New(fault.Failed, "restore --taken %s: %w", words.Brief(t.Path), err).Advise("it is still at %s", t.File)
	}
	if err := os.RemoveAll(t.File); err != nil {
		return err
	}
	return n.drop(t)
}

// drop removes a thing from a notice, and the notice with the last one.
func (n *Notice) drop(t Thing) error {
	n.Things = slices.DeleteFunc(n.Things, func(o Thing) bool { return o == t })
	if len(n.Things) > 0 {
		return n.write()
	}
	if err := os.Remove(filepath.Join(n.dir, noticeName)); err != nil {
		return err
	}
	_ = removeEmpty(n.dir)
	return nil
}

// removeEmpty removes a directory that holds nothing but empty directories.
func removeEmpty(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.IsDir() {
			return fs.ErrExist
		}
		if err := removeEmpty(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return os.Remove(dir)
}

const maxCopied = 1 << 30 // bytes

// A copier copies a tree into the project. It follows no link, and replaces nothing.
type copier struct {
	root *os.Root
	left int64 // bytes
	made bool  // something that has to go if the copy fails
}

func (c *copier) copy(from *os.Root, name, to string) error {
	st, err := from.Lstat(name)
	if err != nil {
		return err
	}
	switch st.Mode().Type() {
	case fs.ModeSymlink:
		target, err := from.Readlink(name)
		if err != nil {
			return err
		}
		if err = c.root.Symlink(target, to); err == nil {
			c.made = true
		}
		return err
	case fs.ModeDir:
		if err := c.root.Mkdir(to, 0o755); err != nil {
			return err
		}
		c.made = true
		d, err := from.Open(name)
		if err != nil {
			return err
		}
		names, err := d.Readdirnames(-1)
		d.Close()
		for _, n := range names {
			if err == nil {
				err = c.copy(from, filepath.Join(name, n), filepath.Join(to, n))
			}
		}
		return err
	case 0:
		return c.file(from, name, to, st)
	}
	return nil
}

func (c *copier) file(from *os.Root, name, to string, st fs.FileInfo) error {
	if c.left -= st.Size(); c.left < 0 {
		return fault.New(fault.Limit, "it has more than %d bytes", maxCopied)
	}
	in, err := from.Open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := c.root.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, st.Mode().Perm()&0o755|0o600)
	if err != nil {
		return err
	}
	c.made = true
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// Ask shows a person at a terminal what a run left, and puts it back if the person agrees. It reports
// whether everything is back. Without an answer the notice stays.
func Ask(ctx context.Context, s *session.Session, n *Notice) (back bool) {
	var lines []string
	for _, t := range (choice{n, n.Things}).show().Things {
		lines = append(lines, fmt.Sprintf("%s  (%s, %s)", t.Path, t.How, t.Kind))
		for _, l := range t.Lines {
			lines = append(lines, "  | "+l)
		}
	}
	yes, err := session.Put(ctx, s.Host, rye.Question{
		Topic: "put them back", Person: true, Typed: true,
		Text:  "Other programs run these by themselves, and they appeared while " + n.Tool + " ran. They were moved away. Put them back?",
		Lines: lines, Mend: fault.Command("rye restore --taken"),
	})
	if err != nil {
		return false
	}
	if !yes {
		if err := n.Dismiss(); err != nil {
			s.Tell("files that rye moved away: " + err.Error())
		}
		return false
	}
	root, err := place.Tree(s.ProjectDir)
	if err == nil {
		defer root.Close()
		for _, t := range slices.Clone(n.Things) {
			err = errors.Join(err, n.restore(root, t, false))
		}
	}
	if err != nil {
		s.Tell(err.Error())
	}
	return err == nil
}
