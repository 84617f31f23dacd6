package thread

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/rye-os/rye/agent/journal"
	"github.com/rye-os/rye/agent/provider"
	"github.com/rye-os/rye/internal/place"
)

// copies are what a thread writes for people into .ai/threads/<id>: its records, and what was
// said. Nothing reads them again: whoever wrote into .ai before could have put anything there.
// A thread never ends for them; what cannot be written is said once.
type copies struct {
	records, words *os.File
	failed         error
}

// openCopies makes or opens them. No link is followed, and what is there under the name of a
// thread that begins is somebody else's.
func openCopies(ai, id string, begins bool) *copies {
	c := &copies{}
	if ai == "" {
		return c
	}
	c.failed = c.open(ai, id, begins)
	if c.failed != nil {
		c.close()
	}
	return c
}

func (c *copies) open(ai, id string, begins bool) error {
	root, err := place.Tree(ai)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := makePlain(root, "threads"); err != nil {
		return err
	}
	threads, err := place.Tree(filepath.Join(ai, "threads"))
	if err != nil {
		return err
	}
	defer threads.Close()
	if err := ignored(threads); err != nil {
		return err
	}
	if err := threads.Mkdir(id, 0o700); err != nil && (begins || !os.IsExist(err)) {
		return err
	}
	own, err := place.Tree(filepath.Join(ai, "threads", id))
	if err != nil {
		return err
	}
	defer own.Close()
	if c.records, err = appendTo(own, "transcript.jsonl"); err == nil {
		c.words, err = appendTo(own, "transcript.md")
	}
	return err
}

func makePlain(root *os.Root, name string) error {
	if err := root.Mkdir(name, 0o755); err != nil && !os.IsExist(err) {
		return err
	}
	return nil
}

// ignored keeps the copies out of the user's git, whatever the project's .gitignore says.
func ignored(threads *os.Root) error {
	f, err := threads.OpenFile(".gitignore", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if os.IsExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.WriteString(f, "*\n")
	return err
}

// appendTo opens a regular file for appending.
func appendTo(root *os.Root, name string) (*os.File, error) {
	if st, err := root.Lstat(name); err == nil && !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", filepath.Join(root.Name(), name))
	}
	return root.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
}

// record copies a record, and what it says in words.
func (c *copies) record(h *history, r journal.Record) {
	if c.failed != nil || c.records == nil {
		return
	}
	line, err := r.Line()
	if err == nil {
		_, err = c.records.Write(line)
	}
	if err == nil {
		_, err = io.WriteString(c.words, inWords(h, r))
	}
	c.failed = err
}

// inWords is a record for a person; "" for what is of no interest.
func inWords(h *history, r journal.Record) string {
	switch r.Type {
	case "thread_started":
		return "# thread " + r.Thread + "\n"
	case "cognition_in", "cognition_out":
		if len(h.said) == 0 || h.said[len(h.said)-1].seq != r.Seq {
			return ""
		}
		return saidInWords(h.said[len(h.said)-1])
	case "tool_call_result":
		var id string
		if h.member(r, "call_id", &id) != nil || h.results[id] == nil {
			return ""
		}
		res := h.results[id]
		return "\n" + strings.TrimSpace(fenced("", clip(strings.TrimSpace(res.Error+"\n"+res.Text), 4000))) + "\n"
	case journal.Completed, journal.Cancelled, journal.Failed, journal.Suspended:
		return "\n## " + strings.ReplaceAll(r.Type, "_", " ") + "\n"
	}
	return ""
}

func saidInWords(s said) string {
	var b strings.Builder
	if s.role == provider.Assistant {
		b.WriteString("\n## model\n")
	} else {
		b.WriteString("\n## told\n")
	}
	for _, p := range s.parts {
		if p.Text != "" {
			b.WriteString("\n" + strings.TrimSpace(p.Text) + "\n")
		}
	}
	for _, c := range s.calls {
		fmt.Fprintf(&b, "\n### %s\n\n%s\n", c.Name, fenced("json", string(c.Args)))
	}
	return b.String()
}

func (c *copies) close() {
	for _, f := range []*os.File{c.records, c.words} {
		if f != nil {
			f.Close()
		}
	}
	c.records, c.words = nil, nil
}
