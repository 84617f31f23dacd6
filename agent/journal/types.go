package journal

import (
	"strconv"
	"strings"
	"sync"

	"github.com/rye-os/rye/fault"
)

// The types of records that end or suspend a thread.
const (
	Completed = "thread_completed"
	Cancelled = "thread_cancelled"
	Failed    = "thread_error"
	Suspended = "thread_suspended"
)

// table has every type of docs/format/transcript.md: when a record of it is synced, and the members
// of its payload. A test compares the two.
//
// The first word is synced (on the disk when Append returns), later (on the disk with the next
// synced record) or live (droppable); final after it means that nothing may follow. A member is its
// name and its kind: s text, i integer, b boolean, o object, a array, v any value. ? means that it
// may be missing, + that it moves into an artifact when the payload is too large.
const table = `
thread_started             later        directive:s model:s limits:o? epoch:i provider:s? parent_thread_id:s? description:s? loop:s? capabilities:a? trace_id:s? boot_id:s?
thread_resumed             synced       epoch:i reason:s? loop:s? accepted:b? boot_id:s?
thread_suspended           synced       suspend_reason:s detail:s? question:s? running_ms:i?
thread_completed           synced final cost:o text:s?+ outputs:o?+
thread_cancelled           synced final reason:s cost:o? killed:b?
thread_error               synced final error_code:s message:s cost:o?
cognition_in               later        text:s+ role:s source:s?
model_intent               synced       key:s model:s request:s provider:s? view:o?+ prompt_bytes:i? max_output:i?
cognition_out              synced       key:s text:s+ model:s is_partial:b truncated:b error:o? stop:s? calls:a?+ parts:a?+ usage:o? cost:i? cost_known:b? request_id:s?
cognition_out_delta        live         text:s chunk_index:i is_final:b
cognition_reasoning        live         text:s chunk_index:i?
gate_verdict               later        verdict:s subject:s call_id:s? tier:s? rule:s? reason:s? digest:s?
tool_call_start            synced       tool:s call_id:s input:o+ key:s? digest:s? idempotent:b?
tool_call_result           synced       call_id:s output:s+ error:s? duration_ms:i unknown:b? detail:o?+
callback_start             synced       call_id:s index:s verb:s item:s? params:s
callback_result            later        call_id:s index:s code:s duration_ms:i question:s?
artifact                   later        sha256:s bytes:i name:s? media_type:s? call_id:s?
host_call                  later        index:i name:s args:s outcome:v+
hook_fired                 later        event:s hook:s action:s detail:o?+
turn_done                  later        next:s state:v+ detail:o?+
budget_held                later        key:s money:i tokens:i epoch:i node:s?
budget_settled             later        key:s money:i tokens:i uncertain:b overdrawn:b?
budget_released            later        key:s reason:s?
limit_escalation_requested synced       limit_code:s current_value:i current_max:i question:s?
approval_requested         synced       question:s topic:s text:s? call_id:s? digest:s?
approval_answered          synced       question:s answer:s by:s?
child_thread_started       synced       child_thread_id:s child_directive:s parent_thread_id:s limits:o?
narrowed                   later        asked:a allowed:a denied:a child_thread_id:s?
inbox_message              synced       id:s kind:s from:s sent:s sig:s text:s?+ question:s? answer:s? raise:o?
error_classified           later        error_code:s category:s retryable:b key:s? wait_ms:i? fallback:s?
loop_detected              later        count:i pattern:s? tool:s? action:s?
warning                    later        text:s code:s?
journal_repaired           synced       file:s offset:i bytes:i sha256:s why:s
progress                   live         text:s call_id:s? done:i? total:i?
`

// kindOfRecord is one line of the table.
type kindOfRecord struct {
	known, synced, live, final bool
	members                    map[string]rule
}

type rule struct {
	kind          byte
	optional, big bool
}

var kinds = sync.OnceValue(func() map[string]kindOfRecord {
	all := map[string]kindOfRecord{}
	for line := range strings.Lines(strings.TrimSpace(table)) {
		f := strings.Fields(line)
		k := kindOfRecord{known: true, synced: f[1] == "synced", live: f[1] == "live", final: f[2] == "final", members: map[string]rule{}}
		for _, m := range f[2:] {
			if name, kind, ok := strings.Cut(m, ":"); ok {
				k.members[name] = rule{kind[0], strings.Contains(kind, "?"), strings.Contains(kind, "+")}
			}
		}
		all[f[0]] = k
	}
	return all
})

// typeOf returns the zero value for an unknown type.
func typeOf(name string) kindOfRecord { return kinds()[name] }

// IsFinal reports whether a record of the type ends the journal.
func IsFinal(typ string) bool { return typeOf(typ).final }

// check compares a payload with the table.
func (k kindOfRecord) check(typ string, all []member) error {
	seen := make(map[string]bool, len(all))
	for _, m := range all {
		name, moved := strings.CutSuffix(m.name, moved)
		r, ok := k.members[name]
		switch {
		case !ok || moved && !r.big:
			return fault.New(fault.Malformed, "a record of type %s has no member %s", typ, m.name)
		case seen[name]:
			return fault.New(fault.Malformed, "a record of type %s has the member %s twice", typ, name)
		case moved:
			if _, err := parseArtifact(m.value); err != nil {
				return err
			}
		case !r.fits(m):
			return fault.New(fault.Malformed, "the member %s of a record of type %s: want kind %c", name, typ, r.kind)
		}
		seen[name] = true
	}
	for name, r := range k.members {
		if !r.optional && !seen[name] {
			return fault.New(fault.Malformed, "a record of type %s lacks the member %s", typ, name)
		}
	}
	return nil
}

func (r rule) fits(m member) bool {
	if r.kind == 'i' {
		_, err := strconv.ParseInt(string(m.value), 10, 64)
		return m.kind == 'i' && err == nil
	}
	return r.kind == 'v' || r.kind == m.kind
}
