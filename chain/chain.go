package chain

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
)

// MaxDepth is the most items in a chain, including tool and primitive. It is RYE OS's limit.
const MaxDepth = 10

// Link is one verified item of a chain and the place where it was found.
type Link struct {
	Verified trust.Verified
	Space    objects.Space
	Blob     string        // git id of the file, hexadecimal; "" when it is in no repository
	Origin   *Origin       // set for an item that a registry published
	State    objects.State // objects.Older or objects.Returned when older than its record; else ""
}

// Origin is the source of a registry item. The lock pins it.
type Origin struct {
	Registry  string // the project's name for the registry
	Version   string
	Commit    string // of the content, hexadecimal
	Author    objects.Fingerprint
	Publisher objects.Fingerprint

	// Package is the bundle that the item is a member of; the zero Ref for an item that was
	// published by itself. In a bundle, the other fields describe the bundle, and Manifest is
	// its digest.
	Package  objects.Ref
	Manifest objects.Digest
}

// Ref returns the item's name.
func (l Link) Ref() objects.Ref { return l.Verified.Item().Ref }

// Finder resolves names through the spaces, from at downwards. It verifies each item for the
// place where it was found. An absent item is fault.NotFound.
type Finder interface {
	FindFrom(ctx context.Context, at objects.Space, ref objects.Ref) (Link, error)
}

// Library is a Finder that also knows the files around a tool. Around returns every file that the
// tool can load: the files of the tool's bundle, and those covered by the chain's verify_deps.
// Each is verified; the first that does not verify is an error. A chain without verify_deps
// passes a zero Deps.
type Library interface {
	Finder
	Around(ctx context.Context, tool Link, d Deps) ([]Source, error)
}

// Source is a verified file that a tool can load beside its own.
type Source struct {
	Path string // slash path below .ai
	Data []byte
	Exec bool
	Sum  objects.Digest // SHA-256 of Data

	Patch trust.Patch // of the item, or of the manifest that covers the file
}

// The primitives, one of which ends every chain.
const (
	Subprocess objects.ID = "rye/core/primitives/subprocess"  // a program
	HTTP       objects.ID = "rye/core/primitives/http_client" // one HTTP exchange
	Builtin    objects.ID = "rye/core/primitives/builtin"     // a function of rye itself
)

// Plan is a chain that satisfies every rule, tool first, primitive last. Resolve makes it. It
// never changes, and is safe for concurrent use.
type Plan struct {
	Links  []Link
	Around []Source // further files that the tool can load

	config   config
	function string // of a builtin
}

// Tool returns the requested item.
func (p *Plan) Tool() *objects.Item { return p.Links[0].Verified.Item() }

// Primitive returns the id of the primitive that does the work.
func (p *Plan) Primitive() objects.ID { return p.Links[len(p.Links)-1].Ref().ID }

// Resolve follows ref to a primitive. It names the broken rule when it refuses: a chain deeper
// than MaxDepth (Limit), a circle or a kind that does not execute (Malformed), a missing link
// (NotFound), an item that depends on a higher space (Denied), and inputs or versions that do not
// fit (Conflict).
func Resolve(ctx context.Context, f Finder, ref objects.Ref) (*Plan, error) {
	if ref.Kind != objects.Tool {
		return nil, fault.New(fault.Usage, "execute %s: only tools have a chain of executors", ref)
	}
	p := &Plan{}
	seen := map[objects.Ref]bool{}
	at := objects.Project
	for next := ref; ; {
		if len(p.Links) == MaxDepth {
			return nil, fault.New(fault.Limit, "resolve %s: chain too deep (max %d): %s", ref, MaxDepth, p.path())
		}
		l, err := f.FindFrom(ctx, at, next)
		if known := shortNames[next.ID]; len(p.Links) > 0 && known != "" && fault.Is(err, fault.NotFound) {
			next.ID = known
			l, err = f.FindFrom(ctx, at, next)
		}
		if err != nil {
			return nil, p.missing(ref, next, err)
		}
		if err := p.append(l, next); err != nil {
			return nil, err
		}
		seen[next] = true
		it := l.Verified.Item()
		if it.Meta.Executor == "" {
			break
		}
		next = objects.Ref{Kind: objects.Tool, ID: it.Meta.Executor}
		if seen[next] {
			return nil, fault.New(fault.Malformed, "resolve %s: circular dependency: %s -> %s", ref, p.path(), next.ID)
		}
		at = l.Space
	}
	if err := p.complete(); err != nil {
		return nil, err
	}
	return p, p.gather(ctx, f)
}

// shortNames are the names of runtimes in early items of RYE OS. An item with the short name
// itself takes precedence.
var shortNames = map[objects.ID]objects.ID{
	"python": "rye/core/runtimes/python_function_runtime", "bash": "rye/core/runtimes/bash_runtime",
	"node": "rye/core/runtimes/node_runtime", "subprocess": Subprocess, "http_client": HTTP,
}

// append adds a link after checking it against the one before.
func (p *Plan) append(l Link, want objects.Ref) error {
	if l.Ref() != want {
		return fault.New(fault.Integrity, "resolve %s: %s was found instead", want, l.Ref())
	}
	if len(p.Links) > 0 {
		prev := p.Links[len(p.Links)-1]
		if l.Space > prev.Space {
			return fault.New(fault.Denied, "resolve %s: %s of the %s space depends on %s of the %s space, which is above it",
				p.Links[0].Ref(), prev.Ref(), prev.Space, l.Ref(), l.Space)
		}
		if err := fits(prev.Verified.Item(), l.Verified.Item()); err != nil {
			return err
		}
	}
	p.Links = append(p.Links, l)
	return nil
}

func (p *Plan) missing(ref, next objects.Ref, err error) error {
	if !fault.Is(err, fault.NotFound) || next == ref {
		return err
	}
	prev := p.Links[len(p.Links)-1].Ref()
	return fault.New(fault.NotFound, "resolve %s: executor not found: %s, which %s names: %w", ref, next.ID, prev, err).
		Advise("rye search %s", next.ID.Name())
}

// path formats the chain for messages.
func (p *Plan) path() string {
	var ids []string
	for _, l := range p.Links {
		ids = append(ids, string(l.Ref().ID))
	}
	return strings.Join(ids, " -> ")
}

// complete checks the end of the chain and merges its configuration.
func (p *Plan) complete() (err error) {
	last := p.Links[len(p.Links)-1].Verified.Item()
	switch last.Ref.ID {
	case Subprocess, HTTP, Builtin:
	default:
		switch kind := last.Meta.ToolType; {
		case last.Meta.Part && len(p.Links) == 1:
			return fault.New(fault.Usage, "run %s: .ai/%s is a part, which other tools load and nothing runs", last.Ref, last.Path).
				Advise("to make it a tool, add the line %s, then rye sign %s", last.ToolLine(), last.Ref)
		case kind == "extractor" || kind == "parser":
			return fault.New(fault.Usage, "resolve %s: an item of type %s tells rye how to read other items, and cannot run", last.Ref, kind).
				Advise("rye show %s", last.Ref)
		case len(p.Links) == 1 && kind != "primitive":
			return fault.New(fault.Malformed, "resolve %s: it names no executor, so nothing can run it", last.Ref).
				Advise("add executor_id: rye/core/runtimes/bash_runtime (or another runtime), then rye sign %s", last.Ref)
		}
		return fault.New(fault.Malformed, "resolve %s: unknown primitive %s", p.Links[0].Ref(), last.Ref.ID)
	}
	if p.config, err = mergeConfig(p.Links); err == nil && last.Ref.ID == Builtin {
		p.function, err = functionOf(p.Links)
	}
	return err
}

// gather collects the files around the tool, and fails without them.
func (p *Plan) gather(ctx context.Context, f Finder) error {
	d, _ := p.Deps()
	lib, ok := f.(Library)
	if !ok {
		return nil // this finder has single files only, so the tool is a single file
	}
	around, err := lib.Around(ctx, p.Links[0], d)
	if err != nil {
		return err
	}
	for _, s := range around {
		if err := objects.CheckMember(s.Path); err != nil {
			return err
		}
		if s.Sum != objects.DigestOf(s.Data) {
			return fault.New(fault.Integrity, "resolve %s: %q beside it is not the file that was verified", p.Links[0].Ref(), s.Path)
		}
		if s.Path != p.Tool().Path {
			p.Around = append(p.Around, s)
		}
	}
	return nil
}

// fits checks what an item declares about its neighbour in the chain. RYE OS has these rules, but
// its code never reached them.
func fits(child, delegate *objects.Item) error {
	outputs, okOut := names(child.Meta.Fields["outputs"])
	inputs, okIn := names(delegate.Meta.Fields["inputs"])
	if okOut && okIn {
		for _, in := range inputs {
			if !slices.Contains(outputs, in) {
				return fault.New(fault.Conflict, "resolve %s: %s needs the input %q, which is not among its outputs", child.Ref, delegate.Ref, in)
			}
		}
	}
	all, _ := delegate.Meta.Fields["child_constraints"].(map[string]any)
	c, ok := all[string(child.Ref.ID)].(map[string]any)
	if !ok {
		return nil
	}
	v, err := objects.ParseVersion(child.Meta.Version)
	if err != nil {
		return fault.New(fault.Conflict, "resolve %s: %s asks for a range of its versions, and %q is not a version: %w", child.Ref, delegate.Ref, child.Meta.Version, err)
	}
	return errors.Join(bound(child, delegate, c, "min_version", v, -1), bound(child, delegate, c, "max_version", v, 1))
}

// bound compares v with one end of a range; beyond is the sign of a violation.
func bound(child, delegate *objects.Item, c map[string]any, key string, v objects.Version, beyond int) error {
	text, ok := c[key].(string)
	if !ok {
		return nil
	}
	limit, err := objects.ParseVersion(text)
	if err != nil {
		return fault.New(fault.Malformed, "resolve %s: %s of %s: %w", child.Ref, key, delegate.Ref, err)
	}
	if v.Compare(limit) == beyond {
		return fault.New(fault.Conflict, "resolve %s: its version %s is beyond the %s %s of %s", child.Ref, v, key, limit, delegate.Ref)
	}
	return nil
}

// names reads a list of names. Each is a text, or a mapping with the key name.
func names(v any) ([]string, bool) {
	list, ok := v.([]any)
	if !ok {
		return nil, false
	}
	var out []string
	for _, e := range list {
		if m, isMap := e.(map[string]any); isMap {
			e = m["name"]
		}
		if s, isText := e.(string); isText {
			out = append(out, s)
		}
	}
	return out, true
}
