package chain

import (
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/strict"
	"github.com/rye-os/rye/objects"
)

// MaxRyeOSLock is the largest lock file of RYE OS, in bytes: it holds one chain.
const MaxRyeOSLock = 1 << 20

// RyeOSLock is a lock file of RYE OS: .ai/lockfiles/<tool>@<version>.lock.json, one for each
// tool. It is unsigned and does not cover the files beside the tool. Its digests are the digests
// in RYE OS's signatures (objects.RyeOSDigest).
type RyeOSLock struct {
	Tool    objects.ID
	Version string
	Sum     objects.Digest
	Chain   []RyeOSLink // tool first
}

// RyeOSLink is one element of a RyeOSLock's chain. Elements of the system space are RYE OS's own
// files, which rye does not have.
type RyeOSLink struct {
	ID    objects.ID
	Space objects.Space
	Sum   objects.Digest
}

// ryeOSFile is RYE OS's form, with every field that it ever wrote.
type ryeOSFile struct {
	Version   int    `json:"lockfile_version"`
	Generated string `json:"generated_at"`
	Root      struct {
		Tool      string `json:"tool_id"`
		Version   string `json:"version"`
		Integrity string `json:"integrity"`
	} `json:"root"`
	Chain []struct {
		ID        string `json:"item_id"`
		Space     string `json:"space"`
		ToolType  any    `json:"tool_type"`
		Executor  any    `json:"executor_id"`
		Integrity string `json:"integrity"`
	} `json:"resolved_chain"`
	Registry any `json:"registry"`
	Deps     any `json:"verified_deps"`
}

// ParseRyeOSLock reads such a file strictly, because RYE OS's format no longer changes.
func ParseRyeOSLock(raw []byte) (*RyeOSLock, error) {
	var f ryeOSFile
	if err := strict.Decode(raw, MaxRyeOSLock, &f); err != nil {
		return nil, err
	}
	if f.Version != 1 {
		return nil, fault.New(fault.Malformed, "lockfile_version %d, want 1", f.Version)
	}
	if len(f.Chain) == 0 || len(f.Chain) > MaxDepth {
		return nil, fault.New(fault.Malformed, "a chain of %d items, want 1 to %d", len(f.Chain), MaxDepth)
	}
	l := &RyeOSLock{Version: f.Root.Version}
	var err error
	if l.Tool, l.Sum, err = ryeOSEntry(f.Root.Tool, f.Root.Integrity); err != nil {
		return nil, err
	}
	for _, e := range f.Chain {
		link := RyeOSLink{}
		if link.ID, link.Sum, err = ryeOSEntry(e.ID, e.Integrity); err != nil {
			return nil, err
		}
		if link.Space, err = objects.ParseSpace(e.Space); err != nil {
			return nil, err
		}
		l.Chain = append(l.Chain, link)
	}
	if first := l.Chain[0]; first.ID != l.Tool || first.Sum != l.Sum {
		return nil, fault.New(fault.Malformed, "its root is %s and its chain begins with %s", l.Tool, first.ID)
	}
	return l, nil
}

func ryeOSEntry(id, sum string) (objects.ID, objects.Digest, error) {
	tool, err := objects.ParseID(id)
	if err != nil {
		return "", objects.Digest{}, fault.New(fault.Malformed, "%w", err)
	}
	d, err := objects.ParseDigest("sha256:" + sum)
	if err != nil {
		return "", objects.Digest{}, fault.New(fault.Malformed, "integrity of %s: %w", tool, err)
	}
	return tool, d, nil
}

// Match returns nil when the plan equals RYE OS's lock as far as rye can compare. It compares the
// tool, its version and bytes, and the items of the project and the user in its chain. rye has
// its own items in place of RYE OS's library, so the library's digests are not compared. The
// error wraps *DriftError.
func (l *RyeOSLock) Match(p *Plan) error {
	tool := p.Tool()
	ref := objects.Ref{Kind: objects.Tool, ID: l.Tool}
	if tool.Ref != ref {
		return ryeOSDrift(ref, "tool", l.Tool.Dots(), tool.Ref.ID.Dots(), "another tool was found")
	}
	if tool.Meta.Version != l.Version {
		return ryeOSDrift(ref, "version", l.Version, tool.Meta.Version, "its version changed")
	}
	for i, want := range l.Chain {
		if want.Space == objects.System {
			return nil // the rest are RYE OS's own files
		}
		if i >= len(p.Links) {
			return ryeOSDrift(ref, "chain", string(want.ID), "", "its chain is shorter now")
		}
		it := p.Links[i].Verified.Item()
		if it.Ref.ID != want.ID {
			return ryeOSDrift(ref, "chain", string(want.ID), string(it.Ref.ID), "it runs through other items now")
		}
		if got := objects.RyeOSDigest(it); got != want.Sum {
			return ryeOSDrift(it.Ref, "sha256", want.Sum.Hex(), got.Hex(), "its content changed")
		}
	}
	return nil
}

func ryeOSDrift(ref objects.Ref, field, want, found, cause string) error {
	return fault.New(fault.Drift, "%w", &DriftError{Pin: ref, Field: field, Want: want, Found: found, Cause: cause}).Advise("rye lock %s, to pin it as it is", ref)
}
