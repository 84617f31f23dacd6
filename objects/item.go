package objects

import (
	"fmt"
	"strings"
	"time"
)

// Item is one file of a space, parsed but not verified. Only trust.Verify makes
// a value of it that may be used. An Item never changes after Parse, so
// goroutines may share it.
type Item struct {
	Ref  Ref
	Path string // slash path below .ai, for example tools/acme/hello.py

	Raw  []byte // the file's bytes as read; read-only
	Body []byte // Raw without its signature line: the bytes that a v2 signature covers

	Sum    Digest // SHA-256 of Raw: the digest that locks and registries pin
	Digest Digest // SHA-256 of Body: the digest that the author signed

	Signature *Signature       // the native line; nil when there is none
	Legacy    *LegacySignature // RYE OS's line; nil when there is none
	Merged    *MergeLine       // the line of a merge, which grants nothing; nil when there is none

	Meta Meta

	places  map[string]mark // the positions of fields, for Validate
	dialect int
	yaml    []byte // the metadata, if it is YAML: Place finds positions in it that places lacks
	yamlAt  mark   // where yaml begins in the file
}

// WithoutBytes returns a copy without the file's text and without the data that Validate
// needs. It keeps large lists of unusable items small.
func (it *Item) WithoutBytes() *Item {
	n := *it
	n.Raw, n.Body, n.yaml, n.places, n.Meta.Prose = nil, nil, nil, nil, ""
	return &n
}

// Executable reports whether the body begins with "#!". It does not depend on the mode
// bits of the file, which not every disk keeps.
func (it *Item) Executable() bool {
	return len(it.Body) > 2 && it.Body[0] == '#' && it.Body[1] == '!'
}

// Signature is the native signature line, version 2, parsed.
type Signature struct {
	SignedAt time.Time // UTC, whole seconds
	Digest   Digest    // of the body, as claimed
	Sig      [64]byte  // Ed25519
	Key      Fingerprint
}

// LegacySignature is a line of RYE OS, parsed but not verified.
type LegacySignature struct {
	SignedAt   time.Time
	Digest     Digest // SHA-256 of the payload, as claimed
	Sig        [64]byte
	Key        string // 16 hexadecimal digits, or 64 in a line of RyeOS 0.5
	Provenance string // "provider@user", never signed; "" when absent
	Payload    []byte // the bytes that the digest should cover
	Covers     string // this part of the file, in words for people
	Complete   bool   // whether Payload is everything that a program or a model gets
	Unsigned   string // why the line is not a signature (a placeholder); "" when it is one
}

// Meta is the metadata of an item. Fields that do not apply to the kind are zero.
type Meta struct {
	Name        string
	Version     string // the literal text; "" when there is none
	Title       string
	Description string
	Category    string
	Author      string
	EntryType   string // knowledge
	Tags        []string
	Examples    []string          `json:",omitempty"` // questions that the item answers
	Deps        map[string]string // dependencies: published item to range

	ToolType string
	Executor ID     // the item that runs this tool; "" for a primitive and for a part
	Inferred bool   // the file names no executor, so the table of executors does
	Part     bool   // a file of a tool's directory that only other tools load; nothing runs it
	Program  bool   `json:"-"` // a file of a bundle that runs and has no metadata, made by Manifest.Program
	Needs    Needs  // the access that the tool needs in the sandbox
	Limits   Limits // bounds on the resources of one run

	Schema map[string]any // JSON Schema of a tool's parameters; nil when none
	Config map[string]any // merged along the chain
	Env    map[string]any // env_config
	Anchor map[string]any

	VerifyDeps map[string]any // verify_deps: the checks on the files around a tool

	Inputs      []Input        // directive
	Outputs     []Output       // directive: the values that it has to return
	Permissions []string       // directive: capability strings, as declared
	Budget      map[string]any // directive: its limits, in turns, tokens and money
	Model       map[string]string
	Actions     []Action

	Prose string // the text for a model: a directive's body, a knowledge entry's text

	Fields  map[string]any // every field as read, known or not
	Unknown []string       // names of unknown fields, sorted
}

// Needs is the access that a tool needs in the sandbox. Declared is false when the
// item declares none, which means the default of its space and not "nothing".
type Needs struct {
	Declared bool
	Read     []string // paths; relative ones are below the project
	Write    []string
	Net      []string // host[:port], or "*"; empty means no network
	Listen   []string // TCP ports at which it serves programs outside, in decimal, 1024 or more; empty means none
	Rye      []string // capabilities with which the tool calls rye back; empty means not at all

	// Sandbox is the lowest degree of sandbox to run in, "S1" to "S3"; "" is the
	// default. It grants nothing, and alone it does not make Declared true.
	Sandbox string
}

// String returns the declared needs in one line, or "" when none are declared.
func (n Needs) String() string {
	if !n.Declared {
		return ""
	}
	list := func(all []string) string {
		if len(all) == 0 {
			return "nothing"
		}
		return strings.Join(all, " ")
	}
	text := "read " + list(n.Read) + "; write " + list(n.Write) + "; net " + list(n.Net)
	if len(n.Listen) > 0 {
		text += "; listen " + list(n.Listen)
	}
	if len(n.Rye) > 0 {
		text += "; rye " + list(n.Rye)
	}
	return text
}

// Action is an execute, search, load or sign element in a directive.
type Action struct {
	Primary string
	Attrs   map[string]string
	Params  map[string]string
}

// Problem is one thing wrong with an item, placed for the person who wrote it.
type Problem struct {
	Line, Column int    // 1-based; 0 when unknown
	Field        string // "" when the problem is not about one field
	Rule         string // the broken rule
	Mend         string // the text to write instead
}

// String places the problem and says it in one line: "3:5: version: want ...".
func (p Problem) String() string {
	text := p.Rule
	if p.Field != "" {
		text = p.Field + ": " + text
	}
	switch {
	case p.Line > 0 && p.Column > 0:
		text = fmt.Sprintf("%d:%d: %s", p.Line, p.Column, text)
	case p.Line > 0:
		text = fmt.Sprintf("%d: %s", p.Line, text)
	}
	return text
}
