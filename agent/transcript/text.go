package transcript

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/rye-os/rye/agent/journal"
)

// Bounds of the searched part of one turn, in bytes.
const (
	maxText   = 4 << 20  // of its texts, and of one text in an artifact
	maxLooked = 64 << 20 // of its records
	maxDepth  = 64       // levels of a tool's input
)

// searched are the members of each type of record whose texts are searched: the texts that were
// said, asked for and answered, each once. The text of thread_completed repeats an answer, so it is
// left out. Texts about money, loops and gates are left out too.
var searched = func() map[string][]string {
	all := map[string][]string{}
	for line := range strings.Lines(`
thread_started directive
thread_suspended suspend_reason detail
thread_completed outputs
thread_cancelled reason
thread_error error_code message
cognition_in text
cognition_out text
tool_call_start tool input
tool_call_result output error
approval_requested topic text
inbox_message from text
narrowed denied
child_thread_started child_directive
warning text
`) {
		if f := strings.Fields(line); len(f) > 0 {
			all[f[0]] = f[1:]
		}
	}
	return all
}()

// text is the text of one turn, line by line, with the record of each line.
type text struct {
	body  strings.Builder
	seqs  []int64 // of the records, by line
	whole bool    // false if the turn has changed since the look
	cut   bool    // only the beginning is here
}

// read reads a turn of a thread. It leaves out unreadable parts.
func (p *spot) read(ctx context.Context, dir string) *text {
	x := &text{}
	end := journal.Place{Offset: p.from.Offset + p.turn.bytes}
	at, err := journal.ReadFrom(ctx, dir, p.from, func(r journal.Record, at journal.Place) error {
		x.add(dir, r)
		if at.Offset-p.from.Offset > maxLooked {
			x.cut = true
		}
		if x.cut || at.Offset >= end.Offset {
			return errRest
		}
		return nil
	})
	x.whole = errors.Is(err, errRest) && (x.cut || at.Offset == end.Offset && at.Sum == p.turn.sum)
	return x
}

// add adds the text of a record.
func (x *text) add(dir string, r journal.Record) {
	members := searched[r.Type]
	if members == nil {
		return
	}
	payload, err := journal.Members(dir, r)
	if err != nil {
		return
	}
	for _, name := range members {
		raw, err := payload.JSON(name, maxText)
		var v any
		if err != nil || json.Unmarshal(raw, &v) != nil {
			continue // the record lacks it, or its artifact is too large or gone
		}
		x.value(r.Seq, "", v, 0)
	}
}

// value adds the texts of a value. A text in an object follows its name.
func (x *text) value(seq int64, name string, v any, depth int) {
	switch v := v.(type) {
	case nil:
	case string:
		if inside, ok := parsed(v); ok && depth < maxDepth {
			x.value(seq, name, inside, depth+1)
		} else {
			x.lines(seq, name, v)
		}
	case []any:
		for _, one := range v {
			if depth < maxDepth {
				x.value(seq, name, one, depth+1)
			}
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if depth < maxDepth {
				x.value(seq, key+": ", v[key], depth+1)
			}
		}
	default:
		raw, _ := json.Marshal(v) // a number or a boolean
		x.lines(seq, name, string(raw))
	}
}

// parsed decodes a text that is a JSON object or list, which many tools return: words cannot be
// told apart in escaped text.
func parsed(s string) (v any, ok bool) {
	s = strings.TrimSpace(s)
	if s == "" || s[0] != '{' && s[0] != '[' || json.Unmarshal([]byte(s), &v) != nil {
		return nil, false
	}
	return v, true
}

func (x *text) lines(seq int64, name, s string) {
	if left := maxText - x.body.Len(); len(s) > left {
		s, x.cut = strings.ToValidUTF8(s[:max(left, 0)], ""), true
	}
	for line := range strings.Lines(s) {
		if line = strings.TrimSpace(line); line != "" {
			x.body.WriteString(name + line + "\n")
			x.seqs = append(x.seqs, seq)
			name = ""
		}
	}
}
