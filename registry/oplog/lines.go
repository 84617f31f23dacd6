package oplog

import (
	"bytes"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// Same reports whether two lines describe one version as it was published; their statuses may
// differ.
func (a *Entry) Same(b *Entry) bool {
	x, y := *a, *b
	x.Status, x.Reason, y.Status, y.Reason = StatusOK, "", StatusOK, ""
	return bytes.Equal(x.AppendLine(nil), y.AppendLine(nil))
}

// CheckLine refuses a line that contradicts the log, as far as the keys show it.
func (s State) CheckLine(e *Entry) error {
	wrong := func(format string, args ...any) error {
		return fault.New(fault.Integrity, "%s: "+format, append([]any{e.Name()}, args...)...)
	}
	if e.Ref.ID.Namespace() != s.Namespace || e.Seq > s.Seq {
		return wrong("its line belongs to another log")
	}
	for _, fp := range []objects.Fingerprint{e.Author, e.Publisher} {
		i := findKey(s.keys, fp)
		if i < 0 || s.keys[i].Added >= e.Seq {
			return wrong("signed by %s, which was not a key of %s at operation %d", fp, s.Namespace, e.Seq)
		}
	}
	if dropped(s.keys, e.Publisher, e.Seq) {
		return wrong("published by operation %d, which was dropped with its key", e.Seq)
	}
	if s.Bad(e) && !e.Status.Gone() {
		return wrong("is called %s, and a key that signed it was revoked from before it on", e.Status)
	}
	return nil
}

// Visit calls visit for every entry of a shard, and keeps nothing of it in memory.
func (s State) Visit(sh *Shard, visit func(*Entry) error) error {
	rows, err := lazyShard(sh.at, s.from).Get()
	for _, row := range rows {
		if err == nil {
			err = s.CheckLine(row.Entry)
		}
		if err == nil {
			err = visit(row.Entry)
		}
	}
	return err
}
