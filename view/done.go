package view

import (
	"encoding/json"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// loaded is the head of an answer with an item's text: its origin and state.
type loaded struct {
	Source  string `json:"source"`
	Signer  string `json:"signer,omitempty"`
	State   string `json:"state,omitempty"`
	Warning string `json:"warning,omitempty"` // its registry's status of this version, if bad
	Detail  *about `json:"detail,omitempty"`
	Copied  string `json:"copied_to,omitempty"`

	Programs *programs `json:"programs,omitempty"` // of the bundle whose entry it is
}

// programs are the item ids under which the programs of a bundle are executed, and their parameters.
type programs struct {
	Execute    []string          `json:"execute"`
	More       int               `json:"more,omitempty"` // how many are left out
	Parameters map[string]string `json:"parameters"`
}

// maxPrograms bounds the programs that an answer names.
const maxPrograms = 50

// programsOf returns the programs that a model can execute; nil for none. A tool has an item of its own.
func programsOf(it rye.ItemInfo) *programs {
	all := &programs{Parameters: map[string]string{"args": "a list of strings", "stdin": "a string"}}
	for _, p := range it.Programs {
		switch {
		case p.Run == "" || p.Kind == rye.ToolOfBundle:
		case len(all.Execute) == maxPrograms:
			all.More++
		default:
			all.Execute = append(all.Execute, p.Run)
		}
	}
	if all.Execute == nil {
		return nil
	}
	return all
}

// Loaded returns the answer for an item that was read: its text, signer and state.
func Loaded(res *rye.LoadResult, detail bool) Answer {
	head := loaded{Source: res.Space, Signer: res.Signer, Warning: res.Warning, Copied: res.Destination, Programs: programsOf(res.ItemInfo)}
	if res.State != objects.Signed {
		head.State = string(res.State)
	}
	if detail {
		head.Detail = aboutItem(res.ItemInfo)
		head.Detail.Digest, head.Detail.Signer = res.Digest, ""
	}
	return Answer{Head: head, Text: res.Content}
}

// ran is the head of an execution's answer.
type ran struct {
	Status  string          `json:"status"` // success, error, validation_passed
	Code    fault.Code      `json:"code,omitempty"`
	Exit    int             `json:"exit,omitempty"`
	Message string          `json:"message,omitempty"`
	Data    json.RawMessage `json:"data,omitempty"` // of a tool that answers in JSON

	// For a directive or a knowledge entry, whose text follows.
	Follow string `json:"instructions,omitempty"`
	Asks   *asks  `json:"declares,omitempty"`
	Source string `json:"source,omitempty"`
	Signer string `json:"signer,omitempty"`

	States    map[string]rye.State `json:"states,omitempty"`  // by id: unusual states of items in its chain
	Patched   []string             `json:"patched,omitempty"` // parts of the run that no owner of their namespace signed
	Denied    []rye.Denial         `json:"denied,omitempty"`
	Taken     []rye.TakenInfo      `json:"taken,omitempty"`
	Left      []rye.LeftInfo       `json:"left,omitempty"`
	Unbound   []string             `json:"not_limited,omitempty"` // limits that did not bind
	Truncated bool                 `json:"truncated,omitempty"`   // the tool's output was longer than kept
	Warnings  []string             `json:"warnings,omitempty"`    // bad status of versions that ran

	Chain    []rye.ChainLink  `json:"chain,omitempty"`
	Metadata *rye.ExecuteMeta `json:"metadata,omitempty"`
}

// Executed returns the answer for an execution: a tool's output, or the text of a directive or
// entry. detail adds the chain and the metadata of the run.
func Executed(res *rye.ExecuteResult, detail bool) Answer {
	text, data := Output(res)
	head := ran{Status: res.Status, Exit: res.Exit, Data: data, Truncated: res.Metadata.Truncated,
		Warnings: res.Metadata.Warnings, Patched: res.Metadata.Patched, Denied: res.Metadata.Denied, Taken: res.Metadata.Taken,
		Left: res.Metadata.Left, Unbound: res.Metadata.Unbound}
	for _, l := range res.Chain {
		if l.State == "" {
			continue
		}
		if head.States == nil {
			head.States = map[string]rye.State{}
		}
		head.States[l.ItemID] = l.State
	}
	var cut struct {
		Truncated bool `json:"truncated"`
	}
	if text != "" && json.Unmarshal(res.Data, &cut) == nil && cut.Truncated {
		head.Truncated = true // a program reports that its own output is cut
	}
	failed := res.Status == "error"
	if failed {
		head.Code = fault.Failed
		if e := strings.TrimSpace(res.Error); !strings.Contains(text, e) {
			head.Message = e
		}
	}
	if res.Type != "tool" && len(res.Chain) > 0 {
		head.Source, head.Signer = res.Chain[0].Space, res.Chain[0].Signer
	}
	if res.Type == "directive" {
		head.Follow, head.Asks = res.Instructions, asksOf(res.Data)
	}
	if detail || res.Status == "validation_passed" {
		head.Chain, head.Metadata = res.Chain, &res.Metadata
	}
	return Answer{Head: head, Text: text, Failed: failed, Patched: res.Metadata.Patched}
}

// asks holds a directive's declarations besides its text and inputs, for the model that follows it.
type asks struct {
	Outputs     string          `json:"outputs,omitempty"` // in the form of a tool's parameters
	Model       json.RawMessage `json:"model,omitempty"`
	Limits      json.RawMessage `json:"limits,omitempty"`
	Permissions []string        `json:"permissions,omitempty"`
	Hooks       json.RawMessage `json:"hooks,omitempty"`
}

// asksOf reads a directive's declarations from the data of its execution; nil for none.
func asksOf(data json.RawMessage) *asks {
	var d struct {
		Outputs              []rye.ParamInfo
		Model, Limits, Hooks json.RawMessage
		Permissions          []string
	}
	if json.Unmarshal(data, &d) != nil {
		return nil
	}
	a := asks{Outputs: Params(d.Outputs, true), Permissions: d.Permissions}
	for _, f := range []struct{ from, into *json.RawMessage }{{&d.Model, &a.Model}, {&d.Limits, &a.Limits}, {&d.Hooks, &a.Hooks}} {
		if len(*f.from) > 0 && string(*f.from) != "null" {
			*f.into = *f.from
		}
	}
	if a.Outputs == "" && a.Model == nil && a.Limits == nil && a.Hooks == nil && a.Permissions == nil {
		return nil
	}
	return &a
}

// errorMark separates standard output from standard error.
const errorMark = "[standard error]\n"

// Output returns the result of an execution: text, or JSON if the tool answered with that.
func Output(res *rye.ExecuteResult) (text string, data json.RawMessage) {
	if res.Type != "tool" {
		var d struct {
			Body string `json:"body"`
		}
		if json.Unmarshal(res.Data, &d) == nil && d.Body != "" {
			return d.Body, nil
		}
		return "", res.Data
	}
	if json.Unmarshal(res.Data, &text) == nil && len(res.Data) > 0 {
		return text, nil
	}
	var proc struct {
		Stdout *string `json:"stdout"`
		Stderr string  `json:"stderr"`
		Code   *int    `json:"return_code"`
		Exit   *int    `json:"exit_code"`
	}
	if json.Unmarshal(res.Data, &proc) != nil || proc.Stdout == nil || proc.Code == nil && proc.Exit == nil {
		if Long(string(res.Data)) {
			return string(res.Data), nil
		}
		return "", res.Data
	}
	if proc.Stderr == "" {
		return *proc.Stdout, nil
	}
	out := *proc.Stdout
	if out != "" && !strings.HasSuffix(out, "\n") {
		out += "\n"
	}
	return out + errorMark + proc.Stderr, nil
}
