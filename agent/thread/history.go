package thread

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/agent/journal"
	"github.com/rye-os/rye/agent/ledger"
	"github.com/rye-os/rye/agent/loop"
	"github.com/rye-os/rye/agent/provider"
	"github.com/rye-os/rye/fault"
)

// history is what a journal says that a thread did. It is built from the records alone, by
// add, in their order; who appends one adds it, too. An effect is open when it has an intent
// and no record that closes it.
type history struct {
	dir      string // of the thread, for what lies in artifacts
	readOnly bool   // nothing is put on the branch from it
	branched int    // turns that are on the branch, and are not looked at again

	turn  int             // that is open; 0 is the beginning
	state json.RawMessage // after the last that ended; nil before init
	epoch int64

	shown int              // how often what can be shown changed
	said  []said           // what can be shown to a model, in order
	next  loop.Next        // what the last turn that ended wants
	spoke int64            // answers among it
	asks  []journal.Record // host_call, of the open turn
	noted map[string]bool  // host calls that told the model something
	lines []byte           // of the open turn, for its commit
	kept  []string         // artifacts that it names
	ready []sealed         // turns that ended, and are not known to be on the branch

	tries   map[string]int     // intents by step
	courses courses            // of questions
	sent    map[string]string  // models of intents, by their keys
	open    map[string]intent  // by ledger key of a model's intent, or by id of a call
	answers map[string]*answer // of a model, by step
	results map[string]*result // of calls, by their id

	usage     rye.Usage
	spent     rye.Micros
	uncertain rye.Micros
	unsettled map[string]*answer       // outcomes without a record that they were settled
	held      map[string]ledger.Amount // by key: holds without a record that they ended
	released  map[string]bool          // keys of holds that were given back

	consumed map[string]bool   // messages
	unheard  []journal.Message // of them: those that the model was not told yet
	raised   rye.ThreadLimits
	cancel   string // why, once it was asked for
	boot     string // of the machine, when the last process began
	deaths   int    // processes that were in the open turn; all but the newest died there
	accepted bool   // in the open turn: a person accepted that something is unknown
	warned   map[string]bool
	running  time.Duration // of processes, up to the last record that has it
	model    string        // that was asked last in the open turn
	text     string        // the model's last words
	returns  map[string]string
	question string // that is open
	whether  bool   // the newest question was whether to go on, and about no call
	doubt    doubt  // then: what it was
	heard    bool   // a person answered since the last turn ended

	first, last journal.Record
	final       *journal.Record // nil while it can go on
	suspended   *suspension     // nil while it runs, or may
}

// said is one thing of the conversation.
type said struct {
	seq, turn int64
	role      string
	parts     []provider.Part
	calls     []call // of an answer
}

// intent is an effect that was begun.
type intent struct {
	step       string
	apart      bool // not part of the conversation
	call       *call
	idempotent bool
	at         time.Time
}

// result is what came of a call.
type result struct {
	Text    string
	Error   string
	Unknown bool
	Done    map[string]string // of directive_return that was accepted
}

// sealed is a turn for the branch.
type sealed struct {
	number int
	at     time.Time
	lines  []byte
	kept   []string
	state  json.RawMessage
	model  string // that was asked last; "" for none
	next   string
	digest [32]byte
	usage  rye.Usage
	spent  rye.Micros
}

// suspension is why a thread stopped for now.
type suspension struct {
	Reason   string `json:"suspend_reason"`
	Detail   string `json:"detail"`
	Question string `json:"question"`

	RunningMS int64 `json:"running_ms"` // 0 where an older rye wrote it
}

func newHistory(dir string) *history {
	return &history{dir: dir, tries: map[string]int{}, courses: courses{}, sent: map[string]string{}, open: map[string]intent{}, answers: map[string]*answer{},
		results: map[string]*result{}, unsettled: map[string]*answer{}, held: map[string]ledger.Amount{}, released: map[string]bool{},
		noted: map[string]bool{}, consumed: map[string]bool{}, warned: map[string]bool{}}
}

// member reads one member of a record's payload, wherever it lies.
func (h *history) member(r journal.Record, name string, into any) error {
	return h.members(r, map[string]any{name: into})
}

// members is member for several. The payload is read once, however many there are.
func (h *history) members(r journal.Record, into map[string]any) error {
	p, err := journal.Members(h.dir, r)
	for name, v := range into {
		if err == nil {
			err = take(p, name, v)
		}
		if err != nil {
			return fault.Wrap(err, "record %d, %s", r.Seq, name)
		}
	}
	return nil
}

// take reads a member; one that is missing leaves into as it is.
func take(p journal.Payload, name string, into any) error {
	if v, ok := into.(*json.RawMessage); ok { // as it stands there: a text is JSON, too
		raw, err := p.JSON(name, 64<<20)
		if err == nil {
			*v = raw
		} else if fault.Is(err, fault.NotFound) {
			err = nil
		}
		return err
	}
	raw, err := p.Value(name, 64<<20)
	switch {
	case fault.Is(err, fault.NotFound):
		return nil
	case err != nil:
		return err
	}
	if v, ok := into.(*string); ok {
		*v = string(raw)
		return nil
	}
	return json.Unmarshal(raw, into)
}

// add takes a record in.
func (h *history) add(r journal.Record) error {
	if h.first.Seq == 0 {
		h.first = r
	}
	h.last = r
	err := h.keep(r)
	if err != nil {
		return err
	}
	if f := adders[r.Type]; f != nil {
		err = f(h, r)
	}
	if r.Type != journal.Suspended && r.Type != "journal_repaired" {
		h.suspended = nil
	}
	if journal.IsFinal(r.Type) {
		h.final = &r
		h.seal(r, r.Type)
	}
	return err
}

// keep keeps a record for the commit of its turn.
func (h *history) keep(r journal.Record) error {
	if h.readOnly || r.Turn < h.branched {
		return nil
	}
	line, err := r.Line()
	h.lines = append(h.lines, line...)
	h.kept = append(h.kept, artifactsOf(r)...)
	return err
}

// adders say what a record of a type changes. Those that are not here are for readers.
var adders = map[string]func(*history, journal.Record) error{
	"thread_started":     (*history).began,
	"thread_resumed":     (*history).began,
	"cognition_in":       (*history).told,
	"model_intent":       (*history).asked,
	"cognition_out":      (*history).answered,
	"error_classified":   (*history).failed,
	"tool_call_start":    (*history).started,
	"tool_call_result":   (*history).resulted,
	"host_call":          (*history).hosted,
	"turn_done":          (*history).turned,
	"budget_held":        reserved,
	"budget_settled":     (*history).settled,
	"budget_released":    gaveBack,
	"inbox_message":      (*history).message,
	"warning":            (*history).warning,
	"approval_requested": questioned,
	"approval_answered":  heard,
	"thread_suspended": func(h *history, r journal.Record) error {
		h.suspended, h.deaths = &suspension{}, 0 // it stopped by itself, and a person resumes it
		err := json.Unmarshal(r.Data, h.suspended)
		h.running = max(h.running, time.Duration(h.suspended.RunningMS)*time.Millisecond)
		return err
	},
	"thread_completed": func(h *history, r journal.Record) error {
		h.returns = nil
		return h.members(r, map[string]any{"text": &h.text, "outputs": &h.returns})
	},
}

func (h *history) began(r journal.Record) error {
	var boot string
	var accepted bool
	if err := h.members(r, map[string]any{"epoch": &h.epoch, "boot_id": &boot, "accepted": &accepted}); err != nil {
		return err
	}
	switch {
	case h.suspended != nil, accepted: // it was no death, or a person resumed it since
		h.deaths = 1
	case boot != h.boot && h.deaths > 0: // the machine ended it
	default:
		h.deaths++
	}
	h.boot = boot
	if accepted { // what was lost may be on the branch; the thread goes on behind it
		h.turn, h.accepted = max(h.turn, r.Turn), true
	}
	return nil
}

func (h *history) told(r journal.Record) error {
	var text, role, source string
	if err := h.members(r, map[string]any{"text": &text, "role": &role, "source": &source}); err != nil {
		return err
	}
	switch {
	case source == "inbox" && len(h.unheard) > 0:
		h.unheard = h.unheard[1:]
	case source == "loop":
		h.noted[stepKey(h.turn, len(h.asks))] = true
	}
	h.shown++
	h.said = append(h.said, said{r.Seq, int64(r.Turn), provider.User, []provider.Part{{Text: text}}, nil})
	return nil
}

func (h *history) asked(r journal.Record) error {
	var key, model string
	var view struct {
		Apart bool `json:"apart"`
	}
	if err := h.members(r, map[string]any{"key": &key, "model": &model, "view": &view}); err != nil {
		return err
	}
	step := stepOf(key)
	h.tries[step]++
	h.courses.of(step).tries[model]++
	h.sent[key] = model
	if !view.Apart {
		h.model = model
	}
	h.open[key] = intent{step: step, apart: view.Apart, at: r.Time}
	return nil
}

func (h *history) answered(r journal.Record) error {
	a := &answer{seq: r.Seq}
	var parts []storedPart
	err := h.members(r, map[string]any{"key": &a.key, "text": &a.text, "calls": &a.calls, "parts": &parts, "usage": &a.usage,
		"cost": &a.cost, "cost_known": &a.known, "stop": &a.stop, "error": &a.unlikely})
	if err != nil {
		return err
	}
	a.parts = a.restore(parts)
	apart := h.open[a.key].apart
	delete(h.open, a.key)
	h.answers[stepOf(a.key)], h.unsettled[a.key] = a, a
	h.usage = h.usage.Plus(a.usage)
	if apart { // a summary
		return nil
	}
	h.shown++
	h.said = append(h.said, said{r.Seq, int64(r.Turn), provider.Assistant, a.parts, a.calls})
	h.spoke++
	if a.text != "" {
		h.text = a.text
	}
	return nil
}

func (h *history) started(r journal.Record) error {
	var c call
	var idempotent bool
	if err := h.members(r, map[string]any{"call_id": &c.ID, "tool": &c.Name, "input": &c.Args, "idempotent": &idempotent}); err != nil {
		return err
	}
	h.open[c.ID] = intent{call: &c, idempotent: idempotent, at: r.Time}
	return nil
}

func (h *history) resulted(r journal.Record) error {
	var id string
	res := &result{}
	var detail struct {
		Outputs map[string]string `json:"outputs"`
	}
	err := h.members(r, map[string]any{"call_id": &id, "output": &res.Text, "error": &res.Error, "unknown": &res.Unknown, "detail": &detail})
	if err != nil {
		return err
	}
	res.Done = detail.Outputs
	delete(h.open, id)
	h.shown++
	h.results[id] = res
	return nil
}

// hosted keeps what the loop was told. It is read only when the turn goes on; most turns have
// ended.
func (h *history) hosted(r journal.Record) error {
	h.asks = append(h.asks, r)
	return nil
}

// calls are what the loop was told in the open turn.
func (h *history) calls() (all []loop.Recorded, err error) {
	for _, r := range h.asks {
		var c loop.Recorded
		var sum string
		if err := h.members(r, map[string]any{"name": &c.Name, "args": &sum, "outcome": &c.Outcome}); err != nil {
			return nil, err
		}
		if c.Outcome, err = spelledOut(c, h.answers); err != nil {
			return nil, fault.Wrap(err, "record %d", r.Seq)
		}
		raw, err := hex.DecodeString(sum)
		if err != nil || len(raw) != len(c.Args) {
			return nil, fault.New(fault.Malformed, "record %d: args: want 64 hexadecimal digits", r.Seq)
		}
		copy(c.Args[:], raw)
		all = append(all, c)
	}
	return all, nil
}

// spelledOut is the outcome of a host call as the loop was told it.
func spelledOut(c loop.Recorded, answers map[string]*answer) (json.RawMessage, error) {
	var ref reference
	if c.Name != "model" || json.Unmarshal(c.Outcome, &ref) != nil || ref.Step == "" {
		return c.Outcome, nil
	}
	a, ok := answers[ref.Step]
	if !ok {
		return nil, fault.New(fault.Integrity, "the answer %q has no record", ref.Step)
	}
	return json.Marshal(a.outcome())
}

func (h *history) turned(r journal.Record) error {
	var next string
	var state json.RawMessage // in bytes of its own: those of earlier turns wait for the branch
	var detail turnDetail
	if err := h.members(r, map[string]any{"state": &state, "next": &next, "detail": &detail}); err != nil {
		return err
	}
	h.state = state
	h.next, h.heard = loop.Next{Kind: next, State: h.state, Detail: detail.Next}, false
	h.running = time.Duration(detail.RunningMS) * time.Millisecond
	h.seal(r, next)
	h.turn, h.asks, h.deaths = r.Turn+1, nil, 1
	h.accepted, h.model = false, ""
	return nil
}

// seal ends the open turn for the branch.
func (h *history) seal(r journal.Record, next string) {
	if h.readOnly || r.Turn < h.branched {
		return
	}
	h.ready = append(h.ready, sealed{number: r.Turn, at: r.Time, lines: h.lines, kept: h.kept, state: h.state, model: h.model, next: next,
		digest: r.Sum, usage: h.usage, spent: h.spent})
	h.lines, h.kept = nil, nil
}

// reserved and gaveBack are the beginning and an end of a hold.
func reserved(h *history, r journal.Record) error {
	var key string
	var a ledger.Amount
	if err := h.members(r, map[string]any{"key": &key, "money": &a.Money, "tokens": &a.Tokens}); err != nil {
		return err
	}
	h.held[key] = a
	delete(h.released, key) // a key that was given back can be held again
	return nil
}

func gaveBack(h *history, r journal.Record) error {
	var key string
	err := h.member(r, "key", &key)
	delete(h.held, key)
	h.released[key] = true
	return err
}

func (h *history) settled(r journal.Record) error {
	var key string
	var money rye.Micros
	var uncertain bool
	if err := h.members(r, map[string]any{"key": &key, "money": &money, "uncertain": &uncertain}); err != nil {
		return err
	}
	delete(h.unsettled, key)
	delete(h.held, key)
	h.tries[stepOf(key)] = max(h.tries[stepOf(key)], attemptOf(key)) // its intent may be lost
	h.spent += money
	if uncertain {
		h.uncertain += money
	}
	return nil
}

func (h *history) message(r journal.Record) error {
	var id, kind, from, text string
	var raise rye.ThreadLimits
	if err := h.members(r, map[string]any{"id": &id, "kind": &kind, "from": &from, "text": &text, "raise": &raise}); err != nil {
		return err
	}
	h.consumed[id] = true
	switch kind {
	case journal.KindMessage:
		h.unheard = append(h.unheard, journal.Message{Kind: kind, From: from, Text: text})
	case "cancel":
		h.cancel = "asked for by " + from
	case "raise":
		for i, f := range fieldsOf(&h.raised) {
			*f.at += *fieldsOf(&raise)[i].at
		}
	}
	return nil
}

// questioned and heard are a question to a person, and its answer.
func questioned(h *history, r journal.Record) error {
	var call string
	h.doubt = doubt{}
	err := h.members(r, map[string]any{"question": &h.question, "call_id": &call, "digest": &h.doubt.subject, "text": &h.doubt.because})
	h.whether = call == ""
	return err
}

func heard(h *history, r journal.Record) error {
	var answer string
	err := h.member(r, "answer", &answer)
	h.question, h.heard = "", true
	if h.whether && answer != "yes" {
		h.next = declined
	}
	return err
}

func (h *history) warning(r journal.Record) error {
	var code string
	err := h.member(r, "code", &code)
	h.warned[code] = true
	return err
}

// stepOf cuts thread and attempt off a key, which is <thread>/<step>/<attempt>.
func stepOf(key string) string {
	parts := strings.Split(key, "/")
	if len(parts) != 3 {
		return key
	}
	return parts[1]
}

// attemptOf is the last part of such a key.
func attemptOf(key string) int {
	n, _ := strconv.Atoi(key[strings.LastIndexByte(key, '/')+1:])
	return n
}

// stepKey names host call k of a turn.
func stepKey(turn, k int) string { return fmt.Sprintf("%d.%d", turn, k) }

// artifactsOf lists the artifacts that a record names.
func artifactsOf(r journal.Record) (sums []string) {
	if r.Type != "artifact" && !bytes.Contains(r.Data, []byte(`_artifact":`)) {
		return nil // as most
	}
	var m map[string]json.RawMessage
	if json.Unmarshal(r.Data, &m) != nil {
		return nil
	}
	for name, v := range m {
		var a struct {
			SHA256 string `json:"sha256"`
		}
		if strings.HasSuffix(name, "_artifact") && json.Unmarshal(v, &a) == nil && a.SHA256 != "" {
			sums = append(sums, strings.TrimPrefix(a.SHA256, "sha256:"))
		}
	}
	if r.Type == "artifact" {
		var sum string
		if json.Unmarshal(m["sha256"], &sum) == nil {
			sums = append(sums, strings.TrimPrefix(sum, "sha256:"))
		}
	}
	slices.Sort(sums)
	return sums
}
